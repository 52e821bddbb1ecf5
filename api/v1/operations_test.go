package v1_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	v1 "github.com/kairship-io/kairship/api/v1"
	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/graph/operation"
)

// alone are root fields that no operation has, with the reason.
var alone = map[string]string{
	"node":      "it is for clients that keep objects by their ids, which REST has paths for",
	"_entities": "it is for gateways of a supergraph",
	"_service":  "it is for gateways of a supergraph",
}

// TestOperations reads all operations, and finds one for each field of the root.
func TestOperations(t *testing.T) {
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	operations, err := operation.Load(v1.Operations, schema)
	if err != nil {
		t.Fatal(err)
	}
	selected := map[string]bool{}
	for _, op := range operations {
		root, ok := op.Definition.SelectionSet[0].(*ast.Field)
		if !ok {
			t.Errorf("%s selects a fragment of the root", op.Name)
			continue
		}
		selected[root.Name] = true
		if op.Reads() || strings.Contains(op.Document, "consistencyToken") {
			continue
		}
		if has := root.Definition.Type; schema.Types[has.Name()].Fields.ForName("consistencyToken") != nil {
			t.Errorf("%s does not select the consistencyToken: its caller could not read what it wrote", op.Name)
		}
	}
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation, schema.Subscription} {
		for _, field := range root.Fields {
			if !selected[field.Name] && alone[field.Name] == "" && !strings.HasPrefix(field.Name, "__") {
				t.Errorf("no operation selects %s.%s: add one, see CONTRIBUTING.md", root.Name, field.Name)
			}
		}
	}
}

// TestListsArePages finds lists whose clients could not ask for the next page.
func TestListsArePages(t *testing.T) {
	operations, err := operation.Load(v1.Operations, generated.NewExecutableSchema(generated.Config{}).Schema())
	if err != nil {
		t.Fatal(err)
	}
	connection := regexp.MustCompile(`Connection!?$`)
	for _, op := range operations {
		if !connection.MatchString(op.Answer().Definition.Type.Name()) {
			continue
		}
		for _, name := range []string{"first", "after"} {
			if op.Definition.VariableDefinitions.ForName(name) == nil {
				t.Errorf("%s is a list without the variable %s", op.Name, name)
			}
		}
		if !strings.Contains(op.Document, "pageInfo { hasNextPage endCursor }") {
			t.Errorf("%s does not select the pageInfo", op.Name)
		}
	}
}
