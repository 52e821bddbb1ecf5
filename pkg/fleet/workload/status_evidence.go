package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// A status proves only the state of what it was computed from. A change passes
// from the template to the binding, to the scheduling result, to the Works, to
// the objects in the members and back as their status, and each of these may
// still show the change before. The functions of this file compare them.

// PendingDecision is a decision of the instance about the latest change that is missing.
type PendingDecision string

// The decisions.
const (
	// PendingBinding is the binding of the template itself: there is one of an earlier object.
	PendingBinding PendingDecision = "Binding"
	// PendingClaim is the end of the claim of a policy that is being deleted.
	PendingClaim PendingDecision = "Claim"
	// PendingPolicy is the takeover of a change of the policy.
	PendingPolicy PendingDecision = "Policy"
	// PendingReplicas is the takeover of a change of the number of replicas.
	PendingReplicas PendingDecision = "Replicas"
	// PendingScheduling is the scheduler's.
	PendingScheduling PendingDecision = "Scheduling"
)

// PendingDecision returns which decision of the instance about the latest change is missing, with a
// text for a person; empty when none is known to be.
func (in Facts) PendingDecision() (PendingDecision, string) {
	if in.Binding == nil {
		return "", ""
	}
	spec, status := &in.Binding.Spec, &in.Binding.Status
	switch asked := in.Template.Spec.Replicas; {
	case in.Unmanaged():
		return "", "" // No decision will follow.
	case spec.Resource.UID != "" && in.Template.UID != "" && spec.Resource.UID != in.Template.UID:
		return PendingBinding, "Karmada's binding is still that of an earlier object of this name"
	case in.PolicyMissing:
		return PendingClaim, "the propagation policy that claims it does not exist"
	case in.policyLeaves():
		return PendingClaim, "the propagation policy that claims it is being deleted"
	case in.policyChanged():
		return PendingPolicy, "Karmada has not taken over the change of its policy yet"
	case schedulingSuspended(in.Binding):
		return "", "" // The same.
	case meta.IsStatusConditionFalse(status.Conditions, workv1alpha2.Scheduled):
		return "", "" // It was decided: the change cannot be scheduled.
	case hasReplicas(in.Kind) && asked != nil && *asked != spec.Replicas:
		return PendingReplicas, fmt.Sprintf("Karmada has not taken over the change to %d replicas yet", *asked)
	case spec.Placement != nil && status.SchedulerObservedGeneration > 0 && status.SchedulerObservedGeneration < in.Binding.Generation:
		return PendingScheduling, "Karmada's scheduler has not decided about the latest change yet"
	}
	return "", ""
}

// undivided returns the total number of replicas in all clusters that a change requests and
// Karmada's scheduler has not assigned yet; nil when it has, and where overrides or members change
// the number. The placements still have the numbers from before.
func undivided(in Facts) *int32 {
	if in.Binding == nil || in.Template == nil || in.Template.Spec.Replicas == nil || !hasReplicas(in.Kind) ||
		in.Unmanaged() || schedulingSuspended(in.Binding) || in.Template.Labels[retainReplicasLabel] == "true" {
		return nil
	}
	spec, status, asked := &in.Binding.Spec, &in.Binding.Status, *in.Template.Spec.Replicas
	refused := meta.IsStatusConditionFalse(status.Conditions, workv1alpha2.Scheduled)
	deciding := asked != spec.Replicas || (status.SchedulerObservedGeneration > 0 && status.SchedulerObservedGeneration < in.Binding.Generation)
	if spec.Placement == nil || refused || !deciding {
		return nil
	}
	for _, target := range targetsOf(spec) {
		if _, overridden := overriddenReplicas(in.overridesOf(target.Name)); overridden {
			return nil
		}
	}
	if spec.Placement.ReplicaSchedulingType() != policyv1alpha1.ReplicaSchedulingTypeDivided {
		asked *= int32(len(spec.Clusters)) //nolint:gosec // An instance has few clusters.
	}
	return &asked
}

// policyChanged reports whether the placement of the binding differs from the policy's. A lazy
// policy changes a binding only when its template changes.
func (in Facts) policyChanged() bool {
	p, placed := in.Policy, in.Binding.Spec.Placement
	return p != nil && placed != nil && p.Spec.ActivationPreference != policyv1alpha1.LazyActivation &&
		!equality.Semantic.DeepEqual(p.Spec.Placement, *placed)
}

