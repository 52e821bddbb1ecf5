package instancestatus

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// State is the one word about an instance. It depends on nothing but what is
// passed, so that a reader of the status can tell why it is so. Served reports whether
// a Managed instance has been given credentials: there is something to reach.
func State(mode v1alpha1.InstanceMode, served, deleting bool, conditions []metav1.Condition) v1alpha1.InstanceState {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case deleting:
		return v1alpha1.InstanceStateTerminating
	case mode == v1alpha1.InstanceModeManaged && inProcess(served, meta.FindStatusCondition(conditions, v1alpha1.ConditionInstalled)):
		// It may well answer, but it is not what it is to be yet.
		return v1alpha1.InstanceStateInProcess
	case ready == nil, ready.Status == metav1.ConditionUnknown:
		return v1alpha1.InstanceStateUnknown
	case ready.Status == metav1.ConditionTrue:
		return v1alpha1.InstanceStateRunning
	}
	return v1alpha1.InstanceStateUnavailable
}

// inProcess reports whether a Managed instance is on its way to what its spec asks for.
// Of one that has been installed once that is so only while the operator is at work:
// whatever else keeps it from being changed leaves what there is, which is as it is.
// Only condition Installed says then that it is not what it is to be.
func inProcess(served bool, installed *metav1.Condition) bool {
	if installed == nil {
		return !served
	}
	switch installed.Reason {
	case v1alpha1.ReasonPending, v1alpha1.ReasonInstalling, v1alpha1.ReasonUpdating:
		return true
	case v1alpha1.ReasonInstalled, v1alpha1.ReasonUpdateFailed, v1alpha1.ReasonRejectedByOperator:
		return false
	}
	return !served
}

// ready sums up the conditions that say how an instance is. The first that is not
// true gives the reason; a control plane that is not the instance's own comes first,
// because how that one is does not matter.
func ready(reachable, apiserver, karmada, identity metav1.Condition) metav1.Condition {
	switch {
	case reachable.Reason == v1alpha1.ReasonDeleting:
		return v1alpha1.NotReady(v1alpha1.ReasonDeleting, "It is being deleted.")
	case identity.Status == metav1.ConditionFalse:
		return v1alpha1.NotReady(identity.Reason, identity.Message)
	case reachable.Status == metav1.ConditionUnknown:
		return v1alpha1.ReadyUnknown(reachable.Reason, reachable.Message)
	case reachable.Status == metav1.ConditionFalse:
		return v1alpha1.NotReady(v1alpha1.ReasonUnreachable, "It cannot be reached, see condition Reachable.")
	}
	for _, part := range []metav1.Condition{apiserver, karmada, identity} {
		switch part.Status {
		case metav1.ConditionTrue:
		case metav1.ConditionFalse:
			return v1alpha1.NotReady(part.Reason, part.Message)
		default:
			return v1alpha1.ReadyUnknown(part.Reason, part.Message)
		}
	}
	return v1alpha1.Ready("It answers, is ready and serves Karmada's APIs.")
}
