package suite

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestEveryOperationIsAudited reads the lines of some operations in the log.
func TestEveryOperationIsAudited(t *testing.T) {
	on := open(t)
	const secret = "suite-0f1e2d3c4b5a"
	for _, tt := range []struct {
		person, query string
		variables     map[string]any
		want          map[string]any
	}{
		{"alice", `query Fleet { instances { nodes { name workloads { nodes { name } } } } }`, nil, map[string]any{
			"operation": "Fleet", "type": "query", "decision": "allowed", "instances": []any{"alpha"}, "instanceCount": 1.0,
		}},
		{"alice", `query Hidden($n: String!) { instance(name: $n) { name } }`, map[string]any{"n": "beta"}, map[string]any{
			"operation": "Hidden", "type": "query", "decision": "denied", "instances": []any{}, "instanceCount": 0.0, "refused": []any{"beta"},
		}},
		{"bob", `query Wrong($n: String!) { instance(name: $n) { name } }`, map[string]any{"n": secret}, map[string]any{
			"operation": "Wrong", "type": "query", "decision": "denied", "instances": []any{}, "instanceCount": 0.0,
		}},
		{"admin", `query Wrong($n: String!) { instance(name: $n) { name } }`, map[string]any{"n": secret}, map[string]any{
			"operation": "Wrong", "type": "query", "decision": "allowed", "instances": []any{}, "instanceCount": 0.0,
		}},
		{"mallory", `{ workloads { totalCount } }`, nil, map[string]any{
			"operation": "", "type": "query", "decision": "allowed", "instances": []any{}, "instanceCount": 0.0,
		}},
		{"bob", `query Node($id: ID!) { node(id: $id) { id } }`, map[string]any{"id": nodeid.New("Workload", "beta", "DEPLOYMENT", "billing", "api")}, map[string]any{
			"operation": "Node", "type": "query", "decision": "allowed", "instances": []any{"beta"}, "instanceCount": 1.0,
		}},
	} {
		r := on.as(t, tt.person).Must(t, gql.Request{Query: tt.query, Variables: tt.variables})
		tt.want["user"], tt.want["via"], tt.want["status"], tt.want["traceId"] = tt.person, "graphql", 200.0, r.TraceID
		tt.want["msg"], tt.want["level"], tt.want["outcome"] = "audit", "INFO", "ok"
		poll.Until(t, soon, "the line is written", func(context.Context) error {
			lines := slices.DeleteFunc(logLines(t, on.log), func(l map[string]any) bool { return l["traceId"] != r.TraceID })
			if len(lines) != 1 {
				return fmt.Errorf("%d lines", len(lines))
			}
			for _, changes := range []string{"time", "durationMs", "from"} {
				if lines[0][changes] == nil {
					return fmt.Errorf("the line has no %s", changes)
				}
				delete(lines[0], changes)
			}
			if diff := cmp.Diff(tt.want, lines[0]); diff != "" {
				return poll.Stop(fmt.Errorf("(-want +got):\n%s", diff))
			}
			return nil
		})
	}
	raw, err := os.ReadFile(on.log)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"the value of a variable": secret, "alice's token": on.fleet.Token(t, "alice")} {
		if strings.Contains(string(raw), text) {
			t.Errorf("the log has %s", what)
		}
	}
}
