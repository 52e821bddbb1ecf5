package test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/deploy/helm/privilege"
)

func roles(t *testing.T, values string) []privilege.Role {
	t.Helper()
	found, err := privilege.ReadRoles([]byte(render(t, values)))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found {
		// That one is for readers of metrics.
		if r.Account == "" && r.Name != "kairship-metrics-reader" {
			t.Errorf("no account is bound to %s %s/%s", r.Kind, r.Namespace, r.Name)
		}
	}
	return found
}

func TestNoWildcards(t *testing.T) {
	for name, values := range matrix(t) {
		for _, r := range roles(t, values) {
			for _, rule := range r.Rules {
				for _, part := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs, rule.ResourceNames} {
					if slices.ContainsFunc(part, func(s string) bool { return strings.Contains(s, "*") }) {
						t.Errorf("%s: %s %s has a wildcard: %v", name, r.Kind, r.Name, rule)
					}
				}
				if slices.ContainsFunc(rule.Verbs, func(v string) bool { return v == "escalate" || v == "bind" }) {
					t.Errorf("%s: %s %s may give more than it has: %v", name, r.Kind, r.Name, rule)
				}
			}
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
	own := []grant{
		{"kairship-apiserver", namespace, nil, []string{"create", "get", "update"}},
		{"kairship-controller-manager", namespace, nil, []string{"create", "delete", "get", "patch"}},
	}
	// The index collects with these; where all Secrets may be read, it need not be said again.
	collected := func(verbs ...string) grant {
		return grant{"kairship-controller-manager-index-credentials", "clusterpedia-system", nil, verbs}
	}
	controllers, api := []string{"get", "list", "watch"}, []string{"get", "watch"}
	for name, want := range map[string][]grant{
		"default": {
			{"kairship-apiserver-instance-secrets", namespace, nil, api},
			{"kairship-controller-manager-instance-secrets", namespace, nil, controllers},
			collected("create", "delete", "get", "patch"),
		},
		"everything": {
			{"kairship-apiserver-instance-secrets", "", nil, api},
			{"kairship-controller-manager", "", nil, controllers},
			collected("create", "delete", "patch"),
		},
		"narrow": {
			{"kairship-apiserver-instance-secrets", namespace, nil, api},
			{"kairship-apiserver-instance-secrets", "team-a", []string{"alpha-kubeconfig", "beta-kubeconfig"}, api},
			{"kairship-controller-manager-instance-secrets", namespace, nil, controllers},
			{"kairship-controller-manager-instance-secrets", "team-a", nil, controllers},
			collected("create", "delete", "get", "patch"),
		},
	} {
		want = append(want, own...)
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
