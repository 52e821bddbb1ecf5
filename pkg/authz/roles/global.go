package roles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// The virtual resources that the rules are about; see package authz.
const (
	instances          = "instances"
	instanceObjects    = "instances/resources"
	instanceNamespaces = "instances/namespaces"
	instanceSecrets    = "instances/secrets"
	instanceProxy      = "instances/proxy"
	instanceAccess     = "instances/access"
	instanceManagement = "instances/management"
)

var (
	read   = []string{"get", "list", "watch"}
	modify = []string{"create", "update", "patch", "delete"}
	manage = []string{"get", "create", "update", "patch", "delete"}
)

// Global are the rules that a role has in the global cluster: on the whole
// instance, or, when there are namespaces, on what is in them. An unknown role
// has none. The order of the namespaces does not matter.
func Global(role v1alpha1.Role, instance string, namespaces []string) []rbacv1.PolicyRule {
	rank := slices.Index(v1alpha1.Roles(), role)
	if rank < 0 {
		return nil
	}
	on := scopeOf(instance, namespaces)
	editor, admin := role != v1alpha1.RoleViewer, role == v1alpha1.RoleAdmin

	objects := slices.Clone(read)
	if editor {
		objects = append(objects, modify...)
	}
	rules := []rbacv1.PolicyRule{
		rule(instances, []string{instance}, read),
		rule(on.resource, on.names, objects),
	}
	if editor {
		rules = append(rules,
			rule(instanceSecrets, on.names, []string{"get"}),
			// The passthrough has no namespaces of its own: what goes through it is
			// judged by the instance, where the role is bound to them.
			rule(instanceProxy, []string{instance}, manage),
		)
	}
	if admin && !on.namespaced() {
		rules = append(rules,
			rule(instanceAccess, []string{instance}, manage),
			rule(instanceManagement, []string{instance}, []string{"update", "delete"}),
		)
	}
	return rules
}

// Grantable returns rules that contain those of every role on every instance. A user who has them
// may grant the roles: RBAC lets users grant only permissions that they have.
func Grantable() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(instances, nil, read),
		rule(instanceManagement, nil, []string{"update", "delete"}),
		rule(instanceObjects, nil, append(slices.Clone(read), modify...)),
		rule(instanceNamespaces, nil, append(slices.Clone(read), modify...)),
		rule(instanceSecrets, nil, []string{"get"}),
		rule(instanceProxy, nil, manage),
		rule(instanceAccess, nil, manage),
	}
}

// scope is the instance as a whole, or some namespaces of it.
type scope struct {
	resource string
	names    []string
}

func scopeOf(instance string, namespaces []string) scope {
	if len(namespaces) == 0 {
		return scope{resource: instanceObjects, names: []string{instance}}
	}
	names := make([]string, 0, len(namespaces))
	for _, namespace := range namespaces {
		names = append(names, instance+":"+namespace)
	}
	slices.Sort(names)
	return scope{resource: instanceNamespaces, names: slices.Compact(names)}
}

func (s scope) namespaced() bool { return s.resource == instanceNamespaces }

func rule(resource string, names, verbs []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups:     []string{v1alpha1.GroupName},
		Resources:     []string{resource},
		ResourceNames: slices.Clone(names),
		Verbs:         slices.Clone(verbs),
	}
}
