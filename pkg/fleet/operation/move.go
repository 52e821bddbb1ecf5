package operation

import (
	"fmt"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// The annotations of a policy whose workload moves: the clusters that it leaves and enters, and those that the
// policy named before, with commas between them. They are there while the policy names the old and the new ones.
const (
	MoveFrom   = "kairship.io/move-from"
	MoveTo     = "kairship.io/move-to"
	MoveBefore = "kairship.io/move-before"
)

// DrainTaint is the key of the taint of a member cluster that is drained. Its value is one of the phases.
const DrainTaint = "kairship.io/drain"

// The phases of a drain.
const (
	// DrainEvicting: what can move is being told to.
	DrainEvicting = "evicting"
	// DrainEvicted: all that could move was told to.
	DrainEvicted = "evicted"
)

// Draining is the drain taint of a member cluster; nil for none.
func Draining(c *clusterv1alpha1.Cluster) *corev1.Taint {
	for i := range c.Spec.Taints {
		if t := &c.Spec.Taints[i]; t.Key == DrainTaint && t.Effect == corev1.TaintEffectNoSchedule {
			return t
		}
	}
	return nil
}

// movePhase is how far the policy of a workload that moves has come.
type movePhase int

const (
	// moveWithdrawn: the policy says something else.
	moveWithdrawn movePhase = iota
	// moveBoth: it names the clusters that are left and those that are entered.
	moveBoth
	// moveDone: it names only those that are entered.
	moveDone
)

// phaseOf is how far a policy has come with a move.
func phaseOf(p *policyv1alpha1.PropagationPolicy, op Operation) movePhase {
	var names []string
	if a := p.Spec.Placement.ClusterAffinity; a != nil {
		names = a.ClusterNames
	}
	for _, enters := range op.Enters {
		if !slices.Contains(names, enters) {
			return moveWithdrawn
		}
	}
	leaves := slices.ContainsFunc(op.Leaves, func(name string) bool { return slices.Contains(names, name) })
	switch marked := p.Annotations[MoveFrom] == strings.Join(op.Leaves, ",") && p.Annotations[MoveTo] == strings.Join(op.Enters, ","); {
	case leaves && marked:
		return moveBoth
	case leaves:
		return moveWithdrawn
	}
	return moveDone
}

// moved returns how far a workload has moved; nil for a policy or a state that there is none of.
func moved(op Operation, p *policyv1alpha1.PropagationPolicy, gone bool, status *workload.Status) finding {
	var f finding
	phase := moveWithdrawn
	if p != nil {
		phase = phaseOf(p, op)
	}
	switch {
	case gone:
		f.trouble = &trouble{ReasonDeleted, "the workload was deleted", true}
	case p == nil:
		f.trouble = &trouble{ReasonDeleted, "the policy was deleted", true}
	case phase == moveWithdrawn:
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
		one(StepWritten, phase != moveWithdrawn, ""),
		counted(StepScheduled, there, len(op.Enters)),
		counted(StepHealthy, ready, len(op.Enters)),
		one(StepRemoved, phase == moveDone && status != nil && left == 0, ""),
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
		taint = Draining(c)
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
	evicted := taint != nil && taint.Value == DrainEvicted
	if f.trouble == nil {
		f.waits = fmt.Sprintf("%d objects are leaving, and %d stay", leaving, staying)
	}
	f.clusters = []Cluster{{Name: op.Cluster, Objects: leaving + staying, Applied: leaving + staying, Healthy: staying}}
	f.steps = sequence(one(StepWritten, taint != nil, ""), one(StepEvicted, evicted, ""), one(StepRemoved, evicted && leaving == 0, f.waits))
	return f
}
