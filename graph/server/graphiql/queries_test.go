package graphiql

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// TestQueriesFitTheSchema keeps the page's ready-made operations valid: the first
// one that a new user runs must not end in an error.
func TestQueriesFitTheSchema(t *testing.T) {
	for name, query := range operations(t) {
		if len(query.doc.Operations) != 1 || query.doc.Operations[0].Name == "" {
			t.Errorf("%s: a ready-made query is one operation with a name, which becomes the title of its tab", name)
			continue
		}
		if query.text[0] != '#' {
			t.Errorf("%s: the first line must be a comment: it is the title in the menu", name)
		}
		if op := query.doc.Operations[0]; op.Operation == ast.Mutation && !dryRun(op) {
			t.Errorf("%s: a ready-made mutation says dryRun: true: the first run changes nothing", name)
		}
	}
}

// dryRun reports whether every field of a mutation is a dry run.
func dryRun(op *ast.OperationDefinition) bool {
	for _, selection := range op.SelectionSet {
		field, ok := selection.(*ast.Field)
		if !ok {
			return false
		}
		input := field.Arguments.ForName("input")
		if input == nil {
			return false
		}
		if flag := input.Value.Children.ForName("dryRun"); flag == nil || flag.Raw != "true" {
			return false
		}
	}
	return true
}

// TestTroubleIsEverythingThatNeedsALook compares the states that the ready-made
// query filters by with the schema: a state that is added must be found, too.
func TestTroubleIsEverythingThatNeedsALook(t *testing.T) {
	query, ok := operations(t)["20-trouble.graphql"]
	if !ok {
		t.Fatal("there is no 20-trouble.graphql")
	}
	for _, tt := range []struct {
		field, filter, enum string
		fine                []string
	}{
		{"workloads", "health", "WorkloadHealth", []string{"HEALTHY", "PROGRESSING"}},
		{"instances", "state", "InstanceState", []string{"RUNNING", "IN_PROCESS", "TERMINATING"}},
	} {
		want := map[string]bool{}
		for _, value := range schema(t).Types[tt.enum].EnumValues {
			want[value.Name] = !slices.Contains(tt.fine, value.Name)
		}
		got := map[string]bool{}
		for _, selection := range query.doc.Operations[0].SelectionSet {
			field, ok := selection.(*ast.Field)
			if !ok || field.Alias != tt.field {
				continue
			}
			for _, value := range field.Arguments.ForName("filter").Value.Children.ForName(tt.filter).Children {
				got[value.Value.Raw] = true
			}
		}
		for value, trouble := range want {
			if got[value] != trouble {
				t.Errorf("%s of %s: the query filters by it: %t, want %t", value, tt.enum, got[value], trouble)
			}
		}
	}
}

type operation struct {
	text string
	doc  *ast.QueryDocument
}

// operations are the ready-made operations by the names of their files.
func operations(t *testing.T) map[string]operation {
	t.Helper()
	all := map[string]operation{}
	for _, source := range sources(t, "../../../ui/graphiql/src/queries/*.graphql") {
		doc, err := gqlparser.LoadQueryWithRules(schema(t), source.Input, rules.NewDefaultRules())
		if err != nil {
			t.Errorf("%s: %v", source.Name, err)
			continue
		}
		all[source.Name] = operation{source.Input, doc}
	}
	return all
}

func schema(t *testing.T) *ast.Schema {
	t.Helper()
	return gqlparser.MustLoadSchema(sources(t, "../../schema/*.graphqls")...)
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
