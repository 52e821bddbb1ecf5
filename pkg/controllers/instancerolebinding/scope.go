package instancerolebinding

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/controllers/internal/ownership"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
	"github.com/kairship-io/kairship/pkg/projection"
)

// scope is the state that the phases of one reconciliation share.
type scope struct {
	binding *v1alpha1.InstanceRoleBinding
	// before is the part of the status that is ours, as it was read.
	before v1alpha1.InstanceRoleBindingStatus
	owner  ownership.Owner

	// global is the condition about the rules; nil keeps the stored one.
	global *metav1.Condition
	// changed is the change of the rules, of which there may be several; empty for none.
	changed projection.ActivityVerb
	// revokedAt is when the binding was first seen revoked; nil when it is not.
	revokedAt *metav1.Time
	// gone means that the binding has been released, so there is no object to write to.
	gone bool
}

func newScope(binding *v1alpha1.InstanceRoleBinding) *scope {
	s := &scope{binding: binding, before: own(binding.Status), owner: ownership.ByRoleBinding(binding)}
	if binding.Spec.Revoked {
		s.revokedAt = binding.Status.RevokedAt
		if s.revokedAt == nil {
			now := metav1.Now().Rfc3339Copy()
			s.revokedAt = &now
		}
	}
	return s
}

// own is the part of the status that this controller writes.
func own(all v1alpha1.InstanceRoleBindingStatus) v1alpha1.InstanceRoleBindingStatus {
	return v1alpha1.InstanceRoleBindingStatus{
		Conditions:         status.Pick(all.Conditions, v1alpha1.ConditionGlobalReady, v1alpha1.ConditionReady),
		ObservedGeneration: all.ObservedGeneration,
		RevokedAt:          all.RevokedAt,
	}
}

func (s *scope) key() client.ObjectKey {
	return client.ObjectKey{Name: roles.BindingName(s.binding.Name)}
}

func (s *scope) shapeRole(role *rbacv1.ClusterRole) {
	s.mark(role)
	spec := s.binding.Spec
	role.Rules = roles.Global(spec.Role, spec.InstanceRef.Name, spec.Namespaces)
	role.AggregationRule = nil
}

func (s *scope) shapeBinding(binding *rbacv1.ClusterRoleBinding) {
	s.mark(binding)
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.key().Name}
	binding.Subjects = []rbacv1.Subject{roles.Subject(s.binding.Spec.Subject)}
}

func (s *scope) mark(object client.Object) {
	s.owner.Mark(object)
	object.GetLabels()[v1alpha1.InstanceLabel] = s.binding.Spec.InstanceRef.Name
}

// failed says to a person that the global cluster did not do what it was asked.
func (s *scope) failed(err error) {
	condition := v1alpha1.GlobalNotBound(v1alpha1.ReasonWriteFailed, fmt.Sprintf("The rules in the global cluster could not be written or removed, which is tried again: %v", err))
	if apierrors.IsForbidden(err) {
		condition = v1alpha1.GlobalNotBound(v1alpha1.ReasonNotAllowed,
			fmt.Sprintf("The global cluster does not let kairship-controller-manager write the rules. Give its role what the chart gives it: %v", err))
	}
	s.global = &condition
}

// close writes the status, once, however the phases ended.
func (s *scope) close(ctx context.Context, r *Reconciler) error {
	if s.gone {
		return nil
	}
	conditions := status.Pick(s.before.Conditions, v1alpha1.ConditionGlobalReady)
	if s.global != nil {
		conditions = status.Conditions(s.before.Conditions, s.binding.Generation, *s.global)
	}
	after := v1alpha1.InstanceRoleBindingStatus{
		ObservedGeneration: s.binding.Generation,
		RevokedAt:          s.revokedAt,
		Conditions: append(conditions,
			status.Conditions(s.before.Conditions, s.binding.Generation, summary(s.binding, conditions))...),
	}
	if err := status.Apply(ctx, r.Client, s.binding, Name, &s.before, &after); err != nil {
		return err
	}
	// Ready repeats one of the two others, each of which is announced.
	status.Announce(r.Recorder, s.binding, "Bind", s.before.Conditions, status.Pick(after.Conditions, v1alpha1.ConditionGlobalReady))
	return nil
}
