// Package sharing lists the fields that have the same answer for all users with equal grants,
// so that equal queries may share one answer. A field that is not listed is not shared: a
// query that selects it is executed for each request.
package sharing

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Fields are names of fields, separated by spaces, by their type. Those of an interface
// hold for all types that implement it.
type Fields map[string]string

// Table is what may be shared of a schema.
type Table struct {
	shared map[field]bool
}

type field struct{ object, name string }

// NewTable makes the table of a schema.
func NewTable(schema *ast.Schema, shared Fields) *Table {
	t := &Table{shared: map[field]bool{}}
	for name, list := range shared {
		for f := range strings.FieldsSeq(list) {
			t.shared[field{name, f}] = true
			for _, def := range schema.Types {
				if slices.Contains(def.Interfaces, name) {
					t.shared[field{def.Name, f}] = true
				}
			}
		}
	}
	return t
}

// Allows reports whether equal queries may share the answer of an operation of a valid
// document: it is a query, and each of its fields is shared.
func (t *Table) Allows(op *ast.OperationDefinition) bool {
	return op.Operation == ast.Query && t.selections(op.SelectionSet, map[string]bool{})
}

// selections looks at each fragment once, however often it is spread.
func (t *Table) selections(set ast.SelectionSet, seen map[string]bool) bool {
	for _, sel := range set {
		ok := false
		switch sel := sel.(type) {
		case *ast.Field:
			ok = t.field(sel) && t.selections(sel.SelectionSet, seen)
		case *ast.InlineFragment:
			ok = t.selections(sel.SelectionSet, seen)
		case *ast.FragmentSpread:
			if ok = seen[sel.Name]; !ok && sel.Definition != nil {
				seen[sel.Name] = true
				ok = t.selections(sel.Definition.SelectionSet, seen)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

func (t *Table) field(f *ast.Field) bool {
	return f.Name == "__typename" || f.ObjectDefinition != nil && t.shared[field{f.ObjectDefinition.Name, f.Name}]
}
