package kubectl

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/kairship-io/kairship/api/v1"
	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// listed is an object of a list, as far as it names itself.
type listed struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	Image     string `json:"image"`
	Instance  struct {
		Name string `json:"name"`
	} `json:"instance"`
}

// TestGetEveryNoun lists each noun that the plugin knows as each person: the objects of the operation of the same name, or
// its refusal.
func TestGetEveryNoun(t *testing.T) {
	f := fleet.Open(t)
	operations, err := operation.Load(v1.Operations, schema.Load())
	if err != nil {
		t.Fatal(err)
	}
	_, names, _ := strings.Cut(run(t, f, "alice", "get", "none-such").failed, "there are ")
	names, _, _ = strings.Cut(names, ", and ")
	nouns := strings.Split(names, ", ")
	refusals, objects := 0, 0
	for _, noun := range nouns {
		at := slices.IndexFunc(operations, func(op *operation.Operation) bool { return strings.EqualFold(op.Name, "List"+noun) })
		if at < 0 {
			t.Errorf("there is no operation that lists %s", noun)
			continue
		}
		op := operations[at]
		instances := []string{""}
		if op.Definition.VariableDefinitions.ForName("instance") != nil {
			instances = f.Names(fleet.RoleInstance)
		}
		for _, person := range []string{"alice", "bob", "mallory"} {
			for _, instance := range instances {
				what := fmt.Sprintf("%s: get %s of %q", person, noun, instance)
				want, code := listOf(t, f, op, person, instance)
				args := []string{"get", noun, "-o", "json"}
				if instance != "" {
					args = append(args, "-i", instance)
				}
				got := run(t, f, person, args...)
				if code != "" {
					refusals++
					if got.code != 2 || !strings.Contains(got.failed, code) {
						t.Errorf("%s: %d: %s%s, and GraphQL refuses with %s", what, got.code, got.out, got.failed, code)
					}
					continue
				}
				var answer struct {
					Items []listed `json:"items"`
				}
				if err := json.Unmarshal([]byte(got.out), &answer); got.out != "" && err != nil || got.code != 0 {
					t.Errorf("%s: %d: %v: %s", what, got.code, err, got.failed)
					continue
				}
				objects += len(want)
				if diff := cmp.Diff(sorted(want), sorted(answer.Items)); diff != "" {
					t.Errorf("%s (-GraphQL +plugin):\n%s", what, diff)
				}
			}
		}
	}
	if len(nouns) < 15 || refusals < 20 || objects < 50 {
		t.Errorf("%d nouns were listed, with %d objects and %d refusals", len(nouns), objects, refusals)
	}
}

// listOf lists by GraphQL, to the end: in an instance, in each of its members where the list is one of a member. Without an
// answer it returns the code of the refusal.
func listOf(t *testing.T, f *fleet.Fleet, op *operation.Operation, person, instance string) (all []listed, code string) {
	t.Helper()
	given := []map[string]any{{}}
	if instance != "" {
		given[0]["instance"] = instance
	}
	if op.Definition.VariableDefinitions.ForName("cluster") != nil && op.InPath("cluster") {
		given = nil
		for _, cluster := range f.Members(instance) {
			given = append(given, map[string]any{"instance": instance, "cluster": cluster})
		}
	}
	for _, variables := range given {
		for more := true; more; {
			got := gql.New(f.KairshipURL, f.Token(t, person)).Must(t, gql.Request{Query: op.Document, Variables: variables})
			object := op.Unwrap(got.Data)
			switch {
			case object == nil && len(got.Errors) > 0:
				return nil, got.Errors[0].Extensions.Code
			case object == nil:
				return nil, "NOT_FOUND"
			}
			var page struct {
				Nodes    []listed `json:"nodes"`
				PageInfo struct {
					HasNextPage bool   `json:"hasNextPage"`
					EndCursor   string `json:"endCursor"`
				} `json:"pageInfo"`
			}
			if err := json.Unmarshal(object, &page); err != nil {
				t.Fatalf("%s: %v", op.Name, err)
			}
			all = append(all, page.Nodes...)
			variables["after"], more = page.PageInfo.EndCursor, page.PageInfo.HasNextPage
		}
	}
	return all, ""
}

// sorted are objects as text.
func sorted(all []listed) []string {
	texts := []string{}
	for _, o := range all {
		texts = append(texts, fmt.Sprint(o))
	}
	slices.Sort(texts)
	return texts
}
