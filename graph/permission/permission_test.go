package permission

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/fleet/access"
)

// TestEveryRootFieldHasALine compares the table with the schema and its guards.
func TestEveryRootFieldHasALine(t *testing.T) {
	s := generated.NewExecutableSchema(generated.Config{}).Schema()
	missing := maps.Clone(Fields)
	for _, root := range []*ast.Definition{s.Query, s.Mutation, s.Subscription} {
		for _, f := range root.Fields {
			if f.Name == "__schema" || f.Name == "__type" {
				continue
			}
			name := root.Name + "." + f.Name
			line, found := Fields[name]
			if !found {
				t.Errorf("%s: add a line to Fields in fields.go that says which permission it asks for", name)
				continue
			}
			delete(missing, name)
			guard := access.Check(f.Directives.ForName("guard").Arguments.ForName("by").Value.Raw)
			if (guard == access.CheckCaller) != (line.In == Nowhere) {
				t.Errorf("%s is guarded by %s and asks for its permission %s", name, guard, line.In)
			}
			if root == s.Mutation && len(line.Verbs)+len(line.Global) == 0 {
				t.Errorf("%s changes something and asks for no verb, nor for a right in the global cluster", name)
			}
			if root == s.Query && len(line.Inside)+len(line.Global) > 0 {
				t.Errorf("%s: what a query may read is decided by the roles on the instance alone", name)
			}
		}
	}
	for name := range missing {
		t.Errorf("%s is not in the schema: remove its line", name)
	}
}

// TestGlobalRightsAreExplained fails for a right that the role reference does not list.
func TestGlobalRightsAreExplained(t *testing.T) {
	for name, field := range Fields {
		for _, right := range field.Global {
			if !slices.ContainsFunc(roles.Rights(), func(r roles.Right) bool { return r.Resource == right.Resource && slices.Contains(r.Verbs, right.Verb) }) {
				t.Errorf("%s: roles.Rights does not list %s on %s", name, right.Verb, right.Resource)
			}
		}
	}
}

func TestOf(t *testing.T) {
	letters := map[Extent]string{None: "-", NotReserved: "n", Everywhere: "y"}
	for _, c := range []struct {
		reason, field string
		// Of viewer, editor and admin of the instance, then of namespaces.
		want string
	}{
		{"every person with a role sees the instance", "Query.instance", "yyyyyy"},
		{"viewers read", "Query.workloads", "yyyyyy"},
		{"members belong to the instance as a whole", "Subscription.memberClusterChanged", "yyy---"},
		{"editors write outside of reserved namespaces", "Mutation.patchResource", "-ny-yy"},
		{"namespaces belong to the instance as a whole", "Mutation.createNamespace", "-ny---"},
		{"what has no namespace does too", "Mutation.createClusterOverridePolicy", "-yy---"},
		{"members are asked as the caller, which only admins may", "Mutation.promoteResource", "--y---"},
		{"the Instance is its admins'", "Mutation.deleteInstance", "--y---"},
		{"no role has the membership of clusters", "Mutation.joinCluster", "------"},
		{"no role has the inventory", "Mutation.registerCluster", "------"},
		{"no role makes instances", "Mutation.registerInstance", "------"},
	} {
		field, got := Fields[c.field], strings.Builder{}
		for _, role := range Roles() {
			extent, err := field.Of(role)
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString(letters[extent])
		}
		if got.String() != c.want {
			t.Errorf("%s: %s is permitted to %s, want %s", c.reason, c.field, got.String(), c.want)
		}
	}
	if first := Roles()[0]; first.Role != v1alpha1.RoleViewer || first.Namespaced {
		t.Errorf("the first role is %+v", first)
	}
}
