package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of conditions.
const (
	// ConditionReachable reports whether the apiserver answers with these credentials.
	ConditionReachable = "Reachable"
	// ConditionReady reports whether the instance or cluster can be worked with; on an
	// InstanceRoleBinding, whether the role has taken effect everywhere.
	ConditionReady = "Ready"
	// ConditionIndexed reports whether its resources are being collected.
	ConditionIndexed = "Indexed"
	// ConditionGlobalReady reports whether the rules of an InstanceRoleBinding in the
	// global cluster are as they should be.
	ConditionGlobalReady = "GlobalReady"
	// ConditionInstanceReady says the same of its rules inside the instance.
	ConditionInstanceReady = "InstanceReady"
)

// Reasons of more than one condition.
const (
	// ReasonCredentialsMissing means that there is no reference, Secret or key.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonCredentialsInvalid means that the Secret's content cannot be used.
	ReasonCredentialsInvalid = "CredentialsInvalid"
	// ReasonDeleting means that the object is being deleted.
	ReasonDeleting = "Deleting"
)

// Reasons of ConditionReachable.
const (
	// ReasonAnswering means that the apiserver answered.
	ReasonAnswering = "Answering"
	// ReasonNotAnswering means that there was no answer in time.
	ReasonNotAnswering = "NotAnswering"
	// ReasonAddressNotPermitted means that the endpoint has an address to which the
	// controller manager's settings let nothing connect.
	ReasonAddressNotPermitted = "AddressNotPermitted"
	// ReasonRefused means that the apiserver answered and refused the credentials.
	ReasonRefused = "Refused"
	// ReasonNotTrusted means that the serving certificate did not pass.
	ReasonNotTrusted = "NotTrusted"
)

// Reasons of ConditionReady.
const (
	// ReasonAvailable means that everything that was looked at works.
	ReasonAvailable = "Available"
	// ReasonUnreachable means that ConditionReachable is not true.
	ReasonUnreachable = "Unreachable"
	// ReasonUnhealthy means that the apiserver says it is not ready.
	ReasonUnhealthy = "Unhealthy"
	// ReasonKarmadaMissing means that the apiserver does not serve Karmada's APIs.
	ReasonKarmadaMissing = "KarmadaMissing"
)

// Reasons of ConditionIndexed.
const (
	// ReasonCollecting means that the index collects everything it was asked to.
	ReasonCollecting = "Collecting"
	// ReasonPending means that the index has not started to collect yet.
	ReasonPending = "Pending"
	// ReasonSourceUnreachable means that the index cannot reach the apiserver. It
	// goes on serving what it had collected.
	ReasonSourceUnreachable = "SourceUnreachable"
	// ReasonCollectionFailed means that the index fails to collect some resources.
	ReasonCollectionFailed = "CollectionFailed"
	// ReasonRejectedByIndex means that the index does not accept what it was given.
	ReasonRejectedByIndex = "RejectedByIndex"
	// ReasonNameTaken means that an object of another owner has the name that is needed.
	ReasonNameTaken = "NameTaken"
	// ReasonNoInstance means that a Virtual cluster stands for no Instance.
	ReasonNoInstance = "NoInstance"
	// ReasonCleaningUp means that rows are being removed from the index.
	ReasonCleaningUp = "CleaningUp"
)

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// Reachable means that the apiserver answers.
func Reachable(message string) metav1.Condition {
	return condition(ConditionReachable, metav1.ConditionTrue, ReasonAnswering, message)
}

// Unreachable means that the apiserver does not answer, or not to us.
func Unreachable(reason, message string) metav1.Condition {
	return condition(ConditionReachable, metav1.ConditionFalse, reason, message)
}

// ReachableUnknown means that it could not be tried: there are no usable credentials.
func ReachableUnknown(reason, message string) metav1.Condition {
	return condition(ConditionReachable, metav1.ConditionUnknown, reason, message)
}

// Ready means that the instance or cluster can be worked with.
func Ready(message string) metav1.Condition {
	return condition(ConditionReady, metav1.ConditionTrue, ReasonAvailable, message)
}

// NotReady means that the instance or cluster cannot be worked with.
func NotReady(reason, message string) metav1.Condition {
	return condition(ConditionReady, metav1.ConditionFalse, reason, message)
}

// ReadyUnknown means that it could not be checked.
func ReadyUnknown(reason, message string) metav1.Condition {
	return condition(ConditionReady, metav1.ConditionUnknown, reason, message)
}

// Indexed means that resources are being collected.
func Indexed(message string) metav1.Condition {
	return condition(ConditionIndexed, metav1.ConditionTrue, ReasonCollecting, message)
}

// NotIndexed means that resources are not being collected.
func NotIndexed(reason, message string) metav1.Condition {
	return condition(ConditionIndexed, metav1.ConditionFalse, reason, message)
}

// IndexedUnknown means that it is not known yet whether resources are collected.
func IndexedUnknown(reason, message string) metav1.Condition {
	return condition(ConditionIndexed, metav1.ConditionUnknown, reason, message)
}
