package resolvers

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/fleet/access"
)

// callersOnly are the root fields that return data of the caller alone, or of nothing but
// the schema. Any other one has to ask what the caller may see.
var callersOnly = map[string]bool{"Query.viewer": true, "Query._service": true}

// instanceArgument is what names the instance of a field of a root type: its input, or its argument
// instance, or else the name of the instance that is asked for.
func instanceArgument(field *ast.FieldDefinition) string {
	switch {
	case field.Arguments.ForName("input") != nil:
		return "input.instance"
	case field.Arguments.ForName("instance") != nil:
		return "instance"
	}
	return "name"
}

// argumentType is the type of an argument, or of a field of an input.
func argumentType(schema *ast.Schema, field *ast.FieldDefinition, path string) string {
	name, below, nested := strings.Cut(path, ".")
	argument := field.Arguments.ForName(name)
	if argument == nil || !nested {
		if argument == nil {
			return ""
		}
		return argument.Type.String()
	}
	if f := schema.Types[argument.Type.Name()].Fields.ForName(below); f != nil {
		return f.Type.String()
	}
	return ""
}

// Mutations have one shape, so that a client writes its handling once.
func TestMutationsHaveOneShape(t *testing.T) {
	schema := loadSchema(t)
	if schema.Mutation == nil || len(schema.Mutation.Fields) < 3 {
		t.Fatal("the schema has no mutations")
	}
	for _, field := range schema.Mutation.Fields {
		title := strings.ToUpper(field.Name[:1]) + field.Name[1:]
		if len(field.Arguments) != 1 || field.Arguments[0].Name != "input" || field.Arguments[0].Type.String() != title+"Input!" {
			t.Errorf("%s: its one argument is input: %sInput!", field.Name, title)
			continue
		}
		// One that is never null would, when it fails, take the results of all others of its operation with it.
		if field.Type.String() != title+"Payload" {
			t.Errorf("%s: answers with %s, want %sPayload", field.Name, field.Type, title)
			continue
		}
		if path := requiredNode(schema, schema.Types[title+"Payload"]); path != "" {
			t.Errorf("%sPayload.%s must be nullable: what is read of an object may fail, and must not take with it what was done", title, path)
		}
		dryRun := schema.Types[title+"Input"].Fields.ForName("dryRun")
		if dryRun == nil || dryRun.Type.NamedType != "Boolean" || dryRun.DefaultValue == nil || dryRun.DefaultValue.Raw != "false" {
			t.Errorf("%sInput has no dryRun: Boolean = false", title)
		}
		if token := schema.Types[title+"Payload"].Fields.ForName("consistencyToken"); token == nil || token.Type.String() != "String" {
			t.Errorf("%sPayload has no consistencyToken: String", title)
		}
	}
}

// requiredNode finds an object that is read from elsewhere and is required in a type,
// itself or by way of other required fields; "" where there is none.
func requiredNode(schema *ast.Schema, def *ast.Definition) string {
	for _, field := range def.Fields {
		of := schema.Types[field.Type.Name()]
		item := field.Type.Elem
		if !field.Type.NonNull || of.IsLeafType() || item != nil && !item.NonNull {
			continue
		}
		if of.IsAbstractType() || slices.Contains(of.Interfaces, "Node") {
			return field.Name
		}
		if path := requiredNode(schema, of); path != "" {
			return field.Name + "." + path
		}
	}
	return ""
}

// Nothing can be asked without a check. A field that is added to a root type
// without one fails here.
func TestEveryRootFieldIsGuarded(t *testing.T) {
	schema := loadSchema(t)
	var values []access.Check
	for _, v := range schema.Types["Guard"].EnumValues {
		values = append(values, access.Check(v.Name))
	}
	// What is checked below by its text is what the guard compares with.
	if diff := cmp.Diff([]access.Check{access.CheckCaller, access.CheckVisible, access.CheckInstance}, values); diff != "" {
		t.Errorf("the values of Guard and the checks that there are (-checks +values):\n%s", diff)
	}
	checked := 0
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation, schema.Subscription} {
		if root == nil {
			continue
		}
		for _, field := range root.Fields {
			where := root.Name + "." + field.Name
			if field.Name == "__schema" || field.Name == "__type" {
				continue // They return the schema.
			}
			checked++
			guard := field.Directives.ForName("guard")
			if guard == nil {
				t.Errorf("%s has no guard: write behind its type which check it needs, for example @guard(by: VISIBLE)", where)
				continue
			}
			by := access.Check(guard.Arguments.ForName("by").Value.Raw)
			if (by == access.CheckCaller) != callersOnly[where] {
				t.Errorf("%s is guarded by %s: only data of the caller alone may be", where, by)
			}
			named := guard.Arguments.ForName("argument")
			if (by == access.CheckInstance) != (named != nil) {
				t.Errorf("%s: the guard INSTANCE, and no other, names an argument", where)
			}
			if named == nil {
				continue
			}
			if named.Value.Raw != instanceArgument(field) {
				t.Errorf("%s: its guard takes the instance from %s, want it from %s", where, named.Value.Raw, instanceArgument(field))
			}
			if typ := argumentType(schema, field, named.Value.Raw); typ != "String!" {
				t.Errorf("%s: its guard needs an argument %s: String!, which is %q", where, named.Value.Raw, typ)
			}
		}
	}
	if checked < 7 {
		t.Errorf("only %d root fields were looked at", checked)
	}
}
