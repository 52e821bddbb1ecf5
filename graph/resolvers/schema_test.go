package resolvers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// loadSchema reads the schema files as clients see them.
func loadSchema(t *testing.T) *ast.Schema {
	t.Helper()
	files, err := filepath.Glob("../schema/*.graphqls")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schema files: %v", err)
	}
	sources := make([]*ast.Source, len(files))
	for i, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources[i] = &ast.Source{Name: name, Input: string(text)}
	}
	schema, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// ours lists the types that this project defines.
func ours(schema *ast.Schema) []*ast.Definition {
	var types []*ast.Definition
	for _, def := range schema.Types {
		if !def.BuiltIn && !strings.HasPrefix(def.Name, "__") {
			types = append(types, def)
		}
	}
	return types
}

// GraphiQL shows these texts, and often they are all that a reader has.
func TestEverythingIsDocumented(t *testing.T) {
	schema := loadSchema(t)
	checked := 0
	missing := func(description string, where ...string) {
		checked++
		if strings.TrimSpace(description) == "" {
			t.Errorf("%s has no documentation", strings.Join(where, "."))
		}
	}
	for _, def := range ours(schema) {
		missing(def.Description, def.Name)
		for _, field := range def.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			missing(field.Description, def.Name, field.Name)
			for _, arg := range field.Arguments {
				missing(arg.Description, def.Name, field.Name, arg.Name)
			}
		}
		for _, value := range def.EnumValues {
			missing(value.Description, def.Name, value.Name)
		}
	}
	if checked < 500 {
		t.Errorf("only %d things were looked at; is the schema read whole?", checked)
	}
}

// Every type with an ID can be found by it.
func TestEveryNodeCanBeFound(t *testing.T) {
	schema := loadSchema(t)
	workloads := map[string]bool{}
	for _, def := range schema.PossibleTypes["Workload"] {
		workloads[def.Name] = true
	}
	for _, def := range schema.PossibleTypes["Node"] {
		name := def.Name
		if workloads[name] {
			name = "Workload"
		}
		if _, ok := finders[name]; !ok && def.Kind == ast.Object {
			t.Errorf("node(id) does not know %s", def.Name)
		}
	}
}
