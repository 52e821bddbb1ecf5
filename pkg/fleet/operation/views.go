package operation

import (
	"slices"
	"strconv"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/subscription"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/live"
)

func named(instance string, t index.Type, names ...string) live.Interest {
	return live.Interest{
		Source: live.Source{Instance: instance, Resource: t.GroupVersionResource()},
		Filter: live.Filter{Names: names},
	}
}

var (
	instances = index.Type{Group: v1alpha1.InstanceResource.Group, Version: v1alpha1.InstanceResource.Version, Resource: v1alpha1.InstanceResource.Resource}
	clusters  = index.Type{Group: v1alpha1.ClusterResource.Group, Version: v1alpha1.ClusterResource.Version, Resource: v1alpha1.ClusterResource.Resource}
)

// current returns the object of an event; nil when it was deleted.
func current[T any](e *live.Event) *T {
	if e.Type == live.Deleted {
		return nil
	}
	v, err := live.Decoded[T](e.Object)
	if err != nil {
		return nil // It is treated like a deleted one until a later version can be decoded.
	}
	return v
}

// seen records whether a watch has reached the version that an operation wrote. The watch may be
// behind the mutation, which another connection or replica sent.
type seen struct {
	written uint64
	begun   time.Time
	reached bool
}

func newSeen(op Operation) seen {
	written, err := strconv.ParseUint(op.Version, 10, 64)
	// A version that cannot be compared is not waited for.
	return seen{written: written, begun: op.Began, reached: err != nil}
}

func (s *seen) note(e *live.Event) {
	version, err := strconv.ParseUint(e.Object.Meta.ResourceVersion, 10, 64)
	s.reached = s.reached || err != nil || version >= s.written || e.Type == live.Deleted
}

// waits is how long it may still take to be seen. What was not seen by then was deleted.
func (s *seen) waits(now time.Time) time.Duration {
	if s.reached {
		return 0
	}
	return max(0, s.begun.Add(claimPeriod).Sub(now))
}

// unseen is what is found until then.
func unseen(steps ...StepName) finding {
	var all []Step
	for _, name := range steps {
		all = append(all, one(name, false, ""))
	}
	return finding{steps: sequence(all...)}
}

// membership is the view of a cluster that is joined to an instance or removed from it.
type membership struct {
	op      Operation
	seen    seen
	cluster *v1alpha1.Cluster
	member  *clusterv1alpha1.Cluster
}

func (m *membership) interests() []live.Interest {
	return []live.Interest{named("", clusters, m.op.Cluster), named(m.op.Instance, index.MemberClusters, m.op.Cluster)}
}

func (m *membership) see(e *live.Event) {
	switch {
	case e.Object == nil:
	case e.Source.Instance == "":
		m.seen.note(e)
		m.cluster = current[v1alpha1.Cluster](e)
	default:
		m.member = current[clusterv1alpha1.Cluster](e)
	}
}

func (m *membership) find(now time.Time) finding {
	waits := m.seen.waits(now) > 0
	if m.op.Kind == KindUnjoinCluster {
		if waits {
			return unseen(StepWritten, StepLeft)
		}
		return leaving(m.op, m.cluster, m.member)
	}
	if waits {
		return unseen(StepWritten, StepCredentials, StepRegistered, StepReady)
	}
	return joining(m.op, m.cluster, m.member)
}

func (m *membership) recheckAfter(now time.Time) time.Duration { return m.seen.waits(now) }

// creation views an instance that is created.
type creation struct {
	op       Operation
	seen     seen
	instance *v1alpha1.Instance
}

func (b *creation) interests() []live.Interest {
	return []live.Interest{named("", instances, b.op.Instance)}
}

func (b *creation) see(e *live.Event) {
	if e.Object != nil {
		b.seen.note(e)
		b.instance = current[v1alpha1.Instance](e)
	}
}

func (b *creation) find(now time.Time) finding {
	if b.seen.waits(now) > 0 {
		return unseen(StepWritten, StepReachable, StepReady, StepIndexed)
	}
	return creating(b.op, b.instance)
}

