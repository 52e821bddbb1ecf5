package suite

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// fleetQuery is the query of the README.
//
//go:embed testdata/fleet.graphql
var fleetQuery string

// propagationTimeout is how long the fleet may take to tell everywhere what happened somewhere.
const propagationTimeout = 30 * time.Second

// TestFleetQueryTellsTheTruth asks the question of the README and compares each
// datum with what the instances and their members say themselves.
func TestFleetQueryTellsTheTruth(t *testing.T) {
	on := open(t)
	poll.Until(t, propagationTimeout, "the answer is what the clusters say", func(ctx context.Context) error {
		want, err := truth{t, on.fleet}.whole(ctx)
		if err != nil {
			return err
		}
		got, _, err := gql.Query[fleetAnswer](ctx, on.kairship, fleetQuery, nil)
		if err != nil {
			return err
		}
		onlySamples(on.fleet, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("the clusters say -, Kairship says +:\n%s", diff)
		}
		return nil
	})
}

// TestFleetQueryShowsNineApplications sees to it that the comparison above compares something.
func TestFleetQueryShowsNineApplications(t *testing.T) {
	on := open(t)
	got, _ := gql.MustQuery[fleetAnswer](t, on.kairship, fleetQuery, nil)
	onlySamples(on.fleet, &got)
	health := map[string]map[string]string{}
	pods := 0
	for _, i := range got.Instances.Nodes {
		health[i.Name] = map[string]string{}
		for _, w := range i.Workloads.Nodes {
			health[i.Name][w.key()] = w.Health
			for _, p := range w.Placements {
				pods += len(p.Object.Pods)
			}
		}
	}
	if diff := cmp.Diff(sampleHealth, health); diff != "" {
		t.Errorf("health of the sample applications (-want +got):\n%s", diff)
	}
	// frontend 4, cart 2 × 2, agent 3 × 2, migrate 2, api 2, ledger 3.
	if pods < 21 {
		t.Errorf("the answer shows %d pods of the sample applications, want 21", pods)
	}
}

// onlySamples drops what does not belong to the fleet as it is set up: other
// tests and benchmarks may have put something beside it.
func onlySamples(f *fleet.Fleet, a *fleetAnswer) {
	a.Instances.Nodes = slices.DeleteFunc(a.Instances.Nodes, func(i instanceAnswer) bool { return sampleHealth[i.Name] == nil })
	for i := range a.Instances.Nodes {
		one := &a.Instances.Nodes[i]
		one.MemberClusters.Nodes = slices.DeleteFunc(one.MemberClusters.Nodes, func(m memberAnswer) bool {
			return !slices.Contains(f.Members(one.Name), m.Name)
		})
		one.Workloads.Nodes = slices.DeleteFunc(one.Workloads.Nodes, func(w workloadAnswer) bool {
			_, ok := sampleHealth[one.Name][w.key()]
			return !ok
		})
	}
}
