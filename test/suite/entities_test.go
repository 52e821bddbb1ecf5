package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// representation is what a router sends for an entity.
type representation map[string]any

// literal writes it into a document.
func (r representation) literal() string { return literalOf(map[string]any(r)) }

func literalOf(v any) string {
	fields, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprintf("%q", v)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		all = append(all, name+": "+literalOf(fields[name]))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// entityTypes are the types that other subgraphs may refer to.
func entityTypes() []string { return slices.Sorted(slices.Values(theSchema.Types["_Entity"].Types)) }

// isA reports whether a type implements an interface.
func isA(typ, of string) bool { return slices.Contains(theSchema.Types[typ].Interfaces, of) }

// namedBy is an object as the router sends it that knows it by names. The parts are
// those of its ID, as in nodeMatrix.
func namedBy(typ string, parts []string) representation {
	in := map[string]any{"name": parts[0]}
	switch {
	case len(parts) == 1:
		return representation{"__typename": typ, "name": parts[0]}
	case len(parts) == 2:
		return representation{"__typename": typ, "instance": in, "name": parts[1]}
	case typ == "CustomWorkload":
		return representation{"__typename": typ, "instance": in, "customKind": parts[1], "namespace": parts[2], "name": parts[3]}
	case isA(typ, "Workload"):
		return representation{"__typename": typ, "instance": in, "namespace": parts[2], "name": parts[3]}
	case parts[1] == "":
		return representation{"__typename": typ, "instance": in, "name": parts[2]}
	}
	return representation{"__typename": typ, "instance": in, "namespace": parts[1], "name": parts[2]}
}

// waysTo are the representations of an object: by each of its keys, and as what it
// is to subgraphs that know an interface of it.
func waysTo(typ string, parts []string) []representation {
	named := namedBy(typ, parts)
	ways := []representation{named, {"__typename": typ, "id": nodeIDOf(typ, parts)}}
	switch {
	case typ == "CustomWorkload": // The kind of the interface's key is CUSTOM, which names no entity.
		ways = append(ways, representation{"__typename": "Workload", "id": nodeIDOf(typ, parts)})
	case isA(typ, "Workload"):
		kind := maps.Clone(named)
		kind["kind"] = parts[1]
		shared := maps.Clone(kind)
		shared["__typename"] = "Workload"
		ways = append(ways, kind, shared, representation{"__typename": "Workload", "id": nodeIDOf(typ, parts)})
	case isA(typ, "Policy"):
		ways = append(ways, representation{"__typename": "Policy", "id": nodeIDOf(typ, parts)})
	}
	return ways
}

// entityQuestions asks for every object of the matrix that is an entity, in every way.
func entityQuestions() []question {
	var all []question
	for typ, rows := range nodeMatrix {
		if !slices.Contains(entityTypes(), typ) {
			continue
		}
		for _, row := range rows {
			for _, way := range waysTo(typ, row.parts) {
				text := way.literal()
				query := "{ " + entities("__typename ... on "+typ+" { id }", way) + " }"
				all = append(all, question{"entity " + text, query, row.want})
			}
		}
	}
	return all
}

// TestEveryEntityIsItsObject reads an object of every type with a key by its place in
// the schema, and as an entity by each of its keys: all must be the same object.
func TestEveryEntityIsItsObject(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	for _, typ := range entityTypes() {
		t.Run(typ, func(t *testing.T) {
			way := strings.ReplaceAll(nodeRoutes[typ], "suite-ID-", "suite-"+w.id+"-")
			fields := schema.Selection(theSchema, typ, 1)
			asked := 0
			poll.Until(t, soon, "all are the same", func(ctx context.Context) error {
				named := naming(typ)
				want, err := innermost(ctx, on, "{ "+strings.Replace(way, "X", "{ __typename ... on "+typ+" { "+strings.Trim(named, "{} ")+closing(named)+" ... on "+typ+" "+fields+" } }", 1)+" }")
				if err != nil {
					return err
				}
				parts := partsOf(typ, want)
				delete(want, "instance")
				asked = 0
				for _, one := range waysTo(typ, parts) {
					asked++
					got, err := entity(ctx, on.kairship, one, "__typename ... on "+typ+" "+fields)
					if err != nil {
						return err
					}
					if diff := cmp.Diff(want, got); diff != "" {
						return fmt.Errorf("%s\n-by its place +as an entity:\n%s", one.literal(), diff)
					}
				}
				return nil
			})
			if asked < 2 {
				t.Errorf("it was looked for in %d ways", asked)
			}
		})
	}
}

// closing is the brace that Trim took from a selection that ends with another one.
func closing(selection string) string { return strings.Repeat("}", strings.Count(selection, "{")-1) }

// partsOf are the parts of the ID of an object.
func partsOf(typ string, o map[string]any) []string {
	text := func(field string) string { s, _ := o[field].(string); return s }
	var parts []string
	if in, ok := o["instance"].(map[string]any); ok {
		parts = append(parts, in["name"].(string))
	}
	switch {
	case typ == "CustomWorkload":
		parts = append(parts, text("customKind"), text("namespace"))
	case isA(typ, "Workload"):
		parts = append(parts, text("kind"), text("namespace"))
	case isA(typ, "Policy"):
		parts = append(parts, text("namespace"))
	}
	return append(parts, text("name"))
}

// entity reads one entity.
func entity(ctx context.Context, c *gql.Client, one representation, selection string) (map[string]any, error) {
	data, _, err := gql.Query[struct {
		Entities []map[string]any `json:"_entities"`
	}](ctx, c, entitiesQuery(selection), map[string]any{"representations": []representation{one}})
	if err != nil {
		return nil, err
	}
	if len(data.Entities) != 1 || data.Entities[0] == nil {
		return nil, fmt.Errorf("%s is not found: %v", one.literal(), data.Entities)
	}
	return data.Entities[0], nil
}

// entitiesQuery asks as routers do.
func entitiesQuery(selection string) string {
	return "query($representations: [_Any!]!) { _entities(representations: $representations) { " + selection + " } }"
}

// entities is the field with some representations written out.
func entities(selection string, all ...representation) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = one.literal()
	}
	return fmt.Sprintf("_entities(representations: [%s]) { %s }", strings.Join(texts, ", "), selection)
}

