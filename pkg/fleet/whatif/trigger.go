package whatif

import (
	"encoding/json"
	"reflect"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util"
)

// defaultScheduler is the name of Karmada's own scheduler.
const defaultScheduler = "default-scheduler"

// schedulable reports whether Karmada's own scheduler looks at a binding (resourceBindingEventFilter).
func schedulable(b *workv1alpha2.ResourceBinding) bool {
	name := b.Spec.SchedulerName
	return (name == "" || name == defaultScheduler) && !b.Spec.SchedulingSuspended() && claimed(b) && b.Spec.Placement != nil
}

// due reports whether the scheduler schedules a binding that it looks at, as doScheduleBinding decides.
func due(b *workv1alpha2.ResourceBinding, clusters []*clusterv1alpha1.Cluster) bool {
	spec := &b.Spec
	switch {
	case placementChanged(spec.Placement, b.Annotations[util.PolicyPlacementAnnotation], b.Status.SchedulerObservedAffinityName),
		util.IsBindingReplicasChanged(spec, spec.Placement.ReplicaScheduling),
		util.RescheduleRequired(spec.RescheduleTriggeredAt, b.Status.LastScheduledTime),
		!spec.IsWorkload(),
		spec.Placement.ReplicaSchedulingType() == policyv1alpha1.ReplicaSchedulingTypeDuplicated:
		return true
	}
	for _, c := range clusters {
		if !c.DeletionTimestamp.IsZero() && spec.TargetContains(c.Name) {
			return true
		}
	}
	return false
}

// placementChanged reports whether a placement differs from the one that was applied, where that matters
// (placementChanged of the scheduler): of several affinities only the one in use does.
func placementChanged(now *policyv1alpha1.Placement, annotation, affinity string) bool {
	if annotation == "" {
		return true
	}
	var was policyv1alpha1.Placement
	if err := json.Unmarshal([]byte(annotation), &was); err != nil {
		return false
	}
	switch {
	case reflect.DeepEqual(*now, was):
		return false
	case !reflect.DeepEqual(now.ClusterAffinity, was.ClusterAffinity),
		!reflect.DeepEqual(now.ClusterTolerations, was.ClusterTolerations),
		!reflect.DeepEqual(now.SpreadConstraints, was.SpreadConstraints),
		!reflect.DeepEqual(now.ReplicaScheduling, was.ReplicaScheduling):
		return true
	}
	before, after := term(was.ClusterAffinities, affinity), term(now.ClusterAffinities, affinity)
	return before == nil || after == nil || !reflect.DeepEqual(before, after)
}

// term returns the affinity of a name; nil for none.
func term(terms []policyv1alpha1.ClusterAffinityTerm, name string) *policyv1alpha1.ClusterAffinityTerm {
	for i := range terms {
		if name != "" && terms[i].AffinityName == name {
			return &terms[i]
		}
	}
	return nil
}
