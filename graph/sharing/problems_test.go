package sharing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Problems returns what is wrong with both lists for a schema: fields of queries that are
// in neither list or in both, and entries without a field.
func Problems(schema *ast.Schema, shared, alone Fields) []string {
	var problems []string
	lists := map[string]*Table{"shared": NewTable(schema, shared), "alone": NewTable(schema, alone)}
	for _, def := range readable(schema) {
		for _, f := range def.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			at := field{def.Name, f.Name}
			switch a, b := lists["shared"].shared[at], lists["alone"].shared[at]; {
			case a && b:
				problems = append(problems, fmt.Sprintf("%s.%s is in both lists", at.object, at.name))
			case !a && !b:
				problems = append(problems, fmt.Sprintf("%s.%s is in no list", at.object, at.name))
			}
		}
	}
	for _, list := range []Fields{shared, alone} {
		for name, fields := range list {
			for f := range strings.FieldsSeq(fields) {
				if def := schema.Types[name]; def == nil || def.Fields.ForName(f) == nil {
					problems = append(problems, fmt.Sprintf("%s.%s is listed and does not exist", name, f))
				}
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// readable returns the types that a query can select from.
func readable(schema *ast.Schema) []*ast.Definition {
	var all []*ast.Definition
	var see func(name string)
	see = func(name string) {
		def := schema.Types[name]
		if def == nil || strings.HasPrefix(name, "__") || !def.IsCompositeType() || slices.Contains(all, def) {
			return
		}
		all = append(all, def)
		for _, possible := range schema.GetPossibleTypes(def) {
			see(possible.Name)
		}
		for _, name := range def.Interfaces {
			see(name)
		}
		for _, f := range def.Fields {
			see(f.Type.Name())
		}
	}
	see(schema.Query.Name)
	return all
}
