package clusterindex

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// world is what the cache and the API server have of one PediaCluster.
type world struct {
	*Reconciler
	reported *events.FakeRecorder
	*scope
}

func newWorld(t *testing.T, cluster *v1alpha1.Cluster, cached, live client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, pediav1alpha2.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	serve := func(object client.Object) client.Client {
		building := fake.NewClientBuilder().WithScheme(scheme)
		if object != nil {
			building = building.WithObjects(object)
		}
		return building.Build()
	}
	w := &world{reported: events.NewFakeRecorder(10), scope: newScope(cluster)}
	w.Reconciler = &Reconciler{Client: serve(cached), Live: serve(live), Recorder: w.reported}
	w.to = connection.Connection{Endpoint: "https://m1", Token: "t"}
	return w
}

func clusterOf(kind v1alpha1.ClusterType, conditions ...metav1.Condition) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "m1", UID: "u1"},
		Spec:       v1alpha1.ClusterSpec{Type: kind}, Status: v1alpha1.ClusterStatus{Conditions: conditions},
	}
}

// TestCollectTellsOfWhatIsNew checks the events of new collections: a new virtual Cluster has one
// already.
func TestCollectTellsOfWhatIsNew(t *testing.T) {
	indexed := v1alpha1.IndexedUnknown("Collecting", "Somebody knows.")
	for _, c := range []struct {
		reason   string
		cluster  *v1alpha1.Cluster
		reported int
	}{
		{"of a real cluster", clusterOf(v1alpha1.ClusterTypePhysical), 1},
		{"of a new virtual one", clusterOf(v1alpha1.ClusterTypeVirtual), 0},
		{"of a virtual one whose PediaCluster a user deleted", clusterOf(v1alpha1.ClusterTypeVirtual, indexed), 1},
	} {
		w := newWorld(t, c.cluster, nil, nil)
		if err := w.collect(t.Context(), w.scope); err != nil {
			t.Fatal(err)
		}
		if got := len(w.reported.Events); got != c.reported || w.pedia == nil {
			t.Errorf("%s: %d events, want %d; made: %v", c.reason, got, c.reported, w.pedia != nil)
		}
	}
}

// TestCollectWaitsForTheCache that still has a PediaCluster which was removed.
func TestCollectWaitsForTheCache(t *testing.T) {
	cluster := clusterOf(v1alpha1.ClusterTypePhysical)
	deleted := metav1.NewTime(time.Now())
	leaving := &pediav1alpha2.PediaCluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", DeletionTimestamp: &deleted, Finalizers: []string{"clusterpedia.io/x"}}}
	newScope(cluster).owner.Mark(leaving)
	w := newWorld(t, cluster, leaving, nil)
	_, result, err := phase.Result(t.Context(), phase.Run(t.Context(), w.scope, w.collect, w.report))
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("looks again after %s, error %v", result.RequeueAfter, err)
	}
}
