package instancestatus

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// stateOf summarizes an instance. It depends on its arguments only, so that a reader of the status
// can see the reason for it. served reports whether a Managed instance has credentials, so that
// there is something to reach.
func stateOf(mode v1alpha1.InstanceMode, served, deleting bool, conditions []metav1.Condition) v1alpha1.InstanceState {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case deleting:
		return v1alpha1.InstanceStateTerminating
	case mode == v1alpha1.InstanceModeManaged && inProcess(served, meta.FindStatusCondition(conditions, v1alpha1.ConditionInstalled)):
		// It may answer, but it is not as its spec says yet.
		return v1alpha1.InstanceStateInProcess
	case ready == nil, ready.Status == metav1.ConditionUnknown:
		return v1alpha1.InstanceStateUnknown
	case ready.Status == metav1.ConditionTrue:
		return v1alpha1.InstanceStateRunning
	}
	return v1alpha1.InstanceStateUnavailable
}

// inProcess reports whether a Managed instance is being changed to match its spec. Once it has been
// installed, that is so only while the operator works: any other problem with a change leaves the
// installation as it is. Only condition Installed reports then that it does not match the spec.
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
