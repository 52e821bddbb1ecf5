package writes

import (
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// Who may not see an instance learns from no mutation that it exists, and who may
// only read it can change nothing by any. The mutations are taken from the schema,
// so that one that is added to it is tried too.
func TestEveryMutationIsRefusedToOthers(t *testing.T) {
	f := fleet.Open(t)
	s := schema.Load()
	count := 0
	for _, m := range s.Mutation.Fields {
		if strings.HasPrefix(m.Name, "__") {
			continue
		}
		count++
		input := s.Types[m.Arguments.ForName("input").Type.Name()]
		if input.Fields.ForName("instance") == nil {
			continue // It is about several instances; a test of its own says what others may.
		}
		t.Run(m.Name, func(t *testing.T) {
			selection := "__typename"
			if m.Name == "applyManifests" || m.Name == "deployApplication" {
				selection = "results { error { code } }" // Each object is refused for itself.
			}
			query := "mutation($input: " + input.Name + "!) { " + m.Name + "(input: $input) { " + selection + " } }"
			ask := func(who, instance string) gql.Error {
				given := schema.Least(s, input, "billing")
				given["instance"] = instance
				r := gql.New(f.KairshipURL, f.Token(t, who)).Must(t, gql.Request{Query: query, Variables: map[string]any{"input": given}})
				if len(r.Errors) == 0 && strings.Contains(string(r.Data), `{"results":[{"error":{"code":"FORBIDDEN"}}]}`) {
					refused := gql.Error{}
					refused.Extensions.Code = "FORBIDDEN"
					return refused
				}
				if len(r.Errors) != 1 {
					t.Fatalf("%s was not refused: %s", who, r.Body)
				}
				return r.Errors[0]
			}
			want := "NOT_FOUND"
			if m.Name == "registerInstance" || m.Name == "createInstance" {
				want = "FORBIDDEN" // There need be no such instance.
			}
			for _, who := range []string{"bob", "mallory"} {
				hidden, missing := ask(who, "alpha"), ask(who, "aleph")
				if hidden.Extensions.Code != want || hidden.Extensions.Argument != "input.instance" {
					t.Errorf("%s may not know of alpha: %v", who, hidden)
				}
				if strings.ReplaceAll(hidden.String(), "alpha", "aleph") != missing.String() {
					t.Errorf("%s can tell an instance that is hidden from one that is missing: %v, %v", who, hidden, missing)
				}
			}
			if e := ask("bob", "beta"); e.Extensions.Code != "FORBIDDEN" {
				t.Errorf("bob may only read beta: %v", e)
			}
			if !t.Failed() {
				tried(m.Name, wrongUser)
			}
		})
	}
	if count < 12 {
		t.Errorf("only %d mutations were tried", count)
	}
}