func (b *creation) recheckAfter(now time.Time) time.Duration { return b.seen.waits(now) }

// claimPeriod is how long after the write of an object a policy may still claim it: Karmada takes less
// than a second.
const claimPeriod = 5 * time.Second

// propagation views objects on their way into member clusters.
type propagation struct {
	op Operation
	// objects are those that may be propagated.
	objects []*propagated
	// byBinding and byTemplate find them by the sources and keys of what is watched.
	byBinding, byTemplate map[watched]*propagated
}

// knownWrites make the watches begin with what the operation wrote: one that is behind
// would show the state of before it.
func (o Operation) knownWrites() []live.KnownWrite {
	var writes []live.KnownWrite
	for _, w := range o.Objects {
		version, err := strconv.ParseUint(w.ResourceVersion, 10, 64)
		if err != nil {
			continue
		}
		writes = append(writes, live.KnownWrite{
			Source:  live.Source{Instance: o.Instance, Resource: w.Type().GroupVersionResource()},
			Key:     live.Key{Namespace: w.Namespace, Name: w.Name},
			Version: version,
		})
	}
	return writes
}

type watched struct {
	resource index.Type
	key      live.Key
}

// propagates reports whether Karmada sends objects of a type to members at all.
func propagates(o Object) bool {
	switch o.Group {
	case "policy.karmada.io", "work.karmada.io", "cluster.karmada.io", "config.karmada.io", "apps.karmada.io":
		return false
	}
	// Namespaces go wherever something in them goes.
	return o.Kind != "Namespace"
}

func newPropagation(op Operation) *propagation {
	p := &propagation{op: op, byBinding: map[watched]*propagated{}, byTemplate: map[watched]*propagated{}}
	for _, o := range op.Objects {
		if !propagates(o) {
			continue
		}
		one := &propagated{object: o, gone: false}
		p.objects = append(p.objects, one)
		bindings := index.ResourceBindings
		if o.Namespace == "" {
			bindings = index.ClusterResourceBindings
		}
		p.byBinding[watched{bindings, live.Key{Namespace: o.Namespace, Name: workload.BindingName(o.Kind, o.Name)}}] = one
		if one.isWorkload() {
			// No event reports that it is missing, only the end of the snapshot.
			one.gone = true
			p.byTemplate[watched{o.Type(), live.Key{Namespace: o.Namespace, Name: o.Name}}] = one
		}
	}
	return p
}

func (p *propagation) interests() []live.Interest {
	names := map[index.Type][]string{}
	for _, known := range []map[watched]*propagated{p.byBinding, p.byTemplate} {
		for w := range known {
			names[w.resource] = append(names[w.resource], w.key.Name)
		}
	}
	var all []live.Interest
	for t, of := range names {
		slices.Sort(of)
		i := named(p.op.Instance, t, slices.Compact(of)...)
		if _, isWorkload := workload.KindFromGVR(t.GroupVersionResource()); isWorkload {
			i.Join = subscription.WorkloadJoin(p.op.Instance, t)
		}
		all = append(all, i)
	}
	return all
}

func (p *propagation) see(e *live.Event) {
	if e.Object == nil {
		return
	}
	find := func(known map[watched]*propagated) *propagated {
		for w, one := range known {
			if w.resource.GroupVersionResource() == e.Source.Resource && w.key == e.Object.Key() {
				return one
			}
		}
		return nil
	}
	if one := find(p.byBinding); one != nil {
		one.binding = current[workv1alpha2.ResourceBinding](e)
		return
	}
	if one := find(p.byTemplate); one != nil {
		one.gone, one.status = e.Type == live.Deleted, nil
		if o, ok := e.Object.Joined.(*workload.Observed); ok && !one.gone {
			one.status = o.Status
		}
	}
}

func (p *propagation) find(now time.Time) finding {
	seen := make([]propagated, len(p.objects))
	for i, one := range p.objects {
		seen[i] = *one
	}
	return rollout(seen, p.recheckAfter(now) > 0)
}

func (p *propagation) recheckAfter(now time.Time) time.Duration {
	return max(0, p.op.Began.Add(claimPeriod).Sub(now))
}
