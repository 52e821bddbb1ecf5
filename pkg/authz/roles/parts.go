package roles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Part is a ClusterRole in an instance from which roles are aggregated, with what follows from each
// of its rules in the members.
type Part struct {
	// Name is the name of the ClusterRole.
	Name string
	// Label has the instance take it into the roles in In.
	Label string
	Rules []Rule
	// In are the ClusterRoles that it is taken into.
	In []string
	// Limit is the admission policy without which an instance does not have it.
	Limit string
}

// Parts returns all of them, as in an instance with all admission policies.
func Parts() ([]Part, error) {
	all := ClusterRoles()
	var out []Part
	for _, p := range parts() {
		role := p.clusterRole()
		found := Part{Name: role.Name, Label: p.label, Rules: p.rules, Limit: p.limit}
		for i := range all {
			takes, err := takesIn(&all[i], role.Labels)
			if err != nil {
				return nil, err
			}
			if takes {
				found.In = append(found.In, all[i].Name)
			}
		}
		out = append(out, found)
	}
	return out, nil
}

// takesIn reports whether a ClusterRole aggregates those with the labels.
func takesIn(role *rbacv1.ClusterRole, of labels.Set) (bool, error) {
	if role.AggregationRule == nil {
		return false, nil
	}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return false, err
		}
		if selector.Matches(of) {
			return true, nil
		}
	}
	return false, nil
}

// InInstance returns the rules that a role has in an instance: those on the instance as a
// whole, or, in a namespace that is not reserved, all that hold there.
func InInstance(role v1alpha1.Role, namespaced, inNamespace bool) ([]rbacv1.PolicyRule, error) {
	held := []string{ClusterRoleName(role, namespaced)}
	switch {
	case !inNamespace && namespaced:
		return nil, nil
	case inNamespace && InEveryNamespace(role, namespaced):
		held = append(held, ClusterRoleName(role, true))
	}
	all, err := Parts()
	if err != nil {
		return nil, err
	}
	var out []rbacv1.PolicyRule
	for i := range all {
		if slices.ContainsFunc(held, func(name string) bool { return slices.Contains(all[i].In, name) }) {
			out = append(out, policyRules(all[i].Rules)...)
		}
	}
	return out, nil
}
