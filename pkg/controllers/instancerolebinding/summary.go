package instancerolebinding

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// summary is condition Ready: whether the role has taken effect everywhere, or
// is removed from everywhere. What was said for an earlier generation does not
// count.
func summary(binding *v1alpha1.InstanceRoleBinding, ours []metav1.Condition) metav1.Condition {
	global := current(binding, meta.FindStatusCondition(ours, v1alpha1.ConditionGlobalReady))
	inside := current(binding, meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.ConditionInstanceReady))

	switch {
	case !binding.DeletionTimestamp.IsZero() && global.Reason != v1alpha1.ReasonDeleting:
		return v1alpha1.NotBound(v1alpha1.ReasonDeleting, "The binding is being deleted. "+global.Message)
	case !binding.DeletionTimestamp.IsZero():
		return v1alpha1.NotBound(v1alpha1.ReasonDeleting, "The binding is being deleted. "+inside.Message)
	case binding.Spec.Revoked && global.Reason == v1alpha1.ReasonRevoked && inside.Reason == v1alpha1.ReasonRevoked:
		return v1alpha1.NotBound(v1alpha1.ReasonRevoked, "The role was taken away, and nothing is left of it.")
	case binding.Spec.Revoked && global.Reason == v1alpha1.ReasonRevoked:
		return v1alpha1.NotBound(v1alpha1.ReasonRevoking, "The role was taken away. "+inside.Message)
	case binding.Spec.Revoked:
		return v1alpha1.NotBound(v1alpha1.ReasonRevoking, "The role was taken away. "+global.Message)
	case global.Status != metav1.ConditionTrue:
		return v1alpha1.NotBound(global.Reason, global.Message)
	case inside.Status != metav1.ConditionTrue:
		return v1alpha1.NotBound(inside.Reason, inside.Message)
	}
	return v1alpha1.Bound("The role has taken effect.")
}

// current is the condition, or one that reports that it is still to come.
func current(binding *v1alpha1.InstanceRoleBinding, found *metav1.Condition) metav1.Condition {
	if found == nil || found.ObservedGeneration != binding.Generation {
		return metav1.Condition{
			Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending,
			Message: "Its present form has not been looked at yet.",
		}
	}
	return *found
}
