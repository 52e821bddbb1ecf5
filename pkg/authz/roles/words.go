package roles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// words are what people read of a role. Each role permits what the one before
// it does, and more.
var words = map[v1alpha1.Role]struct {
	description string
	permissions []string
	rules       func() []Rule
}{
	v1alpha1.RoleViewer: {
		description: "Sees the instance and everything in it, except the values of Secrets.",
		permissions: []string{
			"See the instance: its name, state and versions",
			"See the workloads, policies, bindings, member clusters, events and all other objects in it",
			"Follow their changes live",
		},
		rules: viewerRules,
	},
	v1alpha1.RoleEditor: {
		description: "Sees everything in the instance, changes it, and works on it with kubectl.",
		permissions: []string{
			"Everything that a viewer may",
			"Create, change and delete workloads, policies, namespaces and all other objects of everyday work, outside of the namespaces that Kubernetes and Karmada reserve",
			"Cordon, taint and label member clusters",
			"See the values of Secrets outside of those namespaces",
			"Use the native passthrough, with kubectl for example",
		},
		rules: func() []Rule {
			return slices.Concat(editorRules(), overrideRules(), wideOverrideRules(), namespaceRules(), wholeEditorRules())
		},
	},
	v1alpha1.RoleAdmin: {
		description: "Does everything on the instance, and says who may do what on it.",
		permissions: []string{
			"Everything that an editor may",
			"Say who has which role on the instance",
			"Change the instance's own settings, and delete it",
			"Write custom resource definitions, storage and priority classes, resource interpreters and access rules in the instance",
			"Write member clusters, quotas, overrides of any field, and the bindings and Works that Karmada makes of policies",
		},
		rules: wholeAdminRules,
	},
}

// Bindable are all roles as they can be given on an instance. The rules are
// those of a binding on the whole instance.
func Bindable(instance string) []v1alpha1.BindableRole {
	var out []v1alpha1.BindableRole
	var inside []rbacv1.PolicyRule
	for _, role := range v1alpha1.Roles() {
		said := words[role]
		inside = slices.Concat(inside, policyRules(said.rules()))
		out = append(out, v1alpha1.BindableRole{
			Name:        role,
			Description: said.description,
			Permissions: said.permissions,
			Global:      Global(role, instance, nil),
			Instance:    slices.Clone(inside),
		})
	}
	return out
}
