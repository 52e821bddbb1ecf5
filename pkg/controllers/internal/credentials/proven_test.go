package credentials

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
)

// Credentials are used once they have been seen to lead to the instance's own control plane.
func TestProve(t *testing.T) {
	to := connection.Connection{Endpoint: "https://alpha", Token: "t"}
	other := connection.Connection{Endpoint: "https://alpha", Token: "rotated"}
	own, twice := v1alpha1.Identified(""), v1alpha1.NotIdentified(v1alpha1.ReasonDuplicate, "registered already")
	elsewhere := v1alpha1.NotIdentified(v1alpha1.ReasonOtherControlPlane, "leads elsewhere")
	for _, c := range []struct {
		reason    string
		claim     v1alpha1.ControlPlaneClaim
		proven    connection.Connection
		condition *metav1.Condition
		deleting  bool
		refused   bool
	}{
		{reason: "it was never reached", refused: true},
		{reason: "its claim is not decided", claim: v1alpha1.ClaimPending, proven: to, refused: true},
		{reason: "it is its own", claim: v1alpha1.ClaimHeld, proven: to, condition: &own},
		{reason: "new credentials have not been tried", claim: v1alpha1.ClaimHeld, proven: other, condition: &own, refused: true},
		{reason: "another instance has it", claim: v1alpha1.ClaimDuplicate, proven: to, condition: &twice, refused: true},
		{reason: "what led there leads elsewhere", claim: v1alpha1.ClaimHeld, proven: to, condition: &elsewhere, refused: true},
		{reason: "what was made in it has to be removed, and nothing is tried any more", claim: v1alpha1.ClaimHeld, proven: other, condition: &own, deleting: true},
		{reason: "nothing was made in a control plane of another instance", claim: v1alpha1.ClaimDuplicate, proven: to, condition: &twice, deleting: true, refused: true},
	} {
		instance := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha"}}
		if c.claim != "" {
			instance.Status.ControlPlane = &v1alpha1.InstanceControlPlane{KubeSystemID: "id", Claim: c.claim, CredentialsFingerprint: c.proven.Fingerprint()}
		}
		if c.condition != nil {
			instance.Status.Conditions = []metav1.Condition{*c.condition}
		}
		if c.deleting {
			instance.DeletionTimestamp = new(metav1.Now())
		}
		got, err := Reader{ProvenOnly: true}.prove(instance, to)
		if refused := Unproven(err); refused != c.refused || refused != errors.Is(err, connection.ErrMissing) || refused != (got.Token == "") {
			t.Errorf("%s: got %+v and %v, want it refused: %t", c.reason, got, err, c.refused)
		}
		if _, err := (Reader{}).prove(instance, to); err != nil {
			t.Errorf("%s: who finds out is refused: %v", c.reason, err)
		}
	}
}

// A cluster is used through what was seen to lead to the one that was registered.
func TestOfRegistered(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "m1"},
		Data:       map[string][]byte{v1alpha1.TokenSecretKey: []byte("t"), v1alpha1.ServerSecretKey: []byte("https://m1")},
	}
	reader := Reader{Secrets: fake.NewClientBuilder().WithObjects(secret).Build()}
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: v1alpha1.ClusterSpec{
		APIEndpoint:          "https://m1",
		CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Namespace: v1alpha1.SystemNamespace, Name: "m1"}},
	}}
	to, err := reader.OfCluster(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason  string
		status  v1alpha1.ClusterStatus
		refused bool
	}{
		{"it was never reached", v1alpha1.ClusterStatus{}, true},
		{"it led to the cluster", v1alpha1.ClusterStatus{KubeSystemID: "id", CredentialsFingerprint: to.Fingerprint()}, false},
		{"something else led to the cluster", v1alpha1.ClusterStatus{KubeSystemID: "id", CredentialsFingerprint: "other"}, true},
		{"the same leads elsewhere now", v1alpha1.ClusterStatus{KubeSystemID: "id"}, true},
	} {
		cluster.Status = c.status
		reader.ProvenOnly = true
		got, err := reader.OfRegistered(t.Context(), cluster)
		if refused := Unproven(err); refused != c.refused || refused != errors.Is(err, connection.ErrMissing) || refused != (got.Token == "") {
			t.Errorf("%s: got %+v and %v, want it refused: %t", c.reason, got, err, c.refused)
		}
		reader.ProvenOnly = false
		if _, err := reader.OfRegistered(t.Context(), cluster); err != nil {
			t.Errorf("%s: it is refused without ProvenOnly, too: %v", c.reason, err)
		}
	}
}
