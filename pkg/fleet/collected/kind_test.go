package collected_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/fleet/collected"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
)

func TestKind(t *testing.T) {
	state := func(version, status string, first bool) pediav1alpha2.ClusterResourceSyncCondition {
		return pediav1alpha2.ClusterResourceSyncCondition{Version: version, Status: status, InitialListPhase: first}
	}
	records := func(owner string) *pediav1alpha2.PediaCluster {
		pc := &pediav1alpha2.PediaCluster{}
		pc.Name = "k-a"
		pc.Spec.SyncResources = []pediav1alpha2.ClusterGroupResources{{Group: "", Resources: []string{"configmaps", "secrets"}}}
		kinds := map[string][]pediav1alpha2.ClusterResourceSyncCondition{
			"configmaps": {state("v1", pediav1alpha2.ResourceSyncStatusSyncing, false)},
			"events":     {state("v1", pediav1alpha2.ResourceSyncStatusSyncing, true)},
			"services":   {state("v1", pediav1alpha2.ResourceSyncStatusPending, false)},
			"pods":       {state("v1", "Stop", false)},
			"nodes":      {state("v1", pediav1alpha2.ResourceSyncStatusError, false)},
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
		want    collected.State
		why     string
	}{
		{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, ours, collected.Whole, "it is followed"},
		{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, ours, collected.Whole, "the cluster does not answer: the index has its last state"},
		{schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, ours, collected.Whole, "it was listed once, and its freshness says what fails"},
		{schema.GroupVersionResource{Version: "v1", Resource: "events"}, ours, collected.Arriving, "its first list is not stored yet"},
		{schema.GroupVersionResource{Version: "v1", Resource: "services"}, ours, collected.Arriving, "it was not listed yet"},
		{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, ours, collected.None, "to be told to collect is not to collect"},
		{schema.GroupVersionResource{Version: "v2", Resource: "configmaps"}, ours, collected.None, "that is another version"},
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "configmaps"}, ours, collected.None, "that is another group"},
		{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, ours[:2], collected.None, "nothing is collected yet"},
		{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, []client.Object{instance("a", "1"), cluster("k-a", "2", "1"), records("")}, collected.Whole, "the name is another owner's: nothing is shown"},
	} {
		got, err := collected.Kind(t.Context(), fleettest.Inventory(t, tt.objects...), "k-a", tt.of)
		if err != nil || got != tt.want {
			t.Errorf("%v: got %v, %v; want %v: %s", tt.of, got, err, tt.want, tt.why)
		}
	}
}
