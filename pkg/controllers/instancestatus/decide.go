package instancestatus

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// own is the part of the status that this controller writes.
func own(all v1alpha1.InstanceStatus) v1alpha1.InstanceStatus {
	return v1alpha1.InstanceStatus{
		State:              all.State,
		Conditions:         status.Pick(all.Conditions, v1alpha1.ConditionReachable, v1alpha1.ConditionReady),
		ObservedGeneration: all.ObservedGeneration,
		KarmadaVersion:     all.KarmadaVersion,
		KubernetesVersion:  all.KubernetesVersion,
		APIEndpoint:        all.APIEndpoint,
	}
}

// decide turns a finding into the status. What was true at the last successful
// look and is not known any better now, such as the version, is kept.
func decide(instance *v1alpha1.Instance, found probe.Finding) v1alpha1.InstanceStatus {
	next := own(instance.Status)
	next.ObservedGeneration = instance.Generation
	// Karmada does not tell its version: /version is that of the kube-apiserver in
	// front, and the one of karmada-aggregated-apiserver is not proxied.
	next.KarmadaVersion = instance.Spec.KarmadaVersion
	if found.Seen != nil {
		next.APIEndpoint = found.Seen.Endpoint
		if found.Seen.Version != "" {
			next.KubernetesVersion = found.Seen.Version
		}
	}
	reachable, ready := found.Judge()
	next.State = state(instance, found, ready)
	next.Conditions = status.Conditions(instance.Status.Conditions, instance.Generation, reachable, ready)
	return next
}

// state is the one word about the instance.
func state(instance *v1alpha1.Instance, found probe.Finding, ready metav1.Condition) v1alpha1.InstanceState {
	switch {
	case found.Deleting:
		return v1alpha1.InstanceStateTerminating
	case found.Credentials != nil && instance.Spec.Mode == v1alpha1.InstanceModeManaged && instance.CredentialsRef() == nil:
		// Its installation is what will bring them.
		return v1alpha1.InstanceStateInProcess
	case found.Credentials != nil:
		return v1alpha1.InstanceStateUnknown
	case ready.Status == metav1.ConditionTrue:
		return v1alpha1.InstanceStateRunning
	}
	return v1alpha1.InstanceStateUnavailable
}
