package instancestatus

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/debounce"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// ours are the conditions that this controller writes.
var ours = []string{
	v1alpha1.ConditionReachable, v1alpha1.ConditionAPIServerHealthy, v1alpha1.ConditionControlPlaneHealthy, v1alpha1.ConditionReady,
	v1alpha1.ConditionIdentified,
}

// own is the part of the status that this controller writes.
func own(all v1alpha1.InstanceStatus) v1alpha1.InstanceStatus {
	return v1alpha1.InstanceStatus{
		State:              all.State,
		Conditions:         status.Pick(all.Conditions, ours...),
		ObservedGeneration: all.ObservedGeneration,
		KarmadaVersion:     all.KarmadaVersion,
		KubernetesVersion:  all.KubernetesVersion,
		APIEndpoint:        all.APIEndpoint,
		ControlPlane:       all.ControlPlane,
	}
}

// found is what is known of an instance after a look, or instead of one.
type found struct {
	probe.Finding
	// Asked is what the look showed of which control plane it is.
	Asked asked
	// Karmada is what the look showed of Karmada; nil when it did not ask.
	Karmada *facts
	// Began is when the look began.
	Began time.Time
}

// decision is the status that a look leads to, but for what depends on whether the
// control plane is the Instance's own.
type decision struct {
	next v1alpha1.InstanceStatus
	// reachable, apiserver and karmada are the conditions.
	reachable, apiserver, karmada metav1.Condition
	asked                         asked
	deleting                      bool
}

// conclude is the status with a control plane.
func (v *decision) conclude(instance *v1alpha1.Instance, controlPlane *v1alpha1.InstanceControlPlane) v1alpha1.InstanceStatus {
	next := v.next
	next.ControlPlane = controlPlane
	stored := meta.FindStatusCondition(instance.Status.Conditions, v1alpha1.ConditionIdentified)
	identity := identified(controlPlane, stored, v.asked, v.reachable)
	now := []metav1.Condition{v.reachable, v.apiserver, v.karmada, ready(v.reachable, v.apiserver, v.karmada, identity), identity}
	next.Conditions = status.Conditions(instance.Status.Conditions, instance.Generation, now...)
	all := append(status.Pick(instance.Status.Conditions, v1alpha1.ConditionInstalled), now...)
	next.State = stateOf(instance.Spec.Mode, instance.Status.KubeconfigSecretRef != nil, v.deleting, all)
	return next
}

// decide converts a finding into the status. It keeps the results of the last successful look that
// the finding does not replace, such as the version. pending means that more looks are needed to
// decide whether a condition changed.
func decide(instance *v1alpha1.Instance, f found, debouncer *debounce.Debouncer) (v decision, pending bool) {
	next := own(instance.Status)
	next.ObservedGeneration = instance.Generation
	next.KarmadaVersion = karmadaVersion(instance)
	if f.Seen != nil {
		next.APIEndpoint = f.Seen.Endpoint
		if f.Seen.Version != "" {
			next.KubernetesVersion = f.Seen.Version
		}
	}
	next.ControlPlane = record(instance.Spec.Mode, next.ControlPlane, f.Asked)
	v = decision{next: next, asked: f.Asked, deleting: f.Deleting}
	return v, v.judge(instance, f, debouncer)
}

// judge debounces the conditions that a look shows.
func (v *decision) judge(instance *v1alpha1.Instance, f found, debouncer *debounce.Debouncer) (pending bool) {
	stored := instance.Status.Conditions
	shown, _ := f.Judge()
	debounced, pending := debouncer.Debounce(instance.Name, f.Began, stored, shown)
	v.reachable = debounced[0]

	v.apiserver, v.karmada = unasked(v.reachable)
	if v.reachable.Status != metav1.ConditionTrue {
		// What is known anew after an outage contradicts nothing.
		debouncer.Forget(instance.Name, v1alpha1.ConditionAPIServerHealthy, v1alpha1.ConditionControlPlaneHealthy)
		return pending
	}

	var waits bool
	v.apiserver, waits = debounceOne(debouncer, instance.Name, f, stored, v1alpha1.ConditionAPIServerHealthy, f.apiserver())
	pending = pending || waits
	v.karmada, waits = debounceOne(debouncer, instance.Name, f, stored, v1alpha1.ConditionControlPlaneHealthy, f.karmada())
	return pending || waits
}

// debounceOne debounces one condition, or keeps the stored one when the look has not shown it.
func debounceOne(debouncer *debounce.Debouncer, name string, f found, stored []metav1.Condition, kind string, shown *metav1.Condition) (debounced metav1.Condition, pending bool) {
	if shown == nil {
		if old := meta.FindStatusCondition(stored, kind); old != nil && old.Status != metav1.ConditionUnknown {
			return *old, false
		}
		return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending, Message: "It has not been asked yet."}, false
	}
	all, pending := debouncer.Debounce(name, f.Began, stored, *shown)
	return all[0], pending
}

// unasked returns the conditions about an instance that can't be reached, or was not looked at.
func unasked(reachable metav1.Condition) (apiserver, karmada metav1.Condition) {
	reason, message := reachable.Reason, reachable.Message
	if reachable.Status == metav1.ConditionFalse {
		reason, message = v1alpha1.ReasonUnreachable, "It cannot be reached, see condition Reachable."
	}
	return v1alpha1.APIServerUnknown(reason, message), v1alpha1.ControlPlaneUnknown(reason, message)
}

// apiserver returns the condition that the look showed of the API server; nil for none.
func (f found) apiserver() *metav1.Condition {
	switch {
	case f.Seen == nil || f.Seen.Err != nil:
		return nil
	case f.Seen.Health != nil:
		c := v1alpha1.APIServerUnhealthy(v1alpha1.ReasonUnhealthy, probe.Unhealthy(f.Seen.Health))
		return &c
	}
	c := v1alpha1.APIServerHealthy("It says that it is ready.")
	return &c
}

// karmada is what the look showed of Karmada; nil when nothing.
func (f found) karmada() *metav1.Condition {
	if f.Karmada == nil {
		return nil
	}
	c := f.Karmada.judge()
	return &c
}

// karmadaVersion returns the version of Karmada that is known to run. Karmada does not report it:
// /version is that of the kube-apiserver in front, and the one of karmada-aggregated-apiserver is
// not proxied. So for an External instance it is the version that a user declared, and for a
// Managed one the version that was last installed.
func karmadaVersion(instance *v1alpha1.Instance) string {
	if instance.Spec.Mode != v1alpha1.InstanceModeManaged {
		return instance.Spec.KarmadaVersion
	}
	installed := meta.FindStatusCondition(instance.Status.Conditions, v1alpha1.ConditionInstalled)
	if installed != nil && installed.Status == metav1.ConditionTrue && installed.ObservedGeneration == instance.Generation {
		return instance.Spec.KarmadaVersion
	}
	return instance.Status.KarmadaVersion
}
