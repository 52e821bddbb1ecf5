package whatif

import (
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
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
		item, err := s.item(&claims[i], found.of(claims[i].template), c)
		if err != nil {
			return nil, err
		}
		items = append(items, *item)
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
func (s *scheduler) item(one *claim, was *workv1alpha2.ResourceBinding, c Change) (*Item, error) {
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
	after, err := s.afterwards(one, was, item)
	if err != nil {
		return nil, err
	}
	item.After = placements(after)
	item.Effect = effectOf(item, c)
	if item.Message == "" && item.Effect == Lost && len(item.After) > 0 {
		item.Message = "no policy claims it any more; it stays in its clusters, and nothing schedules it"
	}
	return item, nil
}

// afterwards returns the clusters of an object, and adds to its item what there is to say.
func (s *scheduler) afterwards(one *claim, was *workv1alpha2.ResourceBinding, item *Item) ([]workv1alpha2.TargetCluster, error) {
	var keeps []workv1alpha2.TargetCluster
	if was != nil {
		keeps = was.Spec.Clusters
	}
	switch p := one.after; {
	case one.waiting:
		item.Message = "the policy that selects it waits for override policies that do not exist"
		return keeps, nil
	case p == nil || !p.Selects(one.template):
		return keeps, nil
	case p.lazy() && !one.freed:
		item.Message = "the policy is activated lazily: it takes effect with the next change of the object"
		return keeps, nil
	}
	b, err := bound(one.template, was, one.after)
	if err != nil {
		item.Message = "its replicas cannot be read: " + err.Error()
		return keeps, nil //nolint:nilerr // Karmada fails for this object too, and goes on with the others.
	}
	switch {
	case b.Spec.SchedulingSuspended():
		item.Message = "its scheduling is suspended"
		return keeps, nil
	case !schedulable(b):
		item.Message = "its policy leaves it to the scheduler " + b.Spec.SchedulerName + ", which is not simulated"
		return keeps, nil
	case !due(b, s.clusters):
		return keeps, nil
	}
	decided, err := s.decide(b)
	if err != nil {
		return nil, err
	}
	item.Unplaced, item.Message = decided.failure != "", decided.failure
	if !item.Unplaced && len(decided.clusters) == 0 && b.Spec.Replicas > 0 {
		item.Unplaced, item.Message = true, "the scheduler chooses no cluster"
	}
	return decided.clusters, nil
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
