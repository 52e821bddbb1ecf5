package instanceaccess

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// failures are why a binding has not taken effect everywhere.
type failures struct {
	refused error
	// taken are the places where another owner's binding has the name.
	taken []string
	// missing are namespaces that the instance does not have.
	missing []string
}

// bind writes the grants of all bindings. What the instance refuses for one of
// them does not keep the others from theirs.
func (r *Reconciler) bind(ctx context.Context, s *scope) error {
	plan := planGrants(s.wantedGrants(func(b *binding) bool { return s.wanted(b) && b.said == nil }), s.grants)
	// Under nil is what concerns all editors of the instance.
	failed := map[*binding]*failures{}
	of := func(g *grant) *failures {
		if failed[g.binding] == nil {
			failed[g.binding] = &failures{}
		}
		return failed[g.binding]
	}
	for _, g := range plan.update {
		switch err := s.updateGrant(ctx, g); {
		case err == nil:
		case refusal(err):
			of(g).refused = err
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			return err // Another client writes it too. The next look shows what to do.
		default:
			return r.unreached(ctx, s, err)
		}
	}
	for _, g := range plan.create {
		switch err := s.createGrant(ctx, g); {
		case err == nil:
			s.grants[g.place] = g
		case apierrors.IsAlreadyExists(err):
			of(g).taken = append(of(g).taken, g.where())
		case g.namespace != "" && (apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)):
			of(g).missing = append(of(g).missing, g.namespace)
		case refusal(err):
			of(g).refused = err
		default:
			return r.unreached(ctx, s, err)
		}
	}

	r.pauses.forget(s.name)
	for _, b := range s.bindings {
		if b.said != nil {
			continue
		}
		trouble := failed[b]
		if trouble == nil && s.everywhere(b) {
			trouble = s.inNamespaces(failed[nil])
		}
		said := s.conditionOf(b, trouble)
		b.said = &said
		s.incomplete = s.incomplete || (s.wanted(b) && said.Status != metav1.ConditionTrue)
	}
	return nil
}

// inNamespaces is why the editors of the whole instance do not have their rights in its
// namespaces; nil when they have. A namespace that went meanwhile is none.
func (s *scope) inNamespaces(failed *failures) *failures {
	switch {
	case s.namespacesRefused != nil:
		return &failures{refused: fmt.Errorf("in its namespaces, which it does not list: %w", s.namespacesRefused)}
	case failed == nil || (failed.refused == nil && len(failed.taken) == 0):
		return nil
	}
	return &failures{refused: failed.refused, taken: failed.taken}
}

// conditionOf is how it is with a binding after everything was tried.
func (s *scope) conditionOf(b *binding, failed *failures) metav1.Condition {
	if !s.wanted(b) {
		return s.gone(b)
	}
	places := len(b.Spec.Namespaces)
	switch {
	case failed == nil:
	case failed.refused != nil:
		return v1alpha1.InstanceNotBound(v1alpha1.ReasonNotAllowed, notAllowed("write the rules", failed.refused))
	case len(failed.taken) > 0:
		return v1alpha1.InstanceNotBound(v1alpha1.ReasonNameTaken,
			fmt.Sprintf("The instance has bindings of the needed name that were not made for this one: %s. They are left alone; delete them to go on.", some(failed.taken)))
	case len(failed.missing) > 0:
		return v1alpha1.InstanceNotBound(v1alpha1.ReasonNamespacesMissing,
			fmt.Sprintf("The role has taken effect in %d of %d namespaces. The instance does not have these yet: %s.",
				places-len(failed.missing), places, some(failed.missing)))
	}
	target := wantedGrants(b, s.global)[0].role.Name
	if role := s.roles[target]; role == nil || len(role.Rules) == 0 {
		if s.rolesAreNew {
			return v1alpha1.InstanceBoundUnknown(v1alpha1.ReasonPending, "The instance is putting its roles together.")
		}
		return v1alpha1.InstanceNotBound(v1alpha1.ReasonRolesEmpty,
			fmt.Sprintf("The instance has not put together its ClusterRole %q, so the role permits nothing there. The controller clusterrole-aggregation of its kube-controller-manager does that: is it running?", target))
	}
	if said := s.withheldFrom(b); said != nil {
		return *said
	}
	if places > 0 {
		return v1alpha1.InstanceBound(fmt.Sprintf("The role is bound in %d namespaces of the instance.", places))
	}
	if s.everywhere(b) {
		return v1alpha1.InstanceBound("The role is bound in the instance, and in each of its namespaces that is not reserved.")
	}
	return v1alpha1.InstanceBound("The role is bound in the instance.")
}

// some names the first of many.
func some(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// where names the place of a grant for a person.
func (g *grant) where() string {
	if g.namespace == "" {
		return fmt.Sprintf("ClusterRoleBinding %q", g.name)
	}
	return fmt.Sprintf("RoleBinding %q in namespace %q", g.name, g.namespace)
}

func (s *scope) createGrant(ctx context.Context, g *grant) error {
	var err error
	if g.namespace == "" {
		_, err = s.rbac.ClusterRoleBindings().Create(ctx, g.wide(), metav1.CreateOptions{FieldManager: Name})
	} else {
		_, err = s.rbac.RoleBindings(g.namespace).Create(ctx, g.narrow(), metav1.CreateOptions{FieldManager: Name})
	}
	return s.wrote(g, err)
}

func (s *scope) updateGrant(ctx context.Context, g *grant) error {
	var err error
	if g.namespace == "" {
		_, err = s.rbac.ClusterRoleBindings().Update(ctx, g.wide(), metav1.UpdateOptions{FieldManager: Name})
	} else {
		_, err = s.rbac.RoleBindings(g.namespace).Update(ctx, g.narrow(), metav1.UpdateOptions{FieldManager: Name})
	}
	return s.wrote(g, err)
}

// removeGrant deletes what was found, and nothing that took its place since.
func (s *scope) removeGrant(ctx context.Context, g *grant) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &g.uid}}
	var err error
	if g.namespace == "" {
		err = s.rbac.ClusterRoleBindings().Delete(ctx, g.name, options)
	} else {
		err = s.rbac.RoleBindings(g.namespace).Delete(ctx, g.name, options)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return s.wrote(g, err)
}

func (g *grant) wide() *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: g.meta(), RoleRef: g.role, Subjects: g.subjects}
}

func (g *grant) narrow() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: g.meta(), RoleRef: g.role, Subjects: g.subjects}
}
