package writes

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
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
					Nodes []struct {
						Change, After, User string
						Message             *string
					}
				}
			}
		}
	}
	written := func(ctx context.Context) (texts []string, err error) {
		data, _, err := gql.Query[answer](ctx, alice, `query($ns: String!) { instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: $ns, name: "web") {
			timeline(changes: [WRITTEN]) { nodes { change after user message } } } } }`, map[string]any{"ns": namespace})
		for _, n := range data.Instance.Workload.Timeline.Nodes {
			text := n.After + " " + n.User
			if n.Message != nil {
				text += " " + *n.Message
			}
			texts = append(texts, text)
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
	native := func(as *gql.Client, query string, want int) {
		t.Helper()
		f := fleet.Open(t)
		url := f.KairshipURL + "/instances/alpha/proxy/apis/apps/v1/namespaces/" + namespace + "/deployments/web" + query
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, strings.Replace(url, "/graphql", "", 1), strings.NewReader(`{"metadata":{"annotations":{"note":"native"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+as.Token)
		r.Header.Set("Content-Type", "application/merge-patch+json")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != want {
			t.Fatalf("the native API answers %s, want %d", response.Status, want)
		}
	}
	poll.Until(t, within, "the timeline has the one write", func(ctx context.Context) error {
		now, err := written(ctx)
		if err == nil && (len(now) != len(before)+1 || now[0] != "PATCH alice") {
			err = fmt.Errorf("it had %q, and has %q", before, now)
		}
		return err
	})
	native(person(t, "mallory"), "", http.StatusNotFound)
	native(alice, "?dryRun=All", http.StatusOK)
	native(alice, "", http.StatusOK)
	poll.Until(t, within, "the timeline has the write by the native API, and no other", func(ctx context.Context) error {
		now, err := written(ctx)
		if err == nil && (len(now) != len(before)+2 || now[0] != "PATCH alice through the native API") {
			err = fmt.Errorf("it had %q, and has %q", before, now)
		}
		return err
	})
}
