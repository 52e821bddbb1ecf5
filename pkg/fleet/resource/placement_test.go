package resource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// The placements are all clusters that the binding names, for whatever reason.
func TestPlacementsOf(t *testing.T) {
	row := fleettest.Row(index.ResourceBindings, "k-alpha", "shop", "settings-configmap")
	row.Body = map[string]any{
		"spec": map[string]any{
			"clusters":              []any{map[string]any{"name": "new"}, map[string]any{"name": "both"}},
			"gracefulEvictionTasks": []any{map[string]any{"fromCluster": "left"}},
		},
		"status": map[string]any{"aggregatedStatus": []any{
			map[string]any{"clusterName": "left", "applied": true, "health": "Unknown"},
			map[string]any{"clusterName": "gone", "appliedMessage": "it is in the way"},
			map[string]any{"clusterName": "both", "applied": true, "health": "Healthy", "status": map[string]any{"count": 1}},
		}},
	}
	b, err := binding.New("alpha", fleettest.Object(t, row, index.Whole), freshness.Freshness{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := placementsOf(&object.Object{}, b)
	if err != nil {
		t.Fatal(err)
	}
	want := []Placement{
		{StatusItem: binding.StatusItem{ClusterName: "both", Applied: true, Health: new("Healthy"), Status: map[string]any{"count": 1.0}}, Scheduled: true},
		{StatusItem: binding.StatusItem{ClusterName: "gone", AppliedMessage: new("it is in the way")}},
		{StatusItem: binding.StatusItem{ClusterName: "left", Applied: true, Health: new("Unknown")}, Evicting: true},
		{StatusItem: binding.StatusItem{ClusterName: "new"}, Scheduled: true},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Placement{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
