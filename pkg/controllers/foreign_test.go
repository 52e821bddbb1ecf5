package controllers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// foreignLabels are labels of objects that are not an owner's of this name.
var foreignLabels = []struct {
	reason string
	labels map[string]string
	says   string
}{
	{"an object without labels was made by a user", nil, "was not made by Kairship"},
	{
		"our label alone proves nothing", map[string]string{"app.kubernetes.io/managed-by": "kairship"},
		"was not made by Kairship",
	},
	{
		"a deleted owner is not the one of today",
		map[string]string{
			"app.kubernetes.io/managed-by": "kairship", "kairship.io/instance": "taken", "kairship.io/cluster": "k-taken",
			"kairship.io/owner-uid": "00000000-0000-0000-0000-000000000000",
		},
		"of this name",
	},
}

func TestForeignClusterIsLeftAlone(t *testing.T) {
	for _, c := range foreignLabels {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			foreign := &v1alpha1.Cluster{
				ObjectMeta: metav1.ObjectMeta{Name: "k-taken", Labels: c.labels},
				Spec:       v1alpha1.ClusterSpec{Type: v1alpha1.ClusterTypeVirtual, InstanceRef: &v1alpha1.InstanceReference{Name: "taken"}, APIEndpoint: "https://foreign"},
			}
			w.must(w.kube.Create(t.Context(), foreign))
			w.secret("taken", "kubeconfig", first)
			instance := w.instance("taken", "kubeconfig")
			w.reconcile("taken")

			w.wantInstance("taken", "False/NameTaken", `Cluster "k-taken"`, c.says, "delete it to go on")
			w.wantCluster("k-taken", "False/NoInstance")
			w.gone("k-taken", &pediav1alpha2.PediaCluster{}) // What is indexed as k-taken would be shown as taken's.
			if diff := cmp.Diff(foreign.Spec, get(w, "k-taken", &v1alpha1.Cluster{}).Spec); diff != "" {
				t.Errorf("the foreign Cluster changed (-want +got):\n%s", diff)
			}

			w.must(w.kube.Delete(t.Context(), foreign))
			w.reconcile("taken")
			w.wantInstance("taken", "Unknown/Pending")
			get(w, "k-taken", &pediav1alpha2.PediaCluster{})

			w.must(w.kube.Delete(t.Context(), instance))
			w.reconcile("taken")
			w.gone("taken", &v1alpha1.Instance{})
		})
	}
}

func TestForeignPediaClusterIsLeftAlone(t *testing.T) {
	for _, c := range foreignLabels {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			foreign := &pediav1alpha2.PediaCluster{
				ObjectMeta: metav1.ObjectMeta{Name: "k-taken", Labels: c.labels},
				Spec: pediav1alpha2.ClusterSpec{APIServer: "https://foreign", SyncResources: []pediav1alpha2.ClusterGroupResources{
					{Group: "apps", Resources: []string{"deployments"}},
				}},
			}
			w.must(w.kube.Create(t.Context(), foreign))
			w.secret("taken", "kubeconfig", first)
			instance := w.instance("taken", "kubeconfig")
			w.reconcile("taken")
			w.wantInstance("taken", "False/NameTaken", `PediaCluster "k-taken"`, c.says)
			w.wantCluster("k-taken", "False/NameTaken", `PediaCluster "k-taken"`, c.says)

			w.must(w.kube.Delete(t.Context(), instance))
			w.reconcile("taken")
			w.gone("taken", &v1alpha1.Instance{})
			stored := get(w, "k-taken", &pediav1alpha2.PediaCluster{})
			if diff := cmp.Diff(foreign, stored); diff != "" {
				t.Errorf("the foreign PediaCluster changed (-want +got):\n%s", diff)
			}

			w.instance("taken", "kubeconfig")
			w.reconcile("taken")
			w.must(w.kube.Delete(t.Context(), foreign))
			w.reconcile("taken")
			w.wantInstance("taken", "Unknown/Pending")

			w.must(w.kube.Delete(t.Context(), get(w, "taken", &v1alpha1.Instance{})))
			w.reconcile("taken")
			w.gone("taken", &v1alpha1.Instance{})
		})
	}
}

func TestForeignClusterIsLeftAloneByADeletion(t *testing.T) {
	w := newWorld(t)
	w.secret("taken", "kubeconfig", first)
	instance := w.instance("taken", "kubeconfig")
	w.reconcile("taken")
	// A user takes over the Cluster by removing our labels.
	cluster := get(w, "k-taken", &v1alpha1.Cluster{})
	cluster.Labels = nil
	w.must(w.kube.Update(t.Context(), cluster))

	w.must(w.kube.Delete(t.Context(), instance))
	w.reconcile("taken")
	w.gone("taken", &v1alpha1.Instance{})
	if stored := get(w, "k-taken", &v1alpha1.Cluster{}); !stored.DeletionTimestamp.IsZero() {
		t.Error("the Cluster was deleted")
	}
	w.gone("k-taken", &pediav1alpha2.PediaCluster{}) // That one is still its Cluster's, and ours to remove.
	w.must(w.kube.Delete(t.Context(), cluster))
	w.indexCluster("k-taken")
	w.gone("k-taken", &v1alpha1.Cluster{})
}

func TestVirtualClusterWhoseInstanceIsGoneIsNotCollected(t *testing.T) {
	w := newWorld(t)
	w.secret("orphan", "kubeconfig", first)
	instance := w.instance("orphan", "kubeconfig")
	w.reconcile("orphan")
	w.takeUp("k-orphan")
	w.reconcile("orphan")

	// A user takes our finalizer off, which is how an Instance can go first.
	get(w, "orphan", instance)
	instance.Finalizers = nil
	w.must(w.kube.Update(t.Context(), instance))
	w.must(w.kube.Delete(t.Context(), instance))
	w.indexCluster("k-orphan")
	w.wantCluster("k-orphan", "False/CleaningUp")
	w.cleanUp("k-orphan")
	w.indexCluster("k-orphan")
	w.wantCluster("k-orphan", "False/NoInstance", "delete this one")
	w.gone("k-orphan", &pediav1alpha2.PediaCluster{})

	w.must(w.kube.Delete(t.Context(), get(w, "k-orphan", &v1alpha1.Cluster{})))
	w.indexCluster("k-orphan")
	w.gone("k-orphan", &v1alpha1.Cluster{})
}
