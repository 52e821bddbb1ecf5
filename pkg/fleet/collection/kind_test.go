package collection_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
)

func TestKind(t *testing.T) {
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	state := func(status string, first bool, after time.Duration) []pediav1alpha2.ClusterResourceSyncCondition {
		return []pediav1alpha2.ClusterResourceSyncCondition{{
			Version: "v1", Status: status, InitialListPhase: first, LastTransitionTime: metav1.NewTime(began.Add(after)),
		}}
	}
	records := func(owner string) *pediav1alpha2.PediaCluster {
		pc := &pediav1alpha2.PediaCluster{}
		pc.Name = "k-a"
		pc.Spec.SyncResources = []pediav1alpha2.ClusterGroupResources{{Group: "", Resources: []string{"configmaps", "secrets"}}}
		kinds := map[string][]pediav1alpha2.ClusterResourceSyncCondition{
			"configmaps":  state(pediav1alpha2.ResourceSyncStatusSyncing, false, 0),
			"events":      state(pediav1alpha2.ResourceSyncStatusSyncing, true, time.Minute),
			"services":    state(pediav1alpha2.ResourceSyncStatusPending, false, time.Minute),
			"endpoints":   state(pediav1alpha2.ResourceSyncStatusPending, false, time.Hour),
			"limitranges": state(pediav1alpha2.ResourceSyncStatusSyncing, true, time.Hour),
			"pods":        state("Stop", false, time.Hour),
			"nodes":       state(pediav1alpha2.ResourceSyncStatusError, false, time.Hour),
		}
		for name, conditions := range kinds {
			pc.Status.SyncResources = append(pc.Status.SyncResources, pediav1alpha2.ClusterGroupResourcesStatus{
				Resources: []pediav1alpha2.ClusterResourceStatus{{Name: name, SyncConditions: conditions}},
			})
		}
		ownedBy(pc, owner)
		return pc
	}
	ours := []client.Object{instance("a", "1"), cluster("k-a", "2", "1"), records("2")}
	for _, tt := range []struct {
		of      schema.GroupVersionResource
		objects []client.Object
		want    collection.State
		why     string
	}{
		{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, ours, collection.Whole, "it is followed"},
		{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, ours, collection.Whole, "the cluster does not answer: the index has its last state"},
		{schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, ours, collection.Whole, "it was listed once, and its freshness says what fails"},
		{schema.GroupVersionResource{Version: "v1", Resource: "events"}, ours, collection.Arriving, "its list is not stored yet, as those of others that began with it"},
		{schema.GroupVersionResource{Version: "v1", Resource: "services"}, ours, collection.Arriving, "it was not listed yet, and others have only just been"},
		{schema.GroupVersionResource{Version: "v1", Resource: "endpoints"}, ours, collection.None, "it is new: others have been followed for an hour"},
		{schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}, ours, collection.None, "it is new, and a part of it may be there"},
		{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, ours, collection.None, "to be told to collect is not to collect"},
		{schema.GroupVersionResource{Version: "v2", Resource: "configmaps"}, ours, collection.None, "that is another version"},
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "configmaps"}, ours, collection.None, "that is another group"},
		{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, ours[:2], collection.None, "nothing is collected yet"},
		{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, []client.Object{instance("a", "1"), cluster("k-a", "2", "1"), records("")}, collection.Whole, "the name is another owner's: nothing is shown"},
	} {
		got, err := collection.Kind(t.Context(), fleettest.Inventory(t, tt.objects...), "k-a", tt.of)
		if err != nil || got != tt.want {
			t.Errorf("%v: got %v, %v; want %v: %s", tt.of, got, err, tt.want, tt.why)
		}
	}
}
