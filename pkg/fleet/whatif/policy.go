package whatif

import (
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/equality"
)

// PolicyChange computes what a change of a policy does. The change's Before is not looked up in the world.
func PolicyChange(w *World, c Change) (*Report, error) {
	found := bindingsOf(w.Bindings)
	d, err := newDetection(w, c, found)
	if err != nil {
		return nil, err
	}
	claims, err := d.claims(w, c)
	if err != nil {
		return nil, err
	}
	s, err := newScheduler(w.Clusters)
	if err != nil {
		return nil, err
	}
	items := make([]Item, 0, len(claims))
	for i := range claims {
		items = append(items, *s.item(&claims[i], found.of(claims[i].template), c))
	}
	return newReport(w, identityOf(c), items, policyAssumptions(w, c, found, claims))
}

// identityOf is what of a change belongs to the fingerprint.
func identityOf(c Change) any {
	identity := []any{c.Ref(), nil}
	if c.After != nil {
		identity[1] = c.After.Spec
	}
	return identity
}

// item computes what becomes of one object.
func (s *scheduler) item(one *claim, was *workv1alpha2.ResourceBinding, c Change) *Item {
	t := one.template
	item := &Item{
		APIVersion: t.GetAPIVersion(), Kind: t.GetKind(), Namespace: t.GetNamespace(), Name: t.GetName(), UID: t.GetUID(),
		PolicyBefore: one.beforeRef,
	}
	if one.after != nil {
		ref := one.after.Ref()
		item.PolicyAfter = &ref
	}
	var clusters []workv1alpha2.TargetCluster
	if was != nil {
		clusters = was.Spec.Clusters
	}
	item.Before = placements(clusters)
	item.After = placements(s.afterwards(one, was, item))
	item.Effect = effectOf(item, c)
	if item.Message == "" && item.Effect == Lost && len(item.After) > 0 {
		item.Message = "no policy claims it any more; it stays in its clusters, and nothing schedules it"
	}
	return item
}

// afterwards returns the clusters of an object, and adds an explanation to its item.
func (s *scheduler) afterwards(one *claim, was *workv1alpha2.ResourceBinding, item *Item) []workv1alpha2.TargetCluster {
	var keeps []workv1alpha2.TargetCluster
	if was != nil {
		keeps = was.Spec.Clusters
	}
	switch p := one.after; {
	case one.waiting:
		item.Message = "the policy that selects it waits for override policies that do not exist"
		return keeps
	case p == nil || !p.Selects(one.template):
		return keeps
	case p.lazy() && !one.freed:
		item.Message = "the policy is activated lazily: it takes effect with the next change of the object"
		return keeps
	}
	kept := !one.freed && one.beforeRef != nil && *one.beforeRef == one.after.Ref()
	if was == nil && kept {
		item.Message = "Karmada has made no binding of it, and looks at it again when it changes"
		return keeps
	}
	b, err := bound(one.template, was, one.after)
	if err != nil {
		item.Message = "its replicas cannot be read: " + err.Error()
		return keeps // Karmada fails for this object too, and goes on with the others.
	}
	switch {
	case b.Spec.SchedulingSuspended():
		item.Message = "its scheduling is suspended"
		return keeps
	case !schedulable(b):
		item.Message = "its policy leaves it to the scheduler " + b.Spec.SchedulerName + ", which is not simulated"
		return keeps
	case kept && equality.Semantic.DeepEqual(was.Spec, b.Spec) || !due(b, s.clusters):
		// A binding that is written as it was makes no event for the scheduler.
		return keeps
	}
	decided := s.decide(b)
	item.Unplaced, item.Message = decided.failure != "", decided.failure
	if !item.Unplaced && len(decided.clusters) == 0 && b.Spec.Replicas > 0 {
		item.Unplaced, item.Message = true, "the scheduler chooses no cluster"
	}
	return decided.clusters
}

// effectOf is the effect of a change on an object, seen from the policy that is changed.
func effectOf(item *Item, c Change) Effect {
	before, after := item.PolicyBefore, item.PolicyAfter
	switch {
	case before != nil && after == nil:
		return Lost
	case before == nil && after != nil:
		return Claimed
	case before != nil && *before != *after && *before == c.Ref():
		return HandedOver
	case before != nil && *before != *after:
		return TakenOver
	case !slices.Equal(item.Before, item.After):
		return Rescheduled
	}
	return Unchanged
}
