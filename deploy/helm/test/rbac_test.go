package test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// role is a Role or a ClusterRole, which has no namespace.
type role struct {
	Kind, Namespace, Name string
	Rules                 []rbacv1.PolicyRule
}

func roles(t *testing.T, values string) []role {
	t.Helper()
	var found []role
	for _, o := range objects(t, render(t, values)) {
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
			continue
		}
		var r rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &r); err != nil {
			t.Fatal(err)
		}
		found = append(found, role{o.GetKind(), o.GetNamespace(), o.GetName(), r.Rules})
	}
	if len(found) < 4 {
		t.Fatalf("only %d roles are rendered", len(found))
	}
	return found
}

// index is the one rule with a wildcard; cmd/apiserver/rbac.go says why.
var index = rbacv1.PolicyRule{
	APIGroups: []string{"clusterpedia.io"}, Resources: []string{"*"},
	ResourceNames: []string{"api", "apis", "clusters"}, Verbs: []string{"get"},
}

func TestNoWildcards(t *testing.T) {
	for name, values := range matrix(t) {
		exceptions := 0
		for _, r := range roles(t, values) {
			for _, rule := range r.Rules {
				if cmp.Equal(rule, index) {
					exceptions++
					continue
				}
				for _, part := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
					if slices.Contains(part, "*") {
						t.Errorf("%s: %s %s has a wildcard: %v", name, r.Kind, r.Name, rule)
					}
				}
				if slices.ContainsFunc(rule.Verbs, func(v string) bool { return v == "escalate" || v == "bind" }) {
					t.Errorf("%s: %s %s may give more than it has: %v", name, r.Kind, r.Name, rule)
				}
			}
		}
		if exceptions != 1 {
			t.Errorf("%s: the rule about the index is there %d times, want once", name, exceptions)
		}
	}
}

// TestSecrets lists every right to Secrets there is, because each is a right to
// credentials: one that is added has to be added here.
func TestSecrets(t *testing.T) {
	type grant struct {
		Role, Namespace string
		Names, Verbs    []string
	}
	controllers := []grant{
		{"kairship-controller-manager", "", nil, []string{"get", "list", "watch"}},
		{"kairship-controller-manager", namespace, nil, []string{"create", "delete", "get", "patch"}},
	}
	own := grant{"kairship-apiserver", namespace, nil, []string{"create", "get", "update"}}
	everywhere := grant{"kairship-apiserver-instance-secrets", "", nil, []string{"get", "watch"}}
	for name, want := range map[string][]grant{
		"default":    append([]grant{own, everywhere}, controllers...),
		"everything": append([]grant{own, everywhere}, controllers...),
		"narrow": append([]grant{
			own,
			{"kairship-apiserver-instance-secrets", namespace, nil, []string{"get", "watch"}},
			{"kairship-apiserver-instance-secrets", "team-a", []string{"alpha-kubeconfig", "beta-kubeconfig"}, []string{"get", "watch"}},
		}, controllers...),
	} {
		var got []grant
		for _, r := range roles(t, matrix(t)[name]) {
			for _, rule := range r.Rules {
				if slices.Contains(rule.APIGroups, "") && slices.Contains(rule.Resources, "secrets") {
					got = append(got, grant{r.Name, r.Namespace, rule.ResourceNames, rule.Verbs})
				}
			}
		}
		order := func(a, b grant) int {
			return slices.Compare([]string{a.Role, a.Namespace}, []string{b.Role, b.Namespace})
		}
		slices.SortFunc(want, order)
		slices.SortFunc(got, order)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: who may do what with Secrets (-want +got):\n%s", name, diff)
		}
	}
}
