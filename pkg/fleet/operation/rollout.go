package operation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// propagated is the observed state of one object that an operation wrote.
type propagated struct {
	object Object
	// binding is Karmada's binding of the object; nil when there is none.
	binding *workv1alpha2.ResourceBinding
	// status is that of a workload; nil for others, and for one that no longer exists.
	status *workload.Status
	// gone: the object was deleted.
	gone bool
}

// behind reports whether Karmada's binding is for an earlier version of the object than the
// operation wrote. For a workload, its status has that more precisely.
func (p propagated) behind() bool {
	if p.isWorkload() {
		return false
	}
	written, err := strconv.ParseUint(p.object.ResourceVersion, 10, 64)
	if err != nil {
		return false // A version that cannot be compared is not waited for.
	}
	recorded, err := strconv.ParseUint(p.binding.Spec.Resource.ResourceVersion, 10, 64)
	return err == nil && recorded < written
}

func (p propagated) isWorkload() bool {
	_, ok := workload.KindFromGVR(p.object.Type().GroupVersionResource())
	return ok
}

// name names it for a person.
func (p propagated) name() string {
	if p.object.Namespace == "" {
		return p.object.Kind + " " + p.object.Name
	}
	return p.object.Kind + " " + p.object.Namespace + "/" + p.object.Name
}

// rollout returns the progress of objects from their instance into its members. An object that is
// no workload and has no binding is complete once it is written; mayBeClaimed means that a policy
// may still claim it.
func rollout(objects []propagated, mayBeClaimed bool) finding {
	r := rolling{clusters: map[string]*Cluster{}}
	for _, o := range objects {
		r.add(o, mayBeClaimed)
	}
	f := finding{trouble: r.trouble, waits: r.waits}
	n := len(objects)
	f.steps = sequence(
		Step{Name: StepWritten, State: StepDone, Done: n, Total: n},
		counted(StepScheduled, r.scheduled, r.total),
		counted(StepApplied, r.applied, r.parts),
		counted(StepHealthy, r.healthy, r.total),
	)
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		f.clusters = append(f.clusters, *r.clusters[name])
	}
	return f
}

// counted is a step of several parts.
func counted(name StepName, done, total int) Step {
	s := Step{Name: name, Done: done, Total: total}
	if done == total {
		s.State = StepDone
	}
	return s
}

type rolling struct {
	// total objects go to members, to as many places as there are parts.
	total, scheduled, parts, applied, healthy int

	clusters map[string]*Cluster
	trouble  *trouble
	waits    string
}

func (r *rolling) add(o propagated, mayBeClaimed bool) {
	switch {
	case o.gone:
		r.total++
		r.find(trouble{ReasonDeleted, o.name() + " was deleted", true})
		return
	case o.binding == nil && !o.isWorkload() && !mayBeClaimed:
		return // It is where it was written, and is not to go further.
	case o.binding == nil:
		r.total++
		r.wait("no policy has claimed " + o.name() + " yet")
		if o.status != nil && o.status.Health == workload.HealthUnpropagated {
			r.find(trouble{ReasonUnpropagated, "no policy claims " + o.name(), false})
		}
		return
	}
	r.total++
	if !r.schedule(o) {
		r.healthyUnscheduled(o)
		return
	}
	r.scheduled++
	if o.behind() {
		if workload.PolicyRefOf(o.binding) == nil && len(o.binding.Spec.RequiredBy) == 0 {
			r.find(trouble{ReasonUnmanaged, "no policy claims " + o.name() + " any more: the change is not sent to its clusters", false})
		}
		r.wait("Karmada has not taken over the change of " + o.name() + " yet")
		r.place(o, false)
		return
	}
	healthy := r.place(o, true)
	if o.status != nil {
		healthy = o.status.Health == workload.HealthHealthy
		if o.status.Health == workload.HealthDegraded {
			r.find(trouble{ReasonDegraded, o.name() + ": " + cmp.Or(o.status.Message, "it is degraded"), false})
		}
		if o.status.Health == workload.HealthUnmanaged {
			r.find(trouble{ReasonUnmanaged, o.name() + ": " + o.status.Message, false})
		}
	}
	if healthy {
		r.healthy++
	}
}

// healthyUnscheduled counts a workload that asks to run nowhere.
func (r *rolling) healthyUnscheduled(o propagated) {
	if o.status != nil && o.status.Health == workload.HealthHealthy {
		r.healthy++
		r.scheduled++
	}
}

// schedule reports whether the scheduler has decided about an object.
func (r *rolling) schedule(o propagated) bool {
	c := meta.FindStatusCondition(o.binding.Status.Conditions, workv1alpha2.Scheduled)
	switch {
	case c != nil && c.Status == metav1.ConditionTrue && len(o.binding.Spec.Clusters) > 0:
		return true
	case c != nil && c.Status == metav1.ConditionFalse:
		r.find(trouble{ReasonUnscheduled, fmt.Sprintf("no cluster fits %s: %s", o.name(), c.Message), false})
	default:
		r.wait(o.name() + " is not scheduled yet")
	}
	return false
}

// place counts an object in the clusters it was sent to, and reports whether it is well
// in all of them. What the clusters report counts only if it is of the version that the
// operation wrote, or of a later one.
func (r *rolling) place(o propagated, current bool) bool {
	reported := map[string]workv1alpha2.AggregatedStatusItem{}
	for _, item := range o.binding.Status.AggregatedStatus {
		reported[item.ClusterName] = item
	}
	all := true
	for _, target := range o.binding.Spec.Clusters {
		c := r.clusters[target.Name]
		if c == nil {
			c = &Cluster{Name: target.Name}
			r.clusters[target.Name] = c
		}
		c.Objects++
		r.parts++
		item := reported[target.Name]
		placed := placementIn(o.status, target.Name)
		switch {
		case !current:
			item = workv1alpha2.AggregatedStatusItem{}
		case placed != nil:
			item.Applied = placed.Applied
		}
		if item.Applied {
			c.Applied++
			r.applied++
		} else if item.AppliedMessage != "" {
			message := o.name() + ": " + firstLine(item.AppliedMessage)
			c.Message = cmp.Or(c.Message, &message)
			r.find(trouble{ReasonNotApplied, fmt.Sprintf("%s is not accepted by %s: %s", o.name(), target.Name, firstLine(item.AppliedMessage)), false})
		}
		healthy := item.Applied && item.Health != workv1alpha2.ResourceUnhealthy
		if o.status != nil && current {
			healthy = placedWell(placed, c)
		}
		if healthy {
			c.Healthy++
		}
		all = all && healthy
	}
	return all
}

// placementIn is the placement of a workload in a cluster; nil where there is none.
func placementIn(s *workload.Status, cluster string) *workload.PlacementStatus {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.Placements, func(p workload.PlacementStatus) bool { return p.Cluster == cluster })
	if i < 0 {
		return nil
	}
	return &s.Placements[i]
}

// placedWell reports whether a workload is well in a cluster, and notes why it is not.
func placedWell(p *workload.PlacementStatus, c *Cluster) bool {
	if p == nil {
		return false
	}
	if p.Health != workload.HealthHealthy && p.Message != "" {
		c.Message = cmp.Or(c.Message, &p.Message)
	}
	return p.Health == workload.HealthHealthy
}

// find keeps the first trouble; what is final goes before what may pass.
func (r *rolling) find(t trouble) {
	if r.trouble == nil || (t.final && !r.trouble.final) {
		r.trouble = &t
	}
}

func (r *rolling) wait(text string) { r.waits = cmp.Or(r.waits, text) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
