package clusterimport

import (
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestADeletedClusterThatIsHeldIsKeptTrue deletes a Cluster to which workloads are
// propagated, and changes its token and its endpoint meanwhile.
func TestADeletedClusterThatIsHeldIsKeptTrue(t *testing.T) {
	for _, c := range []struct {
		reason    string
		reachable *metav1.Condition
		reported  bool
	}{
		{"it was not looked at since it is being deleted", new(v1alpha1.ReachableUnknown(v1alpha1.ReasonDeleting, "")), true},
		{"it answers", new(v1alpha1.Reachable("")), true},
		{"nothing is known of it", nil, true},
		{"it is known not to answer", new(v1alpha1.Unreachable(v1alpha1.ReasonNotAnswering, "")), false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			w.change(func(o *v1alpha1.Cluster) { o.Spec.Join = &v1alpha1.ClusterJoin{Credentials: v1alpha1.JoinWithGiven} })
			w.reconcileAll()
			w.create("alpha", &workv1alpha2.ResourceBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"},
				Spec: workv1alpha2.ResourceBindingSpec{
					Resource: workv1alpha2.ObjectReference{Kind: "Deployment", Namespace: "shop", Name: "web"},
					Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}},
				},
			})
			if err := w.global.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}); err != nil {
				t.Fatal(err)
			}
			w.change(func(o *v1alpha1.Cluster) { o.Spec.APIEndpoint = "https://moved" })
			cluster := &v1alpha1.Cluster{}
			if err := w.global.Get(t.Context(), client.ObjectKey{Name: "m1"}, cluster); err != nil {
				t.Fatal(err)
			}
			if c.reachable != nil {
				c.reachable.LastTransitionTime = metav1.Now()
				cluster.Status.Conditions = append(cluster.Status.Conditions, *c.reachable)
				if err := w.global.Status().Update(t.Context(), cluster); err != nil {
					t.Fatal(err)
				}
			}
			secret := &corev1.Secret{}
			if err := w.global.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "m1"}, secret); err != nil {
				t.Fatal(err)
			}
			secret.Data[v1alpha1.TokenSecretKey] = []byte("rotated")
			secret.Data[v1alpha1.ServerSecretKey] = []byte("https://moved")
			if err := w.global.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}

			// Once: the API server in memory forgets others' conditions with the first write.
			if _, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "m1"}}); err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(w.picture(), "\n"); !strings.Contains(text, "Cluster m1 [kairship.io/cluster-import] Blocked") {
				t.Fatalf("it is not held:\n%s", text)
			}
			if err := w.others["alpha"].Get(t.Context(), client.ObjectKey{Namespace: joinNamespace, Name: "m1"}, secret); err != nil {
				t.Fatal(err)
			}
			karmada := &clusterv1alpha1.Cluster{}
			if err := w.others["alpha"].Get(t.Context(), client.ObjectKey{Name: "m1"}, karmada); err != nil {
				t.Fatal(err)
			}
			token, endpoint := string(secret.Data[clusterv1alpha1.SecretTokenKey]), karmada.Spec.APIEndpoint
			if (token == "rotated") != c.reported || (endpoint == "https://moved") != c.reported {
				t.Errorf("the instance has the token %q and the endpoint %s, and should have the new ones: %v", token, endpoint, c.reported)
			}
		})
	}
}
