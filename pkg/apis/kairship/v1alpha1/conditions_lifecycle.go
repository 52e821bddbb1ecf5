package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of an Instance's life cycle.
const (
	// ConditionInstalled reports whether the Karmada of a Managed Instance is installed
	// as its spec asks, and else how far that got.
	ConditionInstalled = "Installed"
	// ConditionRemovable says what an Instance that is being deleted waits for.
	ConditionRemovable = "Removable"
)

// Reasons of ConditionInstalled, beside ReasonPending, ReasonNameTaken and
// ReasonNotAllowed, which are shared with other conditions.
const (
	// ReasonInstalled means that the operator has done everything.
	ReasonInstalled = "Installed"
	// ReasonSourceNotPermitted means that images or CRDs were to come from a registry or
	// host that the controller manager's settings do not permit.
	ReasonSourceNotPermitted = "SourceNotPermitted"
	// ReasonArgumentNotPermitted means that a component was to have an argument that
	// Kairship does not pass on.
	ReasonArgumentNotPermitted = "ArgumentNotPermitted"
	// ReasonHostClusterMissing means that there is no Physical Cluster of the name.
	ReasonHostClusterMissing = "HostClusterMissing"
	// ReasonHostClusterNotReady means that it is not known yet how to reach the host
	// cluster, or which cluster it is.
	ReasonHostClusterNotReady = "HostClusterNotReady"
	// ReasonOperatorMissing means that the global cluster does not know the
	// operator's kind Karmada.
	ReasonOperatorMissing = "OperatorMissing"
	// ReasonInstalling means that the operator is at work.
	ReasonInstalling = "Installing"
	// ReasonInstallationFailed means that the operator failed. It tries again.
	ReasonInstallationFailed = "InstallationFailed"
	// ReasonRejectedByOperator means that the operator does not accept what it was
	// asked for.
	ReasonRejectedByOperator = "RejectedByOperator"
	// ReasonUpdating means that the operator changes what was installed before. The
	// instance serves meanwhile.
	ReasonUpdating = "Updating"
	// ReasonUpdateFailed means that the operator failed to change what was installed
	// before. It tries again, and the instance may well serve.
	ReasonUpdateFailed = "UpdateFailed"
	// ReasonUninstalling means that the operator removes the Karmada.
	ReasonUninstalling = "Uninstalling"
	// ReasonUninstallStuck means that this takes longer than it should.
	ReasonUninstallStuck = "UninstallStuck"
)

// Reasons of ConditionRemovable.
const (
	// ReasonClustersJoined means that clusters of the inventory are joined to the
	// instance; the message lists them.
	ReasonClustersJoined = "ClustersJoined"
	// ReasonCleaningUpFirst means that what Kairship has inside the instance, and in
	// the index, is removed before the instance itself.
	ReasonCleaningUpFirst = "CleaningUpFirst"
	// ReasonForced means that a user asked not to wait for anything.
	ReasonForced = "Forced"
	// ReasonRemovable means that nothing keeps the Instance.
	ReasonRemovable = "Removable"
)

// Installed means that the Karmada is installed as it should be.
func Installed(message string) metav1.Condition {
	return condition(ConditionInstalled, metav1.ConditionTrue, ReasonInstalled, message)
}

// NotInstalled means that the Karmada is not as it should be, and why.
func NotInstalled(reason, message string) metav1.Condition {
	return condition(ConditionInstalled, metav1.ConditionFalse, reason, message)
}

// InstalledUnknown means that the request has not been looked at yet.
func InstalledUnknown(reason, message string) metav1.Condition {
	return condition(ConditionInstalled, metav1.ConditionUnknown, reason, message)
}

// Removable means that nothing of Kairship keeps the Instance.
func Removable(reason, message string) metav1.Condition {
	return condition(ConditionRemovable, metav1.ConditionTrue, reason, message)
}

// NotRemovable says what an Instance that is being deleted waits for.
func NotRemovable(reason, message string) metav1.Condition {
	return condition(ConditionRemovable, metav1.ConditionFalse, reason, message)
}
