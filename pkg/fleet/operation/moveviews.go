package operation

import (
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/subscription"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/live"
)

// movingWorkload views a workload that moves between member clusters. The objects of its operation are the
// policy and the workload.
type movingWorkload struct {
	op     Operation
	policy *policyv1alpha1.PropagationPolicy
	status *workload.Status
	gone   bool
}

func (m *movingWorkload) interests() []live.Interest {
	policy, template := m.op.Objects[0], m.op.Objects[1]
	w := named(m.op.Instance, template.Type(), template.Name)
	w.Join = subscription.WorkloadJoin(m.op.Instance, template.Type())
	// No event reports that it is missing, only the end of the snapshot.
	m.gone = true
	return []live.Interest{named(m.op.Instance, policy.Type(), policy.Name), w}
}

func (m *movingWorkload) see(e *live.Event) {
	if e.Object == nil {
		return
	}
	is := func(o Object) bool {
		return e.Source.Resource == o.Type().GroupVersionResource() && e.Object.Key() == live.Key{Namespace: o.Namespace, Name: o.Name}
	}
	switch {
	case is(m.op.Objects[0]):
		m.policy = current[policyv1alpha1.PropagationPolicy](e) // The cluster's own kind has the same fields.
	case is(m.op.Objects[1]):
		m.gone, m.status = e.Type == live.Deleted, nil
		if o, ok := e.Object.Joined.(*workload.Observed); ok && !m.gone {
			m.status = o.Status
		}
	}
}

func (m *movingWorkload) find(time.Time) finding { return moved(m.op, m.policy, m.gone, m.status) }

func (m *movingWorkload) recheckAfter(time.Time) time.Duration { return 0 }

// relocation views a cluster that moves from one instance to another.
type relocation struct {
	op             Operation
	seen           seen
	cluster        *v1alpha1.Cluster
	former, member *clusterv1alpha1.Cluster
}

func (r *relocation) interests() []live.Interest {
	return []live.Interest{
		named("", clusters, r.op.Cluster), named(r.op.Instance, index.MemberClusters, r.op.Cluster), named(r.op.To, index.MemberClusters, r.op.Cluster),
	}
}

func (r *relocation) see(e *live.Event) {
	switch {
	case e.Object == nil:
	case e.Source.Instance == "":
		r.seen.note(e)
		r.cluster = current[v1alpha1.Cluster](e)
	case e.Source.Instance == r.op.To:
		r.member = current[clusterv1alpha1.Cluster](e)
	default:
		r.former = current[clusterv1alpha1.Cluster](e)
	}
}

func (r *relocation) find(now time.Time) finding {
	if r.seen.waits(now) > 0 {
		return unseen(StepWritten, StepLeft, StepCredentials, StepRegistered, StepReady)
	}
	return relocating(r.op, r.cluster, r.former, r.member)
}

func (r *relocation) recheckAfter(now time.Time) time.Duration { return r.seen.waits(now) }

// draining views a member cluster that is drained.
type draining struct {
	op       Operation
	seen     seen
	cluster  *clusterv1alpha1.Cluster
	bindings map[watched]*workv1alpha2.ResourceBindingSpec
}

func newDraining(op Operation) *draining {
	return &draining{op: op, seen: newSeen(op), bindings: map[watched]*workv1alpha2.ResourceBindingSpec{}}
}

func (d *draining) interests() []live.Interest {
	return []live.Interest{named(d.op.Instance, index.MemberClusters, d.op.Cluster), named(d.op.Instance, index.ResourceBindings), named(d.op.Instance, index.ClusterResourceBindings)}
}

func (d *draining) see(e *live.Event) {
	switch {
	case e.Object == nil:
	case e.Source.Resource == index.MemberClusters.GroupVersionResource():
		d.seen.note(e)
		d.cluster = current[clusterv1alpha1.Cluster](e)
	default:
		key := watched{resource: index.Type{Resource: e.Source.Resource.Resource}, key: e.Object.Key()}
		// Both kinds have the same fields.
		b := current[workv1alpha2.ResourceBinding](e)
		if b == nil || !b.Spec.TargetContains(d.op.Cluster) && !b.Spec.ClusterInGracefulEvictionTasks(d.op.Cluster) {
			delete(d.bindings, key)
			return
		}
		d.bindings[key] = &b.Spec
	}
}

func (d *draining) find(now time.Time) finding {
	if d.seen.waits(now) > 0 {
		return unseen(StepWritten, StepEvicted, StepRemoved)
	}
	specs := make([]*workv1alpha2.ResourceBindingSpec, 0, len(d.bindings))
	for _, b := range d.bindings {
		specs = append(specs, b)
	}
	return drained(d.op, d.cluster, specs)
}

func (d *draining) recheckAfter(now time.Time) time.Duration { return d.seen.waits(now) }
