package sdl

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

func load(t *testing.T, text string) *ast.Schema {
	t.Helper()
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "test", Input: text})
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestPrintLeavesOutWhatIsInternal prints everything that a directive can stand at.
func TestPrintLeavesOutWhatIsInternal(t *testing.T) {
	got := Print(load(t, `
		directive @guard(by: Int!) on FIELD_DEFINITION | OBJECT | ARGUMENT_DEFINITION | ENUM_VALUE
		directive @live on FIELD
		type Query @guard(by: 1) { z: E @guard(by: 2) @deprecated(reason: "no") a(b: Int = 3 @guard(by: 3)): B }
		"Which one."
		enum E { ONE @guard(by: 4) }
		interface N { a: Int }
		interface M { a: Int }
		"What \"\"\" means."
		type B implements N & M { a: Int }
	`))
	want := header + `
directive @live on FIELD

type Query {
  z: E @deprecated(reason: "no")
  a(b: Int = 3): B
}

"""
What \""" means.
"""
type B implements M & N {
  a: Int
}

"Which one."
enum E {
  ONE
}

interface M {
  a: Int
}

interface N {
  a: Int
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPrintKeepsWhatASupergraphIsComposedOf prints what composition reads, and not
// what a router asks a subgraph by.
func TestPrintKeepsWhatASupergraphIsComposedOf(t *testing.T) {
	got := Print(load(t, `
		extend schema @link(url: "federation")
		directive @link(url: String!) repeatable on SCHEMA
		directive @key(fields: federation__FieldSet!) repeatable on OBJECT | INTERFACE
		scalar federation__FieldSet
		scalar _Any
		union _Entity = B
		type _Service { sdl: String! }
		type Query { b: B _entities(representations: [_Any!]!): [_Entity]! _service: _Service! }
		type B @key(fields: "id") @key(fields: "name") { id: ID! name: String! }
	`))
	want := header + `
extend schema @link(url: "federation")

directive @key(fields: federation__FieldSet!) repeatable on OBJECT | INTERFACE

directive @link(url: String!) repeatable on SCHEMA

type Query {
  b: B
}

type B @key(fields: "id") @key(fields: "name") {
  id: ID!
  name: String!
}

scalar federation__FieldSet
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
