package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// A workload that no cluster fits says which label of its policy no cluster has.
func TestUnscheduledNamesTheLabel(t *testing.T) {
	const filter = `(filter: {instances: "alpha", namespaces: "shop", name: "stuck"})`
	const label = "no member cluster has the label accelerator=gpu"
	on := open(t)
	alice := on.as(t, "alice")
	type workload struct{ Health, HealthMessage string }
	poll.Until(t, propagationTimeout, "the message names the label", func(ctx context.Context) error {
		data, _, err := gql.Query[struct {
			Workloads struct{ Nodes []workload }
		}](ctx, alice, `{ workloads`+filter+` { nodes { health healthMessage } } }`, nil)
		if err != nil {
			return err
		}
		if n := data.Workloads.Nodes; len(n) != 1 || n[0].Health != "UNSCHEDULED" || !strings.Contains(n[0].HealthMessage, label) {
			return fmt.Errorf("got %+v", n)
		}
		return nil
	})
}
