package roles

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// said is a rule in one line of a table.
type said struct {
	resource string
	names    []string
	verbs    []string
}

func (s said) rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"kairship.io"}, Resources: []string{s.resource}, ResourceNames: s.names, Verbs: s.verbs}
}

func TestGlobal(t *testing.T) {
	var (
		alpha     = []string{"alpha"}
		shop      = []string{"alpha:shop"}
		both      = []string{"alpha:ops", "alpha:shop"}
		get       = []string{"get"}
		reading   = []string{"get", "list", "watch"}
		all       = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
		requests  = []string{"get", "create", "update", "patch", "delete"}
		ownership = []string{"update", "delete"}
	)
	for _, c := range []struct {
		reason     string
		role       v1alpha1.Role
		namespaces []string
		want       []said
	}{
		{"a viewer sees the instance and reads what is in it", v1alpha1.RoleViewer, nil, []said{
			{"instances", alpha, reading}, {"instances/resources", alpha, reading},
		}},
		{"an editor writes, sees Secrets and uses the passthrough", v1alpha1.RoleEditor, nil, []said{
			{"instances", alpha, reading}, {"instances/resources", alpha, all}, {"instances/secrets", alpha, get}, {"instances/proxy", alpha, requests},
		}},
		{"an admin manages access and owns the Instance", v1alpha1.RoleAdmin, nil, []said{
			{"instances", alpha, reading}, {"instances/resources", alpha, all}, {"instances/secrets", alpha, get}, {"instances/proxy", alpha, requests},
			{"instances/access", alpha, requests}, {"instances/management", alpha, ownership},
		}},
		{"a viewer of a namespace reads only what is in it", v1alpha1.RoleViewer, []string{"shop"}, []said{
			{"instances", alpha, reading}, {"instances/namespaces", shop, reading},
		}},
		{"an editor of namespaces sees Secrets only there; the instance judges what passes through", v1alpha1.RoleEditor, []string{"shop", "ops"}, []said{
			{"instances", alpha, reading}, {"instances/namespaces", both, all}, {"instances/secrets", both, get}, {"instances/proxy", alpha, requests},
		}},
		{"an admin of namespaces has nothing to say about the instance", v1alpha1.RoleAdmin, []string{"shop"}, []said{
			{"instances", alpha, reading}, {"instances/namespaces", shop, all}, {"instances/secrets", shop, get}, {"instances/proxy", alpha, requests},
		}},
		{"neither order nor repetition of namespaces matters", v1alpha1.RoleViewer, []string{"shop", "ops", "shop"}, []said{
			{"instances", alpha, reading}, {"instances/namespaces", both, reading},
		}},
		{"an empty list of namespaces is none", v1alpha1.RoleViewer, []string{}, []said{
			{"instances", alpha, reading}, {"instances/resources", alpha, reading},
		}},
		{"an unknown role permits nothing", "owner", nil, nil},
		{"no role permits nothing", "", []string{"shop"}, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var want []rbacv1.PolicyRule
			for _, line := range c.want {
				want = append(want, line.rule())
			}
			given := slices.Clone(c.namespaces)
			if diff := cmp.Diff(want, Global(c.role, "alpha", c.namespaces)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(given, c.namespaces); diff != "" {
				t.Errorf("the caller's namespaces changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestEveryRuleNamesItsInstance keeps a rule from being about all instances,
// which is what RBAC makes of a rule without names.
func TestEveryRuleNamesItsInstance(t *testing.T) {
	for _, role := range v1alpha1.Roles() {
		for _, namespaces := range [][]string{nil, {"shop"}} {
			for _, r := range Global(role, "alpha", namespaces) {
				if len(r.ResourceNames) == 0 {
					t.Errorf("%s in %v: the rule about %v names nothing", role, namespaces, r.Resources)
				}
				for _, name := range r.ResourceNames {
					if name != "alpha" && name != "alpha:shop" {
						t.Errorf("%s in %v: the rule about %v names %q", role, namespaces, r.Resources, name)
					}
				}
			}
		}
	}
}

// TestWhoHoldsGrantableMayGiveEveryRole is RBAC's own question about a role that
// a user writes: whether they hold all of it.
func TestWhoHoldsGrantableMayGiveEveryRole(t *testing.T) {
	held := Grantable()
	for _, role := range v1alpha1.Roles() {
		for _, namespaces := range [][]string{nil, {"shop"}} {
			for _, r := range Global(role, "alpha", namespaces) {
				for _, verb := range r.Verbs {
					if !Allow(held, verb, "kairship.io", r.Resources[0]) {
						t.Errorf("%s in %v: no role holds %s on %s", role, namespaces, verb, r.Resources[0])
					}
				}
			}
		}
	}
}
