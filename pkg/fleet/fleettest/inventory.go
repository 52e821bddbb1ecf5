package fleettest

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Inventory is a watch on a global cluster with these objects.
func Inventory(t testing.TB, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, pediav1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// Instance is an instance of a global cluster.
func Instance(name string) *v1alpha1.Instance {
	return &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeExternal}}
}

// Collected is the record of a cluster from which collection goes well since a moment.
func Collected(name string, since time.Time) *pediav1alpha2.PediaCluster {
	return &pediav1alpha2.PediaCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: pediav1alpha2.ClusterStatus{
			Conditions: []metav1.Condition{
				{Type: pediav1alpha2.SynchroRunningCondition, Status: metav1.ConditionTrue, Reason: "Running", LastTransitionTime: metav1.NewTime(since)},
				{Type: pediav1alpha2.ClusterHealthyCondition, Status: metav1.ConditionTrue, Reason: "Healthy", LastTransitionTime: metav1.NewTime(since)},
			},
			SyncResources: []pediav1alpha2.ClusterGroupResourcesStatus{Kind("pods", pediav1alpha2.ResourceSyncStatusSyncing, since)},
		},
	}
}

// Members is the state of collection of the member clusters of an instance since a moment.
func Members(state string, since time.Time) pediav1alpha2.ClusterGroupResourcesStatus {
	members := Kind("clusters", state, since)
	members.Group = "cluster.karmada.io"
	return members
}

// Kind is the state of collection of a kind of the core group since a moment.
func Kind(resource, state string, since time.Time) pediav1alpha2.ClusterGroupResourcesStatus {
	return pediav1alpha2.ClusterGroupResourcesStatus{Resources: []pediav1alpha2.ClusterResourceStatus{{
		Name: resource, SyncConditions: []pediav1alpha2.ClusterResourceSyncCondition{{Version: "v1", Status: state, LastTransitionTime: metav1.NewTime(since)}},
	}}}
}
