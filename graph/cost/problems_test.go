package cost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Problems returns what is missing in the prices of a schema, and what is left over:
// every list that can be paged, every field of Query, Mutation and Subscription, and
// every field with arguments has a price, and every price a field.
func Problems(schema *ast.Schema, prices map[string]Price) []string {
	t := NewTable(schema, prices)
	var problems []string
	for name, def := range schema.Types {
		if def.BuiltIn || strings.HasPrefix(name, "__") || def.Kind != ast.Object && def.Kind != ast.Interface {
			continue
		}
		for _, f := range def.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			root := def == schema.Query || def == schema.Mutation || def == schema.Subscription
			_, priced := t.prices[field{name, f.Name}]
			if (isConnection(f.Type) || root || len(f.Arguments) > 0) && !priced {
				problems = append(problems, fmt.Sprintf("%s.%s has no price", name, f.Name))
			}
		}
	}
	for key, price := range prices {
		f := fieldOf(key)
		def := schema.Types[f.object]
		if def == nil || def.Fields.ForName(f.name) == nil {
			problems = append(problems, key+" has a price and does not exist")
			continue
		}
		if by := price.CountedBy; by != "" && def.Fields.ForName(f.name).Arguments.ForName(by) == nil {
			problems = append(problems, fmt.Sprintf("%s is counted by %q, which is no argument of it", key, by))
		}
	}
	slices.Sort(problems)
	return problems
}