// TestEntitiesCostTheSameAtOneAndAtFifty counts the requests for entities of every
// type of which there are fifty, with every field of theirs; by ID, by names, and as
// what they are to subgraphs that know an interface of them.
func TestEntitiesCostTheSameAtOneAndAtFifty(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.propagated(t, on)
	counted := map[string]bool{}
	for _, list := range schema.Lists(theSchema) {
		if theSchema.Types[list.Node].Directives.ForName("key") == nil || counted[list.Node] {
			continue
		}
		counted[list.Node] = true
		t.Run(list.Node, func(t *testing.T) {
			r := w.routeTo(t, list)
			variables := w.fiftyOf(list)
			w.waitForFifty(t, on, list, r, variables)
			typ, ways := list.Node, fiftyWays(t, on, list, r, with(variables, "first", fifty))
			query := entitiesQuery("__typename ... on " + typ + " " + schema.Selection(theSchema, typ, everyField))
			for i, all := range ways {
				data, _ := gql.MustQuery[struct {
					Entities []*struct{ ID string } `json:"_entities"`
				}](t, on.kairship, entitiesQuery("... on "+typ+" { id }"), map[string]any{"representations": all})
				if len(data.Entities) != fifty || slices.Contains(data.Entities, nil) {
					t.Errorf("%d were asked for, and not all found: %v", fifty, data.Entities)
				}
				if i > 0 && i < len(ways)-1 {
					continue // By names and, where there is one, as the interface: the others are between.
				}
				one := warmCost(t, on.kairship, query, map[string]any{"representations": all[:1]})
				many := warmCostUpTo(t, on.kairship, one, query, map[string]any{"representations": all})
				t.Logf("%d requests for one, %d for fifty like %s", one, many, all[0].literal())
				if many > one {
					t.Errorf("entities like %s cost %d requests at one and %d at fifty", all[0].literal(), one, many)
				}
			}
		})
	}
	if len(counted) < 8 {
		t.Errorf("only entities of %d types were counted", len(counted))
	}
}

// fiftyWays are representations of the items of a list, in every way: fifty each.
func fiftyWays(t *testing.T, on *target, list schema.List, r route, variables map[string]any) [][]representation {
	t.Helper()
	named := naming(list.Node)
	c, err := pageOf(t.Context(), on.kairship, r.query(list, "{ nodes "+strings.Replace(named, "{", "{ __typename", 1)+" }"), append(slices.Clone(r.path), list.Field.Name), variables)
	if err != nil {
		t.Fatal(err)
	}
	var ways [][]representation
	for _, raw := range c.Nodes {
		var o map[string]any
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		typ := o["__typename"].(string)
		for i, way := range waysTo(typ, partsOf(typ, o)) {
			if i == len(ways) {
				ways = append(ways, nil)
			}
			ways[i] = append(ways[i], way)
		}
	}
	return ways
}

