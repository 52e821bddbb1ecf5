package resolvers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/fleet/access"
)

// callersOnly are the root fields that tell of the caller alone. Any other one
// has to ask what the caller may see.
var callersOnly = map[string]bool{"Query.viewer": true}

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
				continue // They tell of the schema.
			}
			checked++
			guard := field.Directives.ForName("guard")
			if guard == nil {
				t.Errorf("%s has no guard: write behind its type which check it needs, for example @guard(by: VISIBLE)", where)
				continue
			}
			by := access.Check(guard.Arguments.ForName("by").Value.Raw)
			if (by == access.CheckCaller) != callersOnly[where] {
				t.Errorf("%s is guarded by %s: only what tells of the caller alone may be", where, by)
			}
			named := guard.Arguments.ForName("argument")
			if (by == access.CheckInstance) != (named != nil) {
				t.Errorf("%s: the guard INSTANCE, and no other, names an argument", where)
			}
			if named == nil {
				continue
			}
			if a := field.Arguments.ForName(named.Value.Raw); a == nil || a.Type.String() != "String!" {
				t.Errorf("%s: its guard needs an argument %s: String!", where, named.Value.Raw)
			}
		}
	}
	if checked < 7 {
		t.Errorf("only %d root fields were looked at", checked)
	}
}
