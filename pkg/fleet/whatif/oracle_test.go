package whatif

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	clusterlister "github.com/karmada-io/karmada/pkg/generated/listers/cluster/v1alpha1"
	schedulercache "github.com/karmada-io/karmada/pkg/scheduler/cache"
	"github.com/karmada-io/karmada/pkg/scheduler/core"
	"github.com/karmada-io/karmada/pkg/scheduler/framework"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/plugins"
	"k8s.io/client-go/tools/cache"
)

// karmadas schedules with Karmada's own scheduler. It starts a goroutine that never ends.
func karmadas(t *testing.T, clusters []*clusterv1alpha1.Cluster) core.ScheduleAlgorithm {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, c := range clusters {
		if err := indexer.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	none := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	s, err := core.NewGenericScheduler(schedulercache.NewCache(clusterlister.NewClusterLister(indexer), none, 0), plugins.NewInTreeRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestScheduleIsThatOfKarmada compares the scheduler with Karmada's own over random placements, clusters and
// bindings. The order of clusters, which Karmada leaves to chance, does not matter.
func TestScheduleIsThatOfKarmada(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // Repeatable on purpose.
	placed := 0
	for range 40 {
		n := 1 + r.IntN(8)
		clusters := randomClusters(r, n)
		theirs, err := newScheduler(clusters)
		if err != nil {
			t.Fatal(err)
		}
		karmada := karmadas(t, clusters)
		for i := range 50 {
			b := randomBinding(t, r, i, n)
			ours, err := theirs.schedule(b.Spec.DeepCopy(), &b.Status)
			result, wantErr := karmada.Schedule(context.Background(), b.Spec.DeepCopy(), b.Status.DeepCopy(), &core.ScheduleAlgorithmOption{})
			if !slices.Equal(placements(ours), placements(result.SuggestedClusters)) || kindOf(err) != kindOf(wantErr) {
				t.Errorf("%+v\nclusters %v, error %v\nwant %v, error %v", b.Spec.Placement, placements(ours), err, placements(result.SuggestedClusters), wantErr)
			}
			if len(ours) > 0 {
				placed++
			}
		}
	}
	if placed < 400 {
		t.Errorf("only %d of 2000 bindings have clusters: the cases are too narrow", placed)
	}
}

// kindOf is what an error means to Karmada's scheduler.
func kindOf(err error) string {
	var noFit *framework.FitError
	var noRoom *framework.UnschedulableError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &noFit):
		return "no fit"
	case errors.As(err, &noRoom):
		return "no room"
	}
	return "other"
}

// TestScheduleWritesToNothing checks that what is observed stays as it was.
func TestScheduleWritesToNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0)) //nolint:gosec // Repeatable on purpose.
	w := &World{Clusters: randomClusters(r, 5)}
	var before []*workv1alpha2.ResourceBinding
	for i := range 100 {
		b := randomBinding(t, r, i, 5)
		w.Bindings, before = append(w.Bindings, b), append(before, b.DeepCopy())
	}
	if _, err := ClusterLoss(w, Loss{Clusters: []string{"m0", "m1"}, Mode: Removal}); err != nil {
		t.Fatal(err)
	}
	for i := range before {
		if !equal(before[i], w.Bindings[i]) {
			t.Errorf("binding %d was changed", i)
		}
	}
}
