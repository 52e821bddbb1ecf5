package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of the conditions of an InstanceRoleBinding. ReasonDeleting,
// ReasonNameTaken, ReasonNoInstance, ReasonCredentialsMissing,
// ReasonCredentialsInvalid and those of an apiserver that cannot be reached are
// shared with the other kinds.
const (
	// ReasonBound means that the rules are there: the role has taken effect.
	ReasonBound = "Bound"
	// ReasonRevoked means that the role was taken away, and its rules are removed.
	ReasonRevoked = "Revoked"
	// ReasonRevoking means that the role was taken away, and its rules are not
	// gone yet.
	ReasonRevoking = "Revoking"
	// ReasonNamespacesMissing means that the role has taken effect in some of its
	// namespaces, and that the others do not exist in the instance.
	ReasonNamespacesMissing = "NamespacesMissing"
	// ReasonNotAllowed means that the apiserver does not let us do it.
	ReasonNotAllowed = "NotAllowed"
	// ReasonWriteFailed means that writing or removing the rules failed.
	ReasonWriteFailed = "WriteFailed"
	// ReasonRolesEmpty means that the instance has the roles, and has not filled
	// them with Kubernetes' own rules.
	ReasonRolesEmpty = "RolesEmpty"
	// ReasonOverridesWithheld means that the role has taken effect without the right to
	// write override policies, because the instance cannot limit these.
	ReasonOverridesWithheld = "OverridesWithheld"
	// ReasonNamespacesWithheld means that the role has taken effect without the right to
	// write Namespaces, because the instance cannot leave out the reserved ones.
	ReasonNamespacesWithheld = "NamespacesWithheld"
)

// GlobalBound means that the rules in the global cluster are there.
func GlobalBound(message string) metav1.Condition {
	return condition(ConditionGlobalReady, metav1.ConditionTrue, ReasonBound, message)
}

// GlobalNotBound means that they are not, or not as they should be.
func GlobalNotBound(reason, message string) metav1.Condition {
	return condition(ConditionGlobalReady, metav1.ConditionFalse, reason, message)
}

// InstanceBound means that the rules inside the instance are there.
func InstanceBound(message string) metav1.Condition {
	return condition(ConditionInstanceReady, metav1.ConditionTrue, ReasonBound, message)
}

// InstanceNotBound means that they are not, or not as they should be.
func InstanceNotBound(reason, message string) metav1.Condition {
	return condition(ConditionInstanceReady, metav1.ConditionFalse, reason, message)
}

// InstanceBoundUnknown means that the instance could not be read.
func InstanceBoundUnknown(reason, message string) metav1.Condition {
	return condition(ConditionInstanceReady, metav1.ConditionUnknown, reason, message)
}

// Bound means that a role has taken effect everywhere.
func Bound(message string) metav1.Condition {
	return condition(ConditionReady, metav1.ConditionTrue, ReasonBound, message)
}

// NotBound means that a role has not taken effect everywhere.
func NotBound(reason, message string) metav1.Condition {
	return condition(ConditionReady, metav1.ConditionFalse, reason, message)
}
