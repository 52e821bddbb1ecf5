package operation

import (
	"fmt"
	"slices"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/moving"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// moved returns how far a workload has moved; nil for a policy or a state that there is none of.
func moved(op Operation, p *policyv1alpha1.PropagationPolicy, gone bool, status *workload.Status) finding {
	var f finding
	phase := moving.Withdrawn
	if p != nil {
		phase = moving.PhaseOf(p, op.Leaves, op.Enters)
	}
	switch {
	case gone:
		f.trouble = &trouble{ReasonDeleted, "the workload was deleted", true}
	case p == nil:
		f.trouble = &trouble{ReasonDeleted, "the policy was deleted", true}
	case phase == moving.Withdrawn:
		f.trouble = &trouble{ReasonWithdrawn, "the move was cancelled, or the policy was changed to something else", true}
	case status != nil && status.Health == workload.HealthUnscheduled:
		f.trouble = &trouble{ReasonUnscheduled, status.Message, false}
	}
	there, ready := 0, 0
	left := 0
	if status != nil {
		for _, s := range status.Placements {
			c := Cluster{Name: s.Cluster, Objects: 1}
			if s.Applied {
				c.Applied = 1
			}
			if s.Health == workload.HealthHealthy {
				c.Healthy = 1
			}
			if s.Message != "" {
				c.Message = &s.Message
			}
			f.clusters = append(f.clusters, c)
			if slices.Contains(op.Enters, s.Cluster) {
				there += c.Objects
				ready += c.Healthy
			}
			if slices.Contains(op.Leaves, s.Cluster) {
				left++
			}
		}
	}
	if f.trouble == nil && ready < len(op.Enters) {
		f.waits = fmt.Sprintf("it is ready in %d of %d clusters that it moves to", ready, len(op.Enters))
	}
	f.steps = sequence(
		one(StepWritten, phase != moving.Withdrawn, ""),
		counted(StepScheduled, there, len(op.Enters)),
		counted(StepHealthy, ready, len(op.Enters)),
		one(StepRemoved, phase == moving.Done && status != nil && left == 0, ""),
	)
	return f
}

// relocating returns how far a cluster of the inventory has moved from one instance to another: nil for a
// cluster, or a member, that there is none of.
func relocating(op Operation, c *v1alpha1.Cluster, former, member *clusterv1alpha1.Cluster) finding {
	into := op
	into.Instance = op.To
	f := joining(into, c, member)
	joined := joinedOf(c)
	left := former == nil && (c == nil || c.Status.Membership == nil || c.Status.Membership.Instance != op.Instance)
	if !left && f.trouble == nil && joined.Reason == v1alpha1.ReasonBlocked {
		f.waits = joined.Message
	}
	for i := range f.steps {
		f.steps[i].State = resumedState(f.steps[i])
	}
	f.steps = sequence(slices.Insert(f.steps, 1, one(StepLeft, left, joined.Message))...)
	return f
}

// resumedState forgets the place of a step in its sequence.
func resumedState(s Step) StepState {
	if s.State == StepDone {
		return StepDone
	}
	return ""
}

// drained returns how far a member cluster is drained: nil for a cluster that there is none of.
func drained(op Operation, c *clusterv1alpha1.Cluster, bindings []*workv1alpha2.ResourceBindingSpec) finding {
	var f finding
	taint := (*corev1.Taint)(nil)
	if c != nil {
		taint = moving.Draining(c)
	}
	switch {
	case c == nil:
		f.trouble = &trouble{ReasonDeleted, fmt.Sprintf("member cluster %s was removed", op.Cluster), true}
	case taint == nil:
		f.trouble = &trouble{ReasonWithdrawn, fmt.Sprintf("the drain of %s was undone", op.Cluster), true}
	}
	leaving, staying := 0, 0
	for _, b := range bindings {
		switch {
		case b.ClusterInGracefulEvictionTasks(op.Cluster):
			leaving++
		case b.TargetContains(op.Cluster):
			staying++
		}
	}
	evicted := taint != nil && taint.Value == moving.DrainEvicted
	if f.trouble == nil {
		f.waits = fmt.Sprintf("%d objects are leaving, and %d stay", leaving, staying)
	}
	f.clusters = []Cluster{{Name: op.Cluster, Objects: leaving + staying, Applied: leaving + staying, Healthy: staying}}
	f.steps = sequence(one(StepWritten, taint != nil, ""), one(StepEvicted, evicted, ""), one(StepRemoved, evicted && leaving == 0, f.waits))
	return f
}
