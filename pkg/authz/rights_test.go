package authz

import (
	"slices"
	"testing"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

// TestRightsExplainEveryQuestion fails for a question to the global cluster that the role
// reference does not list.
func TestRightsExplainEveryQuestion(t *testing.T) {
	for _, q := range slices.Concat(questions, namespaceQuestions) {
		resource := instanceResource
		if q.subresource != "" {
			resource += "/" + q.subresource
		}
		if !slices.ContainsFunc(roles.Rights(), func(r roles.Right) bool { return r.Resource == resource && slices.Contains(r.Verbs, q.verb) }) {
			t.Errorf("roles.Rights does not say what %s on %s permits", q.verb, resource)
		}
	}
}

func TestGrantOf(t *testing.T) {
	for _, c := range []struct {
		reason     string
		role       v1alpha1.Role
		namespaces []string
		verb       Verb
		namespace  string
		want       bool
	}{
		{"an editor of the instance writes in its namespaces", v1alpha1.RoleEditor, nil, VerbCreate, "shop", true},
		{"but not in reserved ones", v1alpha1.RoleEditor, nil, VerbCreate, "kube-system", false},
		{"an editor of namespaces writes in them", v1alpha1.RoleEditor, []string{"shop"}, VerbCreate, "shop", true},
		{"and in no other", v1alpha1.RoleEditor, []string{"shop"}, VerbCreate, "ops", false},
		{"a viewer writes nothing", v1alpha1.RoleViewer, nil, VerbCreate, "shop", false},
	} {
		if got := GrantOf(roles.Global(c.role, "alpha", c.namespaces), "alpha").Can(c.verb, c.namespace); got != c.want {
			t.Errorf("%s: %s in %q is permitted: %v", c.reason, c.verb, c.namespace, got)
		}
	}
	if GrantOf(roles.Global(v1alpha1.RoleAdmin, "alpha", nil), "beta").Can(VerbView, "") {
		t.Error("a role on alpha permits something on beta")
	}
}
