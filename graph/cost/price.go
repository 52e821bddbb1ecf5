package cost

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/fleet/page"
)

// RequestCost is what a request to the index, to an instance or to the global
// cluster costs, in values of the answer.
const RequestCost = 100

// usualItems is how many items a list is taken to have that has no price and no
// argument `first`: labels, conditions, images.
const usualItems = 5

// Price is what a field costs beyond 1 for each object that it is selected on. Its
// zero value is the price of a field that is read with its object.
type Price struct {
	// Requests is the number of upstream requests of the field for all objects of a list.
	Requests int
	// Items is how many items a list is taken to have where the operation does not say.
	Items int
	// CountedBy is the argument whose length is the number of items.
	CountedBy string
	// Value is what the field itself costs for each object; 1 where zero.
	Value int
}

// Table is what the fields of a schema cost.
type Table struct {
	prices map[field]Price
}

// field is a field of a type.
type field struct{ object, name string }

// NewTable makes the table of a schema. Keys are Type.field; the price of an
// interface's field holds for all types that implement it and have none of their
// own. Prices of what the schema does not have are of no use and no harm; see
// Problems.
func NewTable(schema *ast.Schema, prices map[string]Price) *Table {
	t := &Table{prices: map[field]Price{}}
	own := map[field]bool{}
	for key, price := range prices {
		f := fieldOf(key)
		t.prices[f], own[f] = price, true
	}
	for key, price := range prices {
		f := fieldOf(key)
		def := schema.Types[f.object]
		if def == nil || def.Kind != ast.Interface {
			continue
		}
		for _, possible := range schema.GetPossibleTypes(def) {
			if of := (field{possible.Name, f.name}); !own[of] {
				t.prices[of] = price
			}
		}
	}
	return t
}

func fieldOf(key string) field {
	object, name, _ := strings.Cut(key, ".")
	return field{object, name}
}

func isConnection(t *ast.Type) bool {
	return t.Elem == nil && strings.HasSuffix(t.NamedType, "Connection")
}

// items is how many items the field's list has, at most or usually; 1 where it is none.
func (p Price) items(f *ast.Field, args map[string]any) int {
	if p.CountedBy != "" {
		list, ok := args[p.CountedBy].([]any)
		if !ok {
			return 1
		}
		return len(list)
	}
	if !isConnection(f.Definition.Type) && f.Definition.Type.Elem == nil {
		return 1
	}
	if n, ok := wholeNumber(args["first"]); ok {
		// The list itself refuses requests for more, with a better message.
		return int(min(max(n, 0), page.MaxSize))
	}
	switch {
	case p.Items > 0:
		return p.Items
	case isConnection(f.Definition.Type):
		return page.DefaultSize
	}
	return usualItems
}

func (p Price) value() int { return max(p.Value, 1) }
