package binding_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/index"
)

func newBinding(t *testing.T, of index.Type, namespace string, body map[string]any) *binding.Binding {
	t.Helper()
	row := fleettest.Row(of, "k-alpha", namespace, "web-deployment")
	row.Body = body
	b, err := binding.New("alpha", fleettest.Object(t, row, index.Whole), freshness.Freshness{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBinding(t *testing.T) {
	b := newBinding(t, index.ResourceBindings, "shop", map[string]any{
		"spec": map[string]any{
			"replicas": 4, "schedulerName": "default-scheduler",
			"clusters": []any{map[string]any{"name": "m2", "replicas": 3}, map[string]any{"name": "m1", "replicas": 1}, map[string]any{"name": "m3"}},
		},
		"status": map[string]any{
			"conditions": []any{map[string]any{"type": "Scheduled", "status": "True"}},
			"aggregatedStatus": []any{
				map[string]any{"clusterName": "m1", "applied": true, "health": "Healthy", "status": map[string]any{"replicas": 1}},
				map[string]any{"clusterName": "m2", "appliedMessage": "no room"},
				map[string]any{"clusterName": "m3", "status": []any{1.0, nil}},
			},
		},
	})
	targets := []binding.TargetCluster{{Name: "m1", Replicas: new(1)}, {Name: "m2", Replicas: new(3)}, {Name: "m3"}}
	if diff := cmp.Diff(targets, b.Clusters()); diff != "" {
		t.Errorf("clusters are by name, and none of nothing (-want +got):\n%s", diff)
	}
	status, err := b.AggregatedStatus()
	if err != nil {
		t.Fatal(err)
	}
	want := []binding.StatusItem{
		{ClusterName: "m1", Applied: true, Health: new("Healthy"), Status: map[string]any{"replicas": 1.0}},
		{ClusterName: "m2", AppliedMessage: new("no room")},
		{ClusterName: "m3", Status: []any{1.0, nil}},
	}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("aggregated status (-want +got):\n%s", diff)
	}
	if *b.Replicas() != 4 || *b.SchedulerName() != "default-scheduler" || len(b.Conditions()) != 1 || *b.NamespaceOrNil() != "shop" {
		t.Errorf("replicas %v, scheduler %v, conditions %v, namespace %v", b.Replicas(), b.SchedulerName(), b.Conditions(), b.NamespaceOrNil())
	}
}

// What is not known is null, and lists are empty.
func TestBindingOfNothing(t *testing.T) {
	b := newBinding(t, index.ClusterResourceBindings, "", nil)
	status, err := b.AggregatedStatus()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{[]binding.TargetCluster{}, []binding.StatusItem{}, (*int)(nil), (*string)(nil), (*string)(nil)},
		[]any{b.Clusters(), status, b.Replicas(), b.SchedulerName(), b.NamespaceOrNil()}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	id, err := nodeid.Parse(b.ID())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(nodeid.ID{Type: "ResourceBinding", Parts: []string{"alpha", "", "web-deployment"}}, id); diff != "" {
		t.Errorf("ID (-want +got):\n%s", diff)
	}
}

func TestBindingThatCannotBeRead(t *testing.T) {
	row := fleettest.Row(index.ResourceBindings, "k-alpha", "shop", "x")
	row.Body = map[string]any{"spec": 1}
	if b, err := binding.New("alpha", fleettest.Object(t, row, index.Whole), freshness.Freshness{}); err == nil {
		t.Errorf("got %+v", b)
	}
}