// TestEntitiesOfAllTypesTogether asks for what a router may need at once: it costs no
// more than asking for each type separately, and the answers are in order.
func TestEntitiesOfAllTypesTogether(t *testing.T) {
	on := open(t)
	var all []representation
	var want []string
	for _, typ := range entityTypes() {
		for _, row := range nodeMatrix[typ] {
			all = append(all, waysTo(typ, row.parts)...)
			for range waysTo(typ, row.parts) {
				if row.want.admin == "null" {
					want = append(want, "null")
				} else {
					want = append(want, typ)
				}
			}
		}
	}
	slices.Reverse(all)
	slices.Reverse(want)
	r := on.kairship.Must(t, gql.Request{Query: entitiesQuery("__typename"), Variables: map[string]any{"representations": all}})
	if got := summaryOf(t, r); got != strings.Join(want, " ") {
		t.Errorf("got  %s\nwant %s", got, strings.Join(want, " "))
	}
	// The clusters and the instances are at hand; each other type may cost one.
	if most := len(entityTypes()) - 2; requests(t, r) > most {
		t.Errorf("%d representations cost %d requests, want at most %d", len(all), requests(t, r), most)
	}
}

// TestRepresentationsThatAreWrong: each is refused at its place, and costs the others nothing.
func TestRepresentationsThatAreWrong(t *testing.T) {
	on := open(t)
	right := representation{"__typename": "Instance", "name": "alpha"}
	for _, tt := range []struct {
		wrong    any
		argument string
	}{
		{map[string]any{}, "representations[1].__typename"},
		{map[string]any{"__typename": "Viewer", "username": "admin"}, "representations[1].__typename"},
		{map[string]any{"__typename": "Instance"}, "representations[1].name"},
		{map[string]any{"__typename": "Instance", "name": map[string]any{"name": "alpha"}}, "representations[1].name"},
		{map[string]any{"__typename": "Deployment", "instance": "alpha", "namespace": "shop", "name": "frontend"}, "representations[1].instance.name"},
		{map[string]any{"__typename": "Deployment", "id": nodeIDOf("Instance", []string{"alpha"})}, "representations[1].id"},
		{"alpha", "representations[1]"},
		{7, "representations[1]"},
		{[]any{right}, "representations[1]"},
	} {
		r := on.kairship.Must(t, gql.Request{
			Query: entitiesQuery("... on Instance { name }"), Variables: map[string]any{"representations": []any{right, tt.wrong, right}},
		})
		const others = `{"_entities":[{"name":"alpha"},null,{"name":"alpha"}]}`
		if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "INVALID" || r.Errors[0].Extensions.Argument != tt.argument || fmt.Sprint(r.Errors[0].Path) != "[_entities 1]" || string(r.Data) != others {
			t.Errorf("%v: want %s to be INVALID, got %s", tt.wrong, tt.argument, r.Body)
		}
	}
	r := on.kairship.Must(t, gql.Request{Query: entitiesQuery("__typename"), Variables: map[string]any{"representations": slices.Repeat([]representation{right}, 1001)}})
	if r.Status != http.StatusOK || len(r.Errors) != 1 || !slices.Contains([]string{"INVALID", "QUERY_TOO_COMPLEX"}, r.Errors[0].Extensions.Code) {
		t.Errorf("1001 representations: HTTP %d %.300s", r.Status, r.Body)
	}
}

// TestSubgraphTellsThePublishedSchema compares what composition is told with the file
// that is published.
func TestSubgraphTellsThePublishedSchema(t *testing.T) {
	on := open(t)
	data, _, err := gql.Query[struct {
		Service struct{ SDL string } `json:"_service"`
	}](t.Context(), on.as(t, "mallory"), "{ _service { sdl } }", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document(t, "docs/schema.graphql"), data.Service.SDL); diff != "" {
		t.Errorf("-docs/schema.graphql +_service:\n%s", diff)
	}
	if !strings.Contains(data.Service.SDL, "specs.apollo.dev/federation/") {
		t.Error("it names no version of federation")
	}
}
