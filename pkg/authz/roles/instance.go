package roles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

// prefix begins the name of everything that is written into RBAC.
const prefix = "kairship:"

// Labels by which Kubernetes' controller finds what belongs into a role.
const (
	aggregateToView  = "rbac.authorization.k8s.io/aggregate-to-view"
	aggregateToEdit  = "rbac.authorization.k8s.io/aggregate-to-edit"
	aggregateToAdmin = "rbac.authorization.k8s.io/aggregate-to-admin"
	// Kubernetes and Karmada have these on roles of their own.
	bootstrapping        = "kubernetes.io/bootstrapping"
	karmadaBootstrapping = "karmada.io/bootstrapping"

	aggregateTo = v1alpha1.GroupName + "/aggregate-to-"
)

// BindingName is the name of every RBAC object that is made from the
// InstanceRoleBinding of this name, in the global cluster and in the instance.
func BindingName(binding string) string { return prefix + "binding:" + binding }

// ClusterRoleName is the ClusterRole, inside an instance, that a binding to the
// role refers to: on the whole instance, or in single namespaces.
func ClusterRoleName(role v1alpha1.Role, namespaced bool) string {
	if namespaced && role != v1alpha1.RoleViewer {
		return prefix + "namespace-" + string(role)
	}
	return prefix + string(role)
}

// Subject is the subject of a binding as RBAC has it.
func Subject(subject v1alpha1.BindingSubject) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: string(subject.Kind), Name: subject.Name}
}

// part is a ClusterRole with rules, which goes into every role that takes in what has the
// label.
type part struct {
	role  v1alpha1.Role
	name  string
	rules []Rule
	label string
	// limit is the admission policy without which an instance does not have the rules;
	// empty for none.
	limit string
}

// parts returns all of them.
func parts() []part {
	const viewer, editor, admin = v1alpha1.RoleViewer, v1alpha1.RoleEditor, v1alpha1.RoleAdmin
	return []part{
		{viewer, "kubernetes-viewer", kubernetesViewer, into(viewer), ""},
		{editor, "kubernetes-editor", kubernetesEditor, into(editor), ""},
		{admin, "kubernetes-admin", kubernetesAdmin, into(admin), ""},
		{viewer, "karmada-viewer", viewerRules(), into(viewer), ""},
		{editor, "karmada-editor", editorRules(), into(editor), ""},
		{editor, "instance-editor", wholeEditorRules(), intoWhole(editor), ""},
		{admin, "instance-admin", wholeAdminRules(), intoWhole(admin), ""},
		{editor, "override-editor", overrideRules(), into(editor), overrides.Name},
		{editor, "instance-override-editor", wideOverrideRules(), intoWhole(editor), overrides.Name},
		{editor, "instance-namespace-editor", namespaceRules(), intoWhole(editor), ReservedPolicyName},
	}
}

// ClusterRoles are the ClusterRoles that an instance needs before a subject can
// be bound there. Those with an aggregation rule have no rules of their own: the
// instance fills them in. Without an admission policy that is named, the instance does not
// have the rules that it limits.
func ClusterRoles(without ...string) []rbacv1.ClusterRole {
	const viewer, editor, admin = v1alpha1.RoleViewer, v1alpha1.RoleEditor, v1alpha1.RoleAdmin
	toEdit := []metav1.LabelSelector{others(aggregateToView), others(aggregateToEdit), labelled(into(viewer)), labelled(into(editor))}
	toAdmin := slices.Concat(toEdit, []metav1.LabelSelector{others(aggregateToAdmin), labelled(into(admin))})
	var all []rbacv1.ClusterRole
	for _, p := range parts() {
		if !slices.Contains(without, p.limit) {
			all = append(all, p.clusterRole())
		}
	}
	return append(all,
		aggregated(viewer, false, labelled(into(viewer))),
		// What is in namespaces comes from the role in each that is not reserved.
		aggregated(editor, false, others(aggregateToView), labelled(into(viewer)), labelled(intoWhole(editor))),
		// Karmada's own rules for admins are right for those of the whole instance.
		aggregated(admin, false, slices.Concat([]metav1.LabelSelector{labelled(aggregateToAdmin)}, toAdmin,
			[]metav1.LabelSelector{labelled(intoWhole(editor)), labelled(intoWhole(admin))})...),
		aggregated(editor, true, toEdit...),
		aggregated(admin, true, toAdmin...),
	)
}

// InEveryNamespace reports whether a role on the whole instance has its rights on what
// is in namespaces by a binding in each of them that is not reserved. RBAC cannot take
// anything away, and the Secrets in the reserved ones are the keys of the members.
func InEveryNamespace(role v1alpha1.Role, namespaced bool) bool {
	return role == v1alpha1.RoleEditor && !namespaced
}

// LimitedBy reports whether a role gets rights only where an instance has the admission
// policy of this name.
func LimitedBy(policy string, role v1alpha1.Role, namespaced bool) bool {
	switch policy {
	case overrides.Name:
		return role == v1alpha1.RoleEditor || (role == v1alpha1.RoleAdmin && namespaced)
	case ReservedPolicyName:
		return role == v1alpha1.RoleEditor && !namespaced
	}
	return false
}

// into is the label of what belongs into a role, wherever that is bound.
func into(role v1alpha1.Role) string { return aggregateTo + string(role) }

// intoWhole is the label of what belongs into a role only where it is bound on
// a whole instance.
func intoWhole(role v1alpha1.Role) string { return aggregateTo + "instance-" + string(role) }

func (p part) clusterRole() rbacv1.ClusterRole {
	labels := ownLabels(p.role)
	labels[p.label] = "true"
	return rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: prefix + p.name, Labels: labels}, Rules: policyRules(p.rules)}
}

// aggregated returns a ClusterRole that Kubernetes aggregates by labels.
func aggregated(role v1alpha1.Role, namespaced bool, from ...metav1.LabelSelector) rbacv1.ClusterRole {
	return rbacv1.ClusterRole{
		ObjectMeta:      metav1.ObjectMeta{Name: ClusterRoleName(role, namespaced), Labels: ownLabels(role)},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: from},
	}
}

func ownLabels(role v1alpha1.Role) map[string]string {
	return map[string]string{
		v1alpha1.ManagedByLabel:    v1alpha1.ManagedByValue,
		v1alpha1.InstanceRoleLabel: string(role),
	}
}

func labelled(key string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{key: "true"}}
}

// others selects what has a label of Kubernetes and is neither of Kubernetes nor of
// Karmada: what operators add for kinds of their own.
func others(key string) metav1.LabelSelector {
	selector := labelled(key)
	for _, label := range []string{bootstrapping, karmadaBootstrapping} {
		selector.MatchExpressions = append(selector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: label, Operator: metav1.LabelSelectorOpDoesNotExist})
	}
	return selector
}
