package roles

import (
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestEveryRuleSaysWhatFollows fails for a rule without a text for the role reference.
func TestEveryRuleSaysWhatFollows(t *testing.T) {
	all, err := Parts()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range all {
		if len(part.In) == 0 {
			t.Errorf("%s is a part of no role", part.Name)
		}
		for _, rule := range part.Rules {
			if !strings.HasSuffix(rule.Members, ".") {
				t.Errorf("%s: %v on %v: say in a sentence what follows in the members, not %q", part.Name, rule.Verbs, rule.Resources, rule.Members)
			}
		}
	}
}

// TestRightsCoverTheRoles fails for a rule in the global cluster that Rights does not
// explain.
func TestRightsCoverTheRoles(t *testing.T) {
	explained := map[string]bool{}
	for _, right := range Rights() {
		for _, verb := range right.Verbs {
			if explained[verb+" "+right.Resource] {
				t.Errorf("%s on %s is explained twice", verb, right.Resource)
			}
			explained[verb+" "+right.Resource] = right.Permits != "" && right.Names != ""
		}
	}
	for _, role := range v1alpha1.Roles() {
		for _, namespaces := range [][]string{nil, {"shop"}} {
			for _, rule := range slices.Concat(Global(role, "alpha", namespaces), Grantable()) {
				for _, verb := range rule.Verbs {
					if !explained[verb+" "+rule.Resources[0]] {
						t.Errorf("%s in %v: Rights does not say what %s on %s permits", role, namespaces, verb, rule.Resources[0])
					}
				}
			}
		}
	}
}

func TestInInstance(t *testing.T) {
	for _, c := range []struct {
		reason                  string
		role                    v1alpha1.Role
		namespaced, inNamespace bool
		verb, group, resource   string
		want                    bool
	}{
		{"an editor of the instance writes in a namespace that is not reserved", v1alpha1.RoleEditor, false, true, "create", "apps", "deployments", true},
		{"and not in every one", v1alpha1.RoleEditor, false, false, "create", "apps", "deployments", false},
		{"but what has no namespace", v1alpha1.RoleEditor, false, false, "create", "policy.karmada.io", "clusterpropagationpolicies", true},
		{"an editor of namespaces writes in them", v1alpha1.RoleEditor, true, true, "create", "apps", "deployments", true},
		{"and nothing elsewhere", v1alpha1.RoleEditor, true, false, "get", "apps", "deployments", false},
		{"an admin of namespaces reaches no member", v1alpha1.RoleAdmin, true, true, "get", "cluster.karmada.io", "clusters/proxy", false},
		{"an admin of the instance does", v1alpha1.RoleAdmin, false, false, "get", "cluster.karmada.io", "clusters/proxy", true},
		{"a viewer writes nothing", v1alpha1.RoleViewer, false, true, "create", "apps", "deployments", false},
	} {
		rules, err := InInstance(c.role, c.namespaced, c.inNamespace)
		if err != nil {
			t.Fatal(err)
		}
		if got := Allow(rules, c.verb, c.group, c.resource); got != c.want {
			t.Errorf("%s: %s on %s is permitted: %v", c.reason, c.verb, c.resource, got)
		}
	}
}

func TestReservedPatterns(t *testing.T) {
	for _, pattern := range ReservedPatterns() {
		if name := strings.ReplaceAll(pattern, "*", "x"); !Reserved(name) {
			t.Errorf("%s is not reserved", name)
		}
	}
}
