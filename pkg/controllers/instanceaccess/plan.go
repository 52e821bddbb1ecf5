package instanceaccess

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

// place is where a grant is: in a namespace, or without one in the whole
// instance.
type place struct{ namespace, name string }

// grant is a RoleBinding or a ClusterRoleBinding: they say the same.
type grant struct {
	place
	labels   map[string]string
	role     rbacv1.RoleRef
	subjects []rbacv1.Subject
	uid      types.UID
	version  string
	// binding is the InstanceRoleBinding that a wanted grant is for; nil for a found one, and for
	// that of all editors of the instance in a namespace.
	binding *binding
}

func (g *grant) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: g.namespace, Name: g.name, Labels: g.labels, ResourceVersion: g.version}
}

// wantedGrants returns the grants of an InstanceRoleBinding. The global cluster's UID is one of
// their owner labels.
func wantedGrants(b *binding, global string) []*grant {
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roles.ClusterRoleName(b.Spec.Role, len(b.Spec.Namespaces) > 0)}
	namespaces := slices.Sorted(slices.Values(b.Spec.Namespaces))
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var out []*grant
	for _, namespace := range slices.Compact(namespaces) {
		out = append(out, &grant{
			place: place{namespace: namespace, name: roles.BindingName(b.Name)},
			labels: map[string]string{
				v1alpha1.ManagedByLabel:     v1alpha1.ManagedByValue,
				v1alpha1.InstanceLabel:      b.Spec.InstanceRef.Name,
				v1alpha1.RoleBindingLabel:   b.Name,
				v1alpha1.OwnerUIDLabel:      string(b.UID),
				v1alpha1.GlobalClusterLabel: global,
			},
			role:     role,
			subjects: []rbacv1.Subject{roles.Subject(b.Spec.Subject)},
			binding:  b,
		})
	}
	return out
}

// wantedGrants returns the grants of some of the bindings. The editors of the whole instance share
// one in each namespace, because there may be many of both.
func (s *scope) wantedGrants(of func(*binding) bool) []*grant {
	var out []*grant
	var editors []rbacv1.Subject
	for _, b := range s.bindings {
		if !of(b) {
			continue
		}
		out = append(out, wantedGrants(b, s.global)...)
		if subject := roles.Subject(b.Spec.Subject); s.everywhere(b) && !slices.Contains(editors, subject) {
			editors = append(editors, subject)
		}
	}
	if len(editors) == 0 {
		return out
	}
	for _, namespace := range s.namespaces {
		out = append(out, &grant{
			place: place{namespace: namespace, name: roles.EditorsName(s.global, s.name)},
			labels: map[string]string{
				v1alpha1.ManagedByLabel:     v1alpha1.ManagedByValue,
				v1alpha1.InstanceLabel:      s.name,
				v1alpha1.RoleBindingLabel:   "", // Of all of them.
				v1alpha1.GlobalClusterLabel: s.global,
			},
			role:     rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roles.ClusterRoleName(v1alpha1.RoleEditor, true)},
			subjects: editors,
		})
	}
	return out
}

// grantPlan has the changes to make to the grants, in this order.
type grantPlan struct {
	remove []*grant
	update []*grant
	create []*grant
}

// planGrants compares the wanted grants with the found ones. All found ones are ours, so those that
// no binding wants are removed. The role of a grant is immutable, so a grant with another role is
// replaced.
func planGrants(wanted []*grant, found map[place]*grant) grantPlan {
	var plan grantPlan
	kept := map[place]bool{}
	for _, want := range wanted {
		have, exists := found[want.place]
		switch {
		case !exists || have.role != want.role:
			plan.create = append(plan.create, want)
			continue
		case !contains(have.labels, want.labels) || !equality.Semantic.DeepEqual(have.subjects, want.subjects):
			updated := *want
			updated.version = have.version
			updated.labels = merged(have.labels, want.labels)
			plan.update = append(plan.update, &updated)
		}
		kept[want.place] = true
	}
	for at, have := range found {
		if !kept[at] {
			plan.remove = append(plan.remove, have)
		}
	}
	return plan
}

// rolePlan has the changes to make to the ClusterRoles.
type rolePlan struct {
	create, update, remove []*rbacv1.ClusterRole
}

// planRoles compares the wanted ClusterRoles with the found ones. It keeps the rules that an
// instance has aggregated.
func planRoles(wanted []rbacv1.ClusterRole, found map[string]*rbacv1.ClusterRole) rolePlan {
	var plan rolePlan
	known := map[string]bool{}
	for i := range wanted {
		want := &wanted[i]
		known[want.Name] = true
		have, exists := found[want.Name]
		if !exists {
			plan.create = append(plan.create, want)
			continue
		}
		updated := have.DeepCopy()
		updated.Labels = merged(have.Labels, want.Labels)
		updated.AggregationRule = want.AggregationRule
		if want.AggregationRule == nil {
			updated.Rules = want.Rules
		}
		if !equality.Semantic.DeepEqual(have, updated) {
			plan.update = append(plan.update, updated)
		}
	}
	for name, have := range found {
		if !known[name] {
			plan.remove = append(plan.remove, have)
		}
	}
	byRemoval(plan.remove)
	return plan
}

func contains(have, want map[string]string) bool {
	for key, value := range want {
		if found, exists := have[key]; !exists || found != value {
			return false
		}
	}
	return true
}

func merged(have, more map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, more)
	return out
}
