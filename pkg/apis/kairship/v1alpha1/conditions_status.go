package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Types of the conditions that say how an instance is.
const (
	// ConditionAPIServerHealthy reports whether the instance's apiserver reports that it
	// is ready.
	ConditionAPIServerHealthy = "APIServerHealthy"
	// ConditionControlPlaneHealthy reports whether what makes the apiserver a Karmada
	// works, as far as that can be seen from outside.
	ConditionControlPlaneHealthy = "ControlPlaneHealthy"
	// ConditionRegistered reports whether global management can learn of the instance.
	ConditionRegistered = "Registered"
)

// Reasons of ConditionAPIServerHealthy and ConditionControlPlaneHealthy, besides
// ReasonUnreachable, ReasonUnhealthy, ReasonKarmadaMissing and ReasonRefused.
const (
	// ReasonHealthy means that the apiserver reports that it is ready.
	ReasonHealthy = "Healthy"
	// ReasonServing means that everything of Karmada that can be seen works.
	ReasonServing = "Serving"
	// ReasonAggregationFailed means that karmada-aggregated-apiserver is not reached.
	ReasonAggregationFailed = "AggregationFailed"
	// ReasonComponentDown means that a component of Karmada has stopped to renew
	// its Lease.
	ReasonComponentDown = "ComponentDown"
	// ReasonWebhookFailed means that Karmada's admission webhook does not answer.
	ReasonWebhookFailed = "WebhookFailed"
)

// ReasonRegistered is the reason of ConditionRegistered when it is true;
// otherwise it is ReasonNameTaken, ReasonPending or ReasonDeleting.
const ReasonRegistered = "Registered"

// APIServerHealthy means that the apiserver is ready.
func APIServerHealthy(message string) metav1.Condition {
	return condition(ConditionAPIServerHealthy, metav1.ConditionTrue, ReasonHealthy, message)
}

// APIServerUnhealthy means that the apiserver is not ready.
func APIServerUnhealthy(reason, message string) metav1.Condition {
	return condition(ConditionAPIServerHealthy, metav1.ConditionFalse, reason, message)
}

// APIServerUnknown means that the apiserver could not be asked.
func APIServerUnknown(reason, message string) metav1.Condition {
	return condition(ConditionAPIServerHealthy, metav1.ConditionUnknown, reason, message)
}

// ControlPlaneHealthy means that what can be seen of Karmada works.
func ControlPlaneHealthy(message string) metav1.Condition {
	return condition(ConditionControlPlaneHealthy, metav1.ConditionTrue, ReasonServing, message)
}

// ControlPlaneUnhealthy means that something of Karmada does not work.
func ControlPlaneUnhealthy(reason, message string) metav1.Condition {
	return condition(ConditionControlPlaneHealthy, metav1.ConditionFalse, reason, message)
}

// ControlPlaneUnknown means that it could not be checked.
func ControlPlaneUnknown(reason, message string) metav1.Condition {
	return condition(ConditionControlPlaneHealthy, metav1.ConditionUnknown, reason, message)
}

// Registered means that global management can learn of the instance.
func Registered(message string) metav1.Condition {
	return condition(ConditionRegistered, metav1.ConditionTrue, ReasonRegistered, message)
}

// NotRegistered means that it can't.
func NotRegistered(reason, message string) metav1.Condition {
	return condition(ConditionRegistered, metav1.ConditionFalse, reason, message)
}
