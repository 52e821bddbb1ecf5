package sdl

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// meaning is what it means that a directive comes to something that clients and
// supergraphs know, and that it goes.
type meaning struct{ comes, goes Severity }

// meanings has the directives that say something to others: GraphQL's own, and
// those that supergraphs are composed by.
var meanings = map[string]meaning{
	"deprecated":   {Safe, Safe},
	"specifiedBy":  {Dangerous, Dangerous}, // It describes how to read a scalar.
	"oneOf":        {Breaking, Safe},       // Inputs with several fields were valid, or are now.
	"key":          {Safe, Breaking},       // Other subgraphs extend the type by its keys.
	"shareable":    {Safe, Breaking},       // Other subgraphs resolve the same field.
	"tag":          {Dangerous, Dangerous}, // Contracts include and exclude by tags.
	"inaccessible": {Breaking, Safe},       // It hides something from the supergraph's clients.
	// The supergraph's router refuses users without the scopes of their query.
	"authenticated":  {Breaking, Safe},
	"requiresScopes": {Breaking, Safe},
	"policy":         {Breaking, Safe},
	"link":           {Dangerous, Dangerous}, // It says which directives mean what.
}

// applied compares the directives that stand at something. One with other
// arguments is another one.
func (c *comparison) applied(path string, was, is ast.DirectiveList) {
	before, after := texts(was), texts(is)
	for _, directive := range without(before, after) {
		if m, known := meanings[nameOf(directive)]; known {
			c.addf(m.goes, path, "no longer says %s", directive)
		}
	}
	for _, directive := range without(after, before) {
		if m, known := meanings[nameOf(directive)]; known {
			c.addf(m.comes, path, "now says %s", directive)
		}
	}
}

func texts(list ast.DirectiveList) []string {
	all := make([]string, len(list))
	for i, d := range list {
		all[i] = "@" + d.Name
		arguments := make([]string, len(d.Arguments))
		for j, a := range d.Arguments {
			arguments[j] = a.Name + ": " + a.Value.String()
		}
		if len(arguments) > 0 {
			slices.Sort(arguments)
			all[i] += "(" + strings.Join(arguments, ", ") + ")"
		}
	}
	return all
}

func nameOf(directive string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(directive, "@"), "(")
	return name
}

// schemaDirectives are those of the schema itself.
func schemaDirectives(doc *Document) ast.DirectiveList {
	var all ast.DirectiveList
	for _, def := range slices.Concat(doc.Schema, doc.SchemaExtension) {
		all = append(all, def.Directives...)
	}
	return all
}
