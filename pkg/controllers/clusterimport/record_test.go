package clusterimport

import (
	"slices"
	"testing"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
)

// TestMembersAreRecorded: a join, a move and a removal are recorded once each, and looks that change nothing, also those of the next
// process, are not.
func TestMembersAreRecorded(t *testing.T) {
	w := inMemory(t)
	w.names, w.memberships = []string{"m"}, map[string]*v1alpha1.ClusterMembership{}
	var got []string
	start := func(name string) *leader {
		l := w.leader(name)
		l.Activity = func(c activity.Change) {
			got = append(got, string(c.Verb)+" "+c.Group+" "+c.Kind+" "+c.Name+" in "+c.Instance)
		}
		return l
	}
	first := start("first")
	step := func(l *leader, what string, want ...string) {
		t.Helper()
		got = nil
		l.reconcileAll()
		if !slices.Equal(got, want) {
			t.Errorf("%s: recorded %q, want %q", what, got, want)
		}
	}
	w.want("m", "alpha")
	step(first, "a join", "CREATE cluster.karmada.io Cluster m in alpha")
	step(first, "nothing new")
	step(start("second"), "a restart")
	w.want("m", "beta")
	step(first, "a move", "DELETE cluster.karmada.io Cluster m in alpha", "CREATE cluster.karmada.io Cluster m in beta")
	w.remove("m")
	step(first, "a removal", "DELETE cluster.karmada.io Cluster m in beta")
	step(start("third"), "a restart after it")
	if len(w.wrong) > 0 {
		t.Errorf("wrong: %v", w.wrong)
	}
}
