package clusterstatus

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/debounce"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

// TestADeletingClusterIsLookedAtWhileItIsAMember deletes a Cluster that a finalizer keeps, makes
// its endpoint unreachable, and then removes it from its instance.
func TestADeletingClusterIsLookedAtWhileItIsAMember(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"gitVersion":"v1.35.4","metadata":{"uid":"1234"}}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	key, now := types.NamespacedName{Name: "m1"}, metav1.Now()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "m1"},
		Data: map[string][]byte{
			v1alpha1.TokenSecretKey:    []byte("token"),
			v1alpha1.CABundleSecretKey: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		},
	}
	held := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "m1", UID: "uid-1", Generation: 2, DeletionTimestamp: &now, Finalizers: []string{v1alpha1.ClusterImportFinalizer}},
		Spec: v1alpha1.ClusterSpec{
			Type: v1alpha1.ClusterTypePhysical, APIEndpoint: server.URL,
			CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Namespace: v1alpha1.SystemNamespace, Name: "m1"}},
		},
		Status: v1alpha1.ClusterStatus{
			Conditions: []metav1.Condition{v1alpha1.Reachable("It answers."), v1alpha1.Ready("It answers.")},
			Membership: &v1alpha1.ClusterMembership{Instance: "alpha", MemberUID: "member-1"},
		},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(secret, held).WithStatusSubresource(&v1alpha1.Cluster{}).Build()
	r := &Reconciler{
		Client: kube, Credentials: credentials.Reader{Secrets: kube}, Recorder: events.NewFakeRecorder(100),
		Prober:    &probe.Prober{Timeout: 5 * time.Second, Connections: &connections.Pool{}},
		Debouncer: &debounce.Debouncer{Limits: debounce.Limits{Samples: 1}}, Interval: time.Minute,
	}
	stored := func() *v1alpha1.Cluster {
		t.Helper()
		cluster := &v1alpha1.Cluster{}
		if err := kube.Get(t.Context(), key, cluster); err != nil {
			t.Fatal(err)
		}
		return cluster
	}
	for _, c := range []struct {
		reason string
		change func(*v1alpha1.Cluster)
		want   string // Reachable Identified Ready
		again  bool
	}{
		{"its instance still has it", func(*v1alpha1.Cluster) {}, "True/Answering, True/Identified, False/Deleting", true},
		{"and may be told when it answers again", func(c *v1alpha1.Cluster) { c.Spec.APIEndpoint = "https://127.0.0.1:1" }, "False/NotAnswering, Unknown/Pending, False/Deleting", true},
		{"no instance has it any more", func(c *v1alpha1.Cluster) { c.Status.Membership = nil }, "Unknown/Deleting, Unknown/Pending, False/Deleting", false},
	} {
		for _, write := range []func(cluster *v1alpha1.Cluster) error{
			func(cluster *v1alpha1.Cluster) error { return kube.Update(t.Context(), cluster) },
			func(cluster *v1alpha1.Cluster) error { return kube.Status().Update(t.Context(), cluster) },
		} {
			cluster := stored()
			c.change(cluster)
			if err := write(cluster); err != nil {
				t.Fatal(err)
			}
		}
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, condition := range stored().Status.Conditions {
			words = append(words, string(condition.Status)+"/"+condition.Reason)
		}
		if got := strings.Join(words, ", "); got != c.want || result.RequeueAfter > 0 != c.again {
			t.Errorf("%s: got %s and looks again: %v, want %s and %v", c.reason, got, result.RequeueAfter > 0, c.want, c.again)
		}
	}

	free := stored()
	free.Finalizers = nil
	if err := kube.Update(t.Context(), free); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Errorf("it was deleted: %v", err)
	}
	if err := kube.Get(t.Context(), key, free); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("it was brought back: %v", err)
	}
}
