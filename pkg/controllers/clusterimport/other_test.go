package clusterimport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestOnlyTheRegisteredClusterIsJoined has the endpoint lead to another cluster than the
// one that was registered, before the join and after it.
func TestOnlyTheRegisteredClusterIsJoined(t *testing.T) {
	w := newWorld(t)
	registered, another := w.others["m1"], w.remote("another")
	pinned := func(id string) {
		t.Helper()
		cluster := &v1alpha1.Cluster{}
		if err := w.global.Get(t.Context(), client.ObjectKey{Name: "m1"}, cluster); err != nil {
			t.Fatal(err)
		}
		cluster.Status.KubeSystemID = id
		if err := w.global.Status().Update(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
	}
	// becomes returns what is in the instances and both clusters.
	becomes := func(reason string, says ...string) (elsewhere []string) {
		t.Helper()
		w.reconcileAll()
		cluster := &v1alpha1.Cluster{}
		if err := w.global.Get(t.Context(), client.ObjectKey{Name: "m1"}, cluster); err != nil {
			t.Fatal(err)
		}
		joined := meta.FindStatusCondition(cluster.Status.Conditions, v1alpha1.ConditionJoined)
		if joined == nil || joined.Reason != reason {
			t.Fatalf("it is %+v, want %s", joined, reason)
		}
		for _, part := range says {
			if !strings.Contains(joined.Message, part) {
				t.Errorf("it does not say %q: %s", part, joined.Message)
			}
		}
		now := w.others["m1"]
		defer func() { w.others["m1"] = now; delete(w.others, "another") }()
		w.others["m1"], w.others["another"] = registered, another
		for _, line := range w.picture() {
			if !strings.HasPrefix(line, "Cluster ") {
				elsewhere = append(elsewhere, line)
			}
		}
		return elsewhere
	}
	unchanged := func(when string, before, now []string) {
		t.Helper()
		if diff := cmp.Diff(before, now); diff != "" {
			t.Errorf("%s something was made or removed (-before +now):\n%s", when, diff)
		}
	}

	pinned("")
	nothing := becomes(v1alpha1.ReasonJoining, "Identified")
	if len(nothing) != len([]string{"alpha", "beta", "m1", "another"}) {
		t.Errorf("there is more than a namespace kube-system in each:\n%s", strings.Join(nothing, "\n"))
	}
	pinned("system-m1")
	w.others["m1"] = another
	unchanged("before the join", nothing, becomes(v1alpha1.ReasonOtherCluster, "(system-another)", "(system-m1)", "Identified"))

	w.others["m1"] = registered
	joined := becomes(v1alpha1.ReasonJoined)
	w.others["m1"] = another
	unchanged("after the join", joined, becomes(v1alpha1.ReasonOtherCluster, "(system-another)", "(system-m1)"))
	w.others["m1"] = registered
	unchanged("with the registered one", joined, becomes(v1alpha1.ReasonJoined))
}