// policyLeaves reports whether the policy that claims the workload is being deleted. Karmada
// removes its claim a moment later, and the workload is unmanaged from then on: which of the
// two was deleted first cannot be known from objects that are watched separately.
func (in Facts) policyLeaves() bool {
	return in.Policy != nil && !in.Policy.DeletionTimestamp.IsZero()
}

// Unmanaged reports whether Karmada made a binding for the workload and no policy
// claims the workload any more: Karmada leaves what runs as it is and propagates
// no further change. A binding that others require is managed by these.
func (in Facts) Unmanaged() bool {
	return in.Binding != nil && len(in.Binding.Spec.RequiredBy) == 0 && PolicyRefOf(in.Template) == nil
}

// held reports whether changes are not sent to the placement's cluster, so that what runs there is
// compared with the last Work that was sent.
func held(in Facts, p PlacementStatus) bool { return p.Suspended || in.Unmanaged() }

func schedulingSuspended(binding *workv1alpha2.ResourceBinding) bool {
	s := binding.Spec.Suspension
	return s != nil && s.Scheduling != nil && *s.Scheduling
}

func hasReplicas(kind Kind) bool { return kind == KindDeployment || kind == KindStatefulSet }

// replicas is the number that the member's object asks for, as far as it is known.
func (o *observation) replicas() int32 {
	if o.object != nil && o.object.Spec.Replicas != nil {
		return *o.object.Spec.Replicas
	}
	return o.status.Replicas
}

// scaledOtherwise reports whether the member's object is known to ask for another number of replicas than it
// has to. The template's generation does not show that: Karmada may send a change of the template before the
// scheduler has divided its replicas, and the division afterwards.
func (o *observation) scaledOtherwise(kind Kind, desired *int32) bool {
	return hasReplicas(kind) && desired != nil && o.object != nil && o.object.Spec.Replicas != nil && *o.object.Spec.Replicas != *desired
}

// retained reports whether the member decides about the number of replicas.
func retained(in Facts, cluster string, seen *observation) bool {
	if in.Template.Labels[retainReplicasLabel] == "true" {
		return true
	}
	if seen != nil && seen.object != nil && seen.object.Labels[retainReplicasLabel] == "true" {
		return true
	}
	return slices.ContainsFunc(in.overridesOf(cluster), func(o AppliedOverride) bool {
		return slices.ContainsFunc(o.Overriders.LabelsOverrider, func(l policyv1alpha1.LabelAnnotationOverrider) bool {
			return l.Operator != policyv1alpha1.OverriderOpRemove && l.Value[retainReplicasLabel] == "true"
		})
	})
}

// Record adds what the annotations of a Work record about overrides to Facts.Overrides. A Work
// with an annotation that cannot be read changes nothing: Karmada did not write it.
func Record(overrides map[string][]AppliedOverride, executionNamespace string, workAnnotations map[string]string) {
	cluster, ok := ClusterOfExecutionNamespace(executionNamespace)
	if !ok {
		return
	}
	if applied, err := appliedOverrides(workAnnotations); err == nil {
		overrides[cluster] = applied
	}
}

// overriddenReplicas is the number of replicas that override policies set, in the
// order in which Karmada applies them; false when none sets it. A nil number means
// that it was removed, so that the member's default holds.
func overriddenReplicas(overrides []AppliedOverride) (n *int32, found bool) {
	for i := range overrides {
		for _, p := range overrides[i].Overriders.Plaintext {
			switch strings.TrimSuffix(p.Path, "/") {
			case "/spec/replicas":
				n, found = replicasIn(p.Operator, p.Value.Raw), true
			case "", "/spec":
				found = true
				var spec struct {
					Replicas *int32 `json:"replicas"`
					Spec     struct {
						Replicas *int32 `json:"replicas"`
					} `json:"spec"`
				}
				n = nil
				if p.Operator != policyv1alpha1.OverriderOpRemove && json.Unmarshal(p.Value.Raw, &spec) == nil {
					if n = spec.Replicas; n == nil {
						n = spec.Spec.Replicas
					}
				}
			}
		}
	}
	return n, found
}

func replicasIn(operator policyv1alpha1.OverriderOperator, raw []byte) *int32 {
	var n int32
	if operator == policyv1alpha1.OverriderOpRemove || json.Unmarshal(raw, &n) != nil {
		return nil
	}
	return &n
}
