package sdl

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
)

// header begins the published file.
const header = `# The schema of Kairship's GraphQL API, as one file. "make generate" writes it from graph/schema.
`

// Print writes a schema as clients and supergraphs see it: without the directives
// that only the code generator and the server read, and without what a subgraph
// adds to answer its router. Types are in the order of their names, those that
// operations begin at first.
func Print(schema *ast.Schema) string {
	var b strings.Builder
	b.WriteString(header)
	if len(schema.SchemaDirectives) > 0 {
		// As an extension: the root types have the names that they have without one.
		printed(&b, &ast.SchemaDocument{SchemaExtension: ast.SchemaDefinitionList{{Directives: schema.SchemaDirectives}}})
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Directives)) {
		if d := schema.Directives[name]; !internal(d) && !builtIn(d.Position) {
			printed(&b, &ast.SchemaDocument{Directives: ast.DirectiveDefinitionList{d}})
		}
	}
	types := slices.SortedFunc(maps.Values(schema.Types), func(a, b *ast.Definition) int {
		return cmp.Or(cmp.Compare(rank(schema, a), rank(schema, b)), cmp.Compare(a.Name, b.Name))
	})
	for _, def := range types {
		if !def.BuiltIn && !plumbing(def.Name) {
			printed(&b, &ast.SchemaDocument{Definitions: ast.DefinitionList{public(schema, def)}})
		}
	}
	return description.ReplaceAllStringFunc(b.String(), func(text string) string {
		if one := oneLine.FindStringSubmatch(text); one != nil {
			return `"` + one[1] + `"`
		}
		return text
	})
}

// The formatter writes every description over three lines and more; most need one.
var (
	description = regexp.MustCompile(`(?s)"""\n.*?\n *"""`)
	oneLine     = regexp.MustCompile(`^"""\n *([^"\\\n]+)\n *"""$`)
)

// Document is a published file that was read.
type Document = ast.SchemaDocument

// Parse reads a published file.
func Parse(name, text string) (*Document, error) {
	return parser.ParseSchema(&ast.Source{Name: name, Input: text})
}

func printed(b *strings.Builder, doc *ast.SchemaDocument) {
	b.WriteByte('\n')
	formatter.NewFormatter(b, formatter.WithIndent("  ")).FormatSchemaDocument(doc)
}

// plumbing returns what a subgraph has for its router alone, by its name. What begins
// with two underscores is GraphQL's own.
func plumbing(name string) bool { return strings.HasPrefix(name, "_") }

func rank(schema *ast.Schema, def *ast.Definition) int {
	for i, root := range []*ast.Definition{schema.Query, schema.Mutation, schema.Subscription} {
		if root != nil && def.Name == root.Name {
			return i
		}
	}
	return 3
}

// internal reports whether a directive is only for the code generator or the server: no operation
// can use it, and it means nothing to clients and supergraphs.
func internal(d *ast.DirectiveDefinition) bool {
	if d == nil || builtIn(d.Position) {
		return false
	}
	if _, says := meanings[d.Name]; says {
		return false
	}
	return !slices.ContainsFunc(d.Locations, func(l ast.DirectiveLocation) bool {
		switch l {
		case ast.LocationQuery, ast.LocationMutation, ast.LocationSubscription, ast.LocationField,
			ast.LocationFragmentDefinition, ast.LocationFragmentSpread, ast.LocationInlineFragment, ast.LocationVariableDefinition:
			return true
		default:
			return false
		}
	})
}

func builtIn(at *ast.Position) bool { return at != nil && at.Src != nil && at.Src.BuiltIn }

// public is a type without internal directives. The schema's own stays as it is.
func public(schema *ast.Schema, def *ast.Definition) *ast.Definition {
	without := func(list ast.DirectiveList) ast.DirectiveList {
		return slices.DeleteFunc(slices.Clone(list), func(d *ast.Directive) bool { return internal(schema.Directives[d.Name]) })
	}
	clean := *def
	clean.Directives = without(def.Directives)
	clean.Interfaces = slices.Sorted(slices.Values(def.Interfaces))
	clean.Types = slices.Sorted(slices.Values(def.Types))
	clean.Fields = slices.DeleteFunc(slices.Clone(def.Fields), func(f *ast.FieldDefinition) bool { return plumbing(f.Name) })
	for i, f := range clean.Fields {
		field := *f
		field.Directives = without(f.Directives)
		field.Arguments = slices.Clone(f.Arguments)
		for j, a := range field.Arguments {
			argument := *a
			argument.Directives = without(a.Directives)
			field.Arguments[j] = &argument
		}
		clean.Fields[i] = &field
	}
	clean.EnumValues = slices.Clone(def.EnumValues)
	for i, v := range clean.EnumValues {
		value := *v
		value.Directives = without(v.Directives)
		clean.EnumValues[i] = &value
	}
	return &clean
}
