package credentials

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
