package cost_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/graph/generated"
)

func kairship() *ast.Schema { return generated.NewExecutableSchema(generated.Config{}).Schema() }

// A list without a price would be one that may be nested for free.
func TestEveryListHasAPrice(t *testing.T) {
	for _, problem := range cost.Problems(kairship(), cost.Prices()) {
		t.Errorf("%s: see prices.go", problem)
	}
}

func TestProblemsAreFound(t *testing.T) {
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: `
		type Query { things(first: Int): ThingConnection! thing(name: String): Thing priced(ids: [ID!]!): [Thing!]! }
		type ThingConnection { nodes: [Thing!]! }
		type Thing { name: String! parts: ThingConnection! }`})
	got := cost.Problems(schema, map[string]cost.Price{
		"Query.priced": {CountedBy: "keys"}, "Thing.gone": {}, "Nobody.here": {},
	})
	want := []string{
		"Nobody.here has a price and does not exist",
		"Query.priced is counted by \"keys\", which is no argument of it",
		"Query.thing has no price", "Query.things has no price",
		"Thing.gone has a price and does not exist", "Thing.parts has no price",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// operation is the only one of a valid document.
func operation(t testing.TB, schema *ast.Schema, document string) *ast.OperationDefinition {
	t.Helper()
	doc, errs := gqlparser.LoadQueryWithRules(schema, document, rules.NewDefaultRules())
	if errs != nil {
		t.Fatalf("%s: %v", document, errs)
	}
	return doc.Operations[0]
}

func TestBill(t *testing.T) {
	schema := kairship()
	table := cost.NewTable(schema, cost.Prices())
	for _, tt := range []struct {
		name             string
		document         string
		variables        map[string]any
		values, requests int
		why              string
	}{
		{"a value", `{viewer{username}}`, nil, 2, 0, "one object and one value"},
		{"a page unless told", `{instances{nodes{name}}}`, nil, 1 + 50*2, 0, "50 is what a page has"},
		{"a page of some size", `{instances(first:7){nodes{name}}}`, nil, 1 + 7*2, 0, "as many as were asked for"},
		{"a page by a variable", `query($n:Int){instances(first:$n){nodes{name}}}`, map[string]any{"n": int64(9)}, 1 + 9*2, 0, "variables count as what they are"},
		{"a page by a variable that is missing", `query($n:Int){instances(first:$n){nodes{name}}}`, nil, 1 + 50*2, 0, "as if it had not been given"},
		{"a page by a default", `query($n:Int=3){instances(first:$n){nodes{name}}}`, map[string]any{"n": int64(3)}, 1 + 3*2, 0, "the server fills it in"},
		{"more than a page may have", `{instances(first:100000){nodes{name}}}`, nil, 1 + 500*2, 0, "the list itself refuses it, and says which argument is wrong"},
		{"beside the page", `{instances{totalCount pageInfo{hasNextPage}}}`, nil, 4, 0, "what is not on each item costs once"},
		{"edges too", `{instances(first:2){nodes{name} edges{cursor node{name}}}}`, nil, 1 + 2*2 + 2*(2+2), 0, "both are written"},
		{"lists in lists", `{instances(first:10){nodes{workloads(first:20){nodes{name}}}}}`, nil, 1 + 10*(1+1+20*2), 1, "multiplied, and read in one request"},
		{"any kind", `{instances(first:10){nodes{resources(version:"v1",resource:"x",first:20){nodes{name}}}}}`, nil, 1 + 10*(1+100+20*2), 1, "each instance may have to be asked by itself"},
		{"a list without pages", `{instance(name:"a"){labels{key value}}}`, nil, 1 + 5*3, 0, "what is usual"},
		{"an interface's price", `{instance(name:"a"){workload(kind:JOB,namespace:"n",name:"w"){... on Job{yaml}}}}`, nil, 1 + 1 + 20, 1, "holds for the types that have it"},
		{"filters", `query($n:[String!]){instances(first:1,filter:{name:$n}){nodes{name}}}`, map[string]any{"n": []any{"a", "b", "c"}}, 3 + 1 + 2, 0, "every name is compared"},
		{"fragments", `{a:instances(first:2){...F} b:instances(first:4){...F}} fragment F on InstanceConnection{nodes{name}}`, nil, 1 + 2*2 + 1 + 4*2, 0, "one fragment costs what the page that it is on has"},
		{"entities", `query($r:[_Any!]!){_entities(representations:$r){... on Instance{name alias}}}`, map[string]any{"r": []any{1, 2, 3}}, 3 + 3*3, 4, "as many as are asked for"},
		{"the name of a type", `{__typename}`, nil, 1, 0, "a value like any other"},
		{"a write", `mutation{deleteNamespace(input:{instance:"a",name:"n"}){consistencyToken}}`, nil, 2, 3, "permission, dry run and write"},
		{"a stream", `subscription{instanceChanged{instance{name}}}`, nil, 1 + 1 + 1, 1, "what one event costs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := table.Of(operation(t, schema, tt.document), tt.variables)
			want := cost.Bill{Cost: tt.values + tt.requests*cost.RequestCost, Values: tt.values, Requests: tt.requests}
			if got != want {
				t.Errorf("got %+v, want %+v: %s", got, want, tt.why)
			}
		})
	}
}

// Each fragment spreads the next one twice: writing them out never ends.
func TestBillOfFragmentsThatDouble(t *testing.T) {
	schema := kairship()
	var b strings.Builder
	const n = 80
	b.WriteString("{...F0}")
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on Query{...F%d ... on Query{...F%d}}", i, i+1, i+1)
	}
	fmt.Fprintf(&b, " fragment F%d on Query{viewer{username}}", n)
	// Validation writes them out, which limits of the server keep from it.
	doc, err := gqlparser.LoadQueryWithRules(schema, b.String(), rules.NewRules())
	if err != nil {
		t.Fatal(err)
	}
	if got := cost.NewTable(schema, cost.Prices()).Of(doc.Operations[0], nil); got.Values != math.MaxInt {
		t.Errorf("2^%d values cost %d", n, got.Values)
	}
}

func TestMostExpensive(t *testing.T) {
	schema := kairship()
	table := cost.NewTable(schema, cost.Prices())
	op := operation(t, schema, `{
		all: instances(first: 100) { nodes { name secret: alias workloads(first: 10) { nodes { ...W } } } }
	} fragment W on Workload { name namespace placements { clusterName object { uid } } }`)
	want := []cost.Line{
		{"instances.workloads.placements", 100*10*3*(2+1) + 300},
		{"instances.workloads.placements.object", 100*10*3*2 + 100},
		{"instances.workloads", 100 + 100*10*3 + 100},
	}
	if d := cmp.Diff(want, table.MostExpensive(op, nil, 3)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	all, sum := table.MostExpensive(op, nil, 100), 0
	for _, line := range all {
		sum += line.Cost
	}
	if bill := table.Of(op, nil); sum != bill.Cost {
		t.Errorf("the lines make %d, the bill %d", sum, bill.Cost)
	}
}
