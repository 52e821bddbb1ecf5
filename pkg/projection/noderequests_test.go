package projection_test

import (
	"errors"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// TestNodeRequests adds up what the pods on each node request, on both databases.
func TestNodeRequests(t *testing.T) {
	m1, m2, m3 := projection.MemberKey{Instance: "alpha", Name: "m1"}, projection.MemberKey{Instance: "alpha", Name: "m2"}, projection.MemberKey{Instance: "beta", Name: "m3"}
	pods := podRows()
	want := map[projection.NodeKey]projection.Requested{}
	for i := range pods {
		p := &pods[i]
		p.Node = []string{"n1", "n2", ""}[i/3%3]
		p.CPURequests, p.MemoryRequests = float64(i)/4, float64(i)*1024
		if p.Node == "" || p.Phase == "SUCCEEDED" || p.Phase == "FAILED" {
			continue
		}
		key := projection.NodeKey{MemberKey: projection.MemberKey{Instance: p.Instance, Name: p.Cluster}, Node: p.Node}
		r := want[key]
		want[key] = projection.Requested{CPU: r.CPU + p.CPURequests, Memory: r.Memory + p.MemoryRequests, Pods: r.Pods + 1}
	}
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := filledPods(t, index, pods)
		for _, tt := range []struct {
			why     string
			members []projection.MemberKey
		}{
			{"one member", []projection.MemberKey{m1}}, {"several", []projection.MemberKey{m1, m2, m3}}, {"none", nil},
			{"a member of another instance", []projection.MemberKey{{Instance: "beta", Name: "m1"}}},
		} {
			of := map[projection.NodeKey]projection.Requested{}
			for key, r := range want {
				for _, m := range tt.members {
					if key.MemberKey == m {
						of[key] = r
					}
				}
			}
			got, _, err := db.NodeRequests(t.Context(), tt.members)
			if diff := gocmp.Diff(of, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tt.why, err, diff)
			}
		}
		index.Exec(t, "UPDATE kairship.meta SET pods = 'building'")
		if got, _, err := db.NodeRequests(t.Context(), []projection.MemberKey{m1}); !errors.Is(err, projection.ErrIncomplete) {
			t.Errorf("from a part of the rows: %v, %v", got, err)
		}
	})
}
