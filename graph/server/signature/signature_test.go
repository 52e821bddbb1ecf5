package signature_test

import (
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/kairship-io/kairship/graph/server/signature"
)

var schema = gqlparser.MustLoadSchema(&ast.Source{Input: `
	input Filter { name: String tags: [String!] }
	type Thing { name(prefix: String): String things(first: Int, filter: Filter): [Thing!] }
	type Query { things(first: Int, filter: Filter): [Thing!] }`})

func operation(t *testing.T, text string) *ast.OperationDefinition {
	t.Helper()
	document, errs := gqlparser.LoadQueryWithRules(schema, text, rules.NewDefaultRules())
	if errs != nil {
		t.Fatal(errs)
	}
	return document.Operations[0]
}

func TestOf(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"literals are removed", `{ things(first: 3, filter: {name: "hunter2", tags: ["hunter2"]}) { name(prefix: """hunter2""") } }`, `query{things(first,filter){name(prefix)}}`},
		{"so are defaults", `query Q($n: String = "hunter2") { things(filter: {name: $n}) { name } }`, `query($n:String){things(filter){name}}`},
		{"aliases", `{ hunter2: things { hunter2: name } }`, `query{things{name}}`},
		{"comments", "{ # hunter2\n things { name } }", `query{things{name}}`},
		{"arguments of directives", `{ things @skip(if: false) { ... on Thing @include(if: true) { name } } }`, `query{things@skip(if){...on Thing@include(if){name}}}`},
		{
			"a fragment is written once", `{ things { ...F things { ...F } } } fragment F on Thing { name(prefix: "hunter2") }`,
			`query{things{...F things{...F}}} fragment F on Thing{name(prefix)}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := signature.Of(operation(t, tt.text), 1000)
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if strings.Contains(got, "hunter2") {
				t.Errorf("a value is left: %s", got)
			}
		})
	}
}

func TestOfSameShapeIsSame(t *testing.T) {
	a := signature.Of(operation(t, `query A { x: things(first: 1) { name } }`), 1000)
	b := signature.Of(operation(t, `query B { things(first: 2) { y: name } }`), 1000)
	if a != b || signature.Hash(a) != signature.Hash(b) {
		t.Errorf("%s and %s", a, b)
	}
	if c := signature.Of(operation(t, `{ things { name } }`), 1000); signature.Hash(c) == signature.Hash(a) {
		t.Error("another operation has the same hash")
	}
}

// TestBounded: fragments that spread each other do not multiply, and the text ends.
func TestBounded(t *testing.T) {
	if got := signature.Of(operation(t, `{ `+strings.Repeat("things { name } ", 100)+`}`), 64); len(got) > 64+len("…") {
		t.Errorf("%d bytes", len(got))
	}
}
