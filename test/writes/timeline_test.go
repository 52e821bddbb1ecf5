package writes

import (
	"context"
	"fmt"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestTimelineNamesWhoWrote: what a user wrote is in the timeline of the object, and nothing that was refused or
// not stored.
func TestTimelineNamesWhoWrote(t *testing.T) {
	t.Parallel()
	alice := person(t, "alice")
	namespace, web := running(t)
	type answer struct {
		Instance struct {
			Workload struct {
				Timeline struct {
					Nodes []struct{ Change, After, User string }
				}
			}
		}
	}
	written := func(ctx context.Context) (texts []string, err error) {
		data, _, err := gql.Query[answer](ctx, alice, `query($ns: String!) { instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: $ns, name: "web") {
			timeline(changes: [WRITTEN]) { nodes { change after user } } } } }`, map[string]any{"ns": namespace})
		for _, n := range data.Instance.Workload.Timeline.Nodes {
			texts = append(texts, n.After+" "+n.User)
		}
		return texts, err
	}
	before, err := written(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	must[workloadPayload](t, alice, "scaleWorkload", but(web, "replicas", 3, "dryRun", true), workloadFields)
	unrelated(t, "scaleWorkload", but(web, "replicas", 3))
	refused(t, alice, "scaleWorkload", but(web, "replicas", 3, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
	must[workloadPayload](t, alice, "scaleWorkload", but(web, "replicas", 3), workloadFields)
	poll.Until(t, within, "the timeline has the one write", func(ctx context.Context) error {
		now, err := written(ctx)
		if err == nil && (len(now) != len(before)+1 || now[0] != "PATCH alice") {
			err = fmt.Errorf("it had %q, and has %q", before, now)
		}
		return err
	})
}
