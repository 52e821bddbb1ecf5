package membercluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

func newMember(t *testing.T, spec, status map[string]any) *membercluster.MemberCluster {
	t.Helper()
	row := member("k-alpha", "m1")
	row.Body = map[string]any{"spec": spec, "status": status}
	m, err := membercluster.New("alpha", fleettest.Object(t, row, index.Whole), freshness.Freshness{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMemberCluster(t *testing.T) {
	m := newMember(t, map[string]any{
		"syncMode": "Push", "apiEndpoint": "https://m1", "provider": "p", "region": "r",
		"taints": []any{map[string]any{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": "2026-01-02T03:04:05Z"}, map[string]any{"key": "x", "effect": "NoExecute"}},
	}, map[string]any{
		"kubernetesVersion": "v1.35.4", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
		"nodeSummary": map[string]any{"totalNum": 3, "readyNum": 2},
		"resourceSummary": map[string]any{
			"allocatable": map[string]any{"cpu": "4", "memory": "1Gi", "pods": "110"}, "allocated": map[string]any{"cpu": "1500m", "memory": "512Mi"}, "allocating": map[string]any{"cpu": "500m"},
		},
	})
	added := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := []any{
		string(m.SyncMode()), *m.APIEndpoint(), *m.Provider(), *m.Region(), *m.KubernetesVersion(), m.Ready(), len(m.Conditions()),
		m.Taints(), *m.Nodes(), *m.CPU(), *m.Memory(), *m.Pods(),
	}
	want := []any{
		"Push", "https://m1", "p", "r", "v1.35.4", true, 1,
		[]membercluster.Taint{{Key: "k", Value: "v", Effect: "NoSchedule", TimeAdded: &added}, {Key: "x", Effect: "NoExecute"}}, object.ReadyCount{Total: 3, Ready: 2},
		// What waits for a node is taken too.
		object.Capacity{Allocatable: 4, Allocated: 2}, object.Capacity{Allocatable: 1 << 30, Allocated: 1 << 29}, object.Capacity{Allocatable: 110},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	id, err := nodeid.Parse(m.ID())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(nodeid.ID{Type: "MemberCluster", Parts: []string{"alpha", "m1"}}, id); diff != "" {
		t.Errorf("ID (-want +got):\n%s", diff)
	}
}

// A member that just joined has said nothing of itself.
func TestMemberClusterThatIsNew(t *testing.T) {
	m := newMember(t, map[string]any{"syncMode": "Pull"}, nil)
	if m.Ready() || m.Nodes() != nil || m.CPU() != nil || m.Memory() != nil || m.Pods() != nil || m.KubernetesVersion() != nil || m.Region() != nil {
		t.Errorf("it says more than it knows: %v %v %v", m.Ready(), m.Nodes(), m.CPU())
	}
	if m.Taints() == nil || m.Zones() == nil || m.Conditions() == nil {
		t.Error("lists are empty and never null")
	}
}

func TestZones(t *testing.T) {
	for _, tt := range []struct {
		spec map[string]any
		want []string
		why  string
	}{
		{map[string]any{"zones": []any{"a", "b"}, "zone": "c"}, []string{"a", "b"}, "the newer field is the right one"},
		{map[string]any{"zone": "c"}, []string{"c"}, "older objects have the other"},
		{map[string]any{}, []string{}, "none is none"},
	} {
		if diff := cmp.Diff(tt.want, newMember(t, tt.spec, nil).Zones()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, diff)
		}
	}
}
