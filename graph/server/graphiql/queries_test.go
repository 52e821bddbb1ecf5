package graphiql

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// TestQueriesFitTheSchema keeps the page's ready-made queries true to the
// schema: somebody's first query must not be an error.
func TestQueriesFitTheSchema(t *testing.T) {
	schema := gqlparser.MustLoadSchema(sources(t, "../../schema/*.graphqls")...)
	for _, query := range sources(t, "../../../ui/graphiql/src/queries/*.graphql") {
		doc, err := gqlparser.LoadQueryWithRules(schema, query.Input, rules.NewDefaultRules())
		if err != nil {
			t.Errorf("%s: %v", query.Name, err)
			continue
		}
		if len(doc.Operations) != 1 || doc.Operations[0].Name == "" || doc.Operations[0].Operation == ast.Mutation {
			t.Errorf("%s: a ready-made query is one query or subscription with a name, which becomes the title of its tab", query.Name)
		}
		if query.Input[0] != '#' {
			t.Errorf("%s: the first line must be a comment: it is the title in the menu", query.Name)
		}
	}
}

func sources(t *testing.T, pattern string) []*ast.Source {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	var sources []*ast.Source
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, &ast.Source{Name: filepath.Base(name), Input: string(text)})
	}
	return sources
}
