package suite

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// The shapes that Relay asks for are tested where the schema is (graph/resolvers);
// here are the promises behind them.

// TestEveryCursorLeadsOn reads a page of every list and goes on after each of its
// edges: what follows is what followed.
func TestEveryCursorLeadsOn(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.settled(t, on)
	for _, list := range schema.ObjectLists(theSchema) {
		t.Run(list.Key(), func(t *testing.T) {
			r := w.filterRoute(t, list)
			variables := map[string]any{"first": 6}
			if list.Field.Arguments.ForName("filter") != nil {
				ordered, _ := w.ordered(list)
				variables = with(ordered, "first", 6)
			}
			poll.Until(t, soon, "what follows a cursor is what followed it", func(ctx context.Context) error {
				whole, err := page(ctx, on.kairship, list, r, variables)
				if err != nil {
					return err
				}
				if len(whole.Edges) < 2 {
					return fmt.Errorf("the list has %d items: the test proves nothing", len(whole.Edges))
				}
				for i, e := range whole.Edges {
					rest, err := page(ctx, on.kairship, list, r, with(variables, "first", max(1, len(whole.Edges)-1-i), "after", e.Cursor))
					if err != nil {
						return err
					}
					if !rest.PageInfo.HasPreviousPage {
						return poll.Stop(fmt.Errorf("after edge %d nothing is said to have come before", i))
					}
					// A cursor says when it was given, so only the nodes are the same.
					want := whole.Nodes[i+1:]
					if len(want) == 0 {
						// The last one leads to the next page, if there is one.
						if (len(rest.Edges) > 0) != whole.PageInfo.HasNextPage {
							return fmt.Errorf("hasNextPage is %v, and after the last edge there are %d", whole.PageInfo.HasNextPage, len(rest.Edges))
						}
						continue
					}
					if diff := cmp.Diff(want, rest.Nodes); diff != "" {
						return fmt.Errorf("after edge %d (-followed +follows):\n%s", i, diff)
					}
				}
				return nil
			})
		})
	}
}

// nodesOfTheFleet are IDs of one object of each type that has them, as the
// administrator of a Kairship reads them, without those of some types.
func nodesOfTheFleet(t *testing.T, on *target, without ...string) map[string]string {
	t.Helper()
	w := theWorld(t)
	ids := map[string]string{}
	for _, def := range theSchema.GetPossibleTypes(theSchema.Types["Node"]) {
		if def.Kind != ast.Object || slices.Contains(without, def.Name) {
			continue
		}
		r := strings.ReplaceAll(nodeRoutes[def.Name], "suite-ID-", "suite-"+w.id+"-")
		poll.Until(t, soon, "there is a "+def.Name, func(ctx context.Context) error {
			o, err := innermost(ctx, on, "{ "+strings.Replace(r, "X", "{ __typename ... on Node { id } }", 1)+" }")
			if err == nil {
				ids[def.Name] = o["id"].(string)
			}
			return err
		})
	}
	return ids
}

// TestIDsAreOpaqueAndStable reads the IDs of objects of all types from two servers.
func TestIDsAreOpaqueAndStable(t *testing.T) {
	ids := nodesOfTheFleet(t, open(t))
	another, _ := behind(t)
	same := maps.Clone(ids)
	delete(same, "CustomWorkload") // The other one has no database of the index.
	if diff := cmp.Diff(same, nodesOfTheFleet(t, another, "CustomWorkload")); diff != "" {
		t.Errorf("-one server +another:\n%s", diff)
	}
	words := regexp.MustCompile(`(?i)alpha|shop|frontend|deployment|instance|cluster|policy`)
	for typ, id := range ids {
		if found := words.FindString(id); found != "" {
			t.Errorf("the ID of a %s shows %q: %s", typ, found, id)
		}
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{8,}$`).MatchString(id) {
			t.Errorf("the ID of a %s can't be put into a URL as it is: %s", typ, id)
		}
	}
}

// TestForeignIDsLookLikeMissingOnes asks for an object of each type as those who may
// not see it: the answer is that for an object that there is none of, byte by byte,
// and so is that for an object of an instance that there is none of.
func TestForeignIDsLookLikeMissingOnes(t *testing.T) {
	on := open(t)
	for typ, id := range nodesOfTheFleet(t, on) {
		parsed, err := nodeid.Parse(id)
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		gone := slices.Clone(parsed.Parts)
		gone[len(gone)-1] += "-gone"
		nowhere := slices.Clone(parsed.Parts)
		nowhere[0] += "-gone"
		for _, person := range []string{"bob", "mallory"} {
			c := on.as(t, person)
			ask := func(id string) string {
				r := c.Must(t, gql.Request{Query: `query($id: ID!) { node(id: $id) { __typename id } }`, Variables: map[string]any{"id": id}, Accept: gql.Response})
				return fmt.Sprintf("HTTP %d %s", r.Status, changing.ReplaceAll(r.Body, nil))
			}
			hidden := ask(id)
			if !strings.Contains(hidden, `"data":{"node":null}`) || strings.Contains(hidden, "errors") {
				t.Errorf("%s, %s: %s", person, typ, hidden)
			}
			for what, missing := range map[string][]string{"another name": gone, "another instance": nowhere} {
				if diff := cmp.Diff(hidden, ask(nodeid.New(parsed.Type, missing...))); diff != "" {
					t.Errorf("%s can tell a hidden %s from %s (-hidden +missing):\n%s", person, typ, what, diff)
				}
			}
		}
	}
}

// TestWhatIsNoIDIsRefusedAlike sends what no server ever gave, made of IDs of all
// types: the refusal is the same for everybody, whatever it was made of.
func TestWhatIsNoIDIsRefusedAlike(t *testing.T) {
	on := open(t)
	type refusal struct{ Code, Argument, Message string }
	var first *refusal
	for typ, id := range nodesOfTheFleet(t, on) {
		inside, err := base64.RawURLEncoding.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		for what, wrong := range map[string]string{
			"cut off":         id[:len(id)-3],
			"doubled":         id + id,
			"mistyped":        strings.Map(func(r rune) rune { return map[bool]rune{true: r ^ 1, false: r}[r == rune(id[5])] }, id),
			"taken apart":     string(inside[1:]),
			"another's way":   base64.StdEncoding.EncodeToString([]byte(typ + ":1")),
			"without a check": base64.RawURLEncoding.EncodeToString(inside[1:]),
		} {
			for _, person := range []string{"admin", "mallory"} {
				r := on.as(t, person).Must(t, gql.Request{Query: `query($id: ID!) { node(id: $id) { id } }`, Variables: map[string]any{"id": wrong}})
				if len(r.Errors) != 1 || string(r.Data) != `{"node":null}` {
					t.Errorf("%s, %s %s: %s", person, typ, what, r.Body)
					continue
				}
				e := r.Errors[0]
				got := &refusal{e.Extensions.Code, e.Extensions.Argument, e.Message}
				if first == nil {
					first = got
				}
				if diff := cmp.Diff(first, got); diff != "" {
					t.Errorf("%s, %s %s: refused in another way:\n%s", person, typ, what, diff)
				}
			}
		}
	}
	if first == nil || first.Code != "INVALID" || first.Argument != "id" {
		t.Errorf("refused as %+v, want INVALID of id", first)
	}
}
