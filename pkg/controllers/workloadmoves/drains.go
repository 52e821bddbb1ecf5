package workloadmoves

import (
	"context"
	"fmt"
	"slices"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/fleet/moving"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

const (
	// bindingsPage is how many bindings are read at a time.
	bindingsPage = 500
	// changedAtOnce is how many bindings are changed at the same time.
	changedAtOnce = 8
)

// drain evicts what can move out of the member clusters that are drained, and records in their taints that this was done.
func (s *scope) drain(ctx context.Context) error {
	for _, c := range s.members {
		if t := moving.Draining(c); t == nil || t.Value == moving.DrainEvicted {
			continue
		}
		if err := s.evict(ctx, c.Name); err != nil {
			return err
		}
		before := client.MergeFromWithOptions(c.DeepCopy(), client.MergeFromWithOptimisticLock{})
		moving.Draining(c).Value = moving.DrainEvicted
		if err := s.patch(ctx, c, before); err != nil {
			return fmt.Errorf("record that member cluster %q is drained: %w", c.Name, err)
		}
	}
	return nil
}

// evict has what can move leave a member cluster.
func (s *scope) evict(ctx context.Context, cluster string) error {
	bindings, err := s.bindings(ctx, func(b *workv1alpha2.ResourceBinding) bool { return b.Spec.TargetContains(cluster) })
	if err != nil {
		return err
	}
	items, err := moving.Evictions(s.members, bindings, cluster)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(changedAtOnce)
	for i := range items {
		name := workload.BindingName(items[i].Kind, items[i].Name)
		at := slices.IndexFunc(bindings, func(b *workv1alpha2.ResourceBinding) bool {
			return b.Namespace == items[i].Namespace && b.Name == name && b.Spec.Resource.UID == items[i].UID
		})
		if at >= 0 {
			g.Go(func() error {
				return s.change(ctx, bindings[at], func(b *workv1alpha2.ResourceBinding) { moving.Evict(b, cluster) })
			})
		}
	}
	return g.Wait()
}

// bringBack has the scheduler decide anew about what has left member clusters that are not drained any more.
func (s *scope) bringBack(ctx context.Context) error {
	drained := func(b *workv1alpha2.ResourceBinding) bool {
		return slices.ContainsFunc(s.members, func(c *clusterv1alpha1.Cluster) bool {
			return c.Name == b.Labels[moving.DrainedFrom] && moving.Draining(c) == nil
		})
	}
	bindings, err := s.bindings(ctx, drained, client.HasLabels{moving.DrainedFrom})
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(changedAtOnce)
	for _, b := range bindings {
		g.Go(func() error {
			return s.change(ctx, b, func(b *workv1alpha2.ResourceBinding) { moving.BringBack(b, s.now) })
		})
	}
	return g.Wait()
}

// bindings reads the bindings of both kinds of which some are chosen; those without namespace as ResourceBindings.
func (s *scope) bindings(ctx context.Context, chosen func(*workv1alpha2.ResourceBinding) bool, options ...client.ListOption) (all []*workv1alpha2.ResourceBinding, err error) {
	narrow, wide := &workv1alpha2.ResourceBindingList{}, &workv1alpha2.ClusterResourceBindingList{}
	for next := true; next; next = narrow.Continue != "" {
		if err := s.List(ctx, narrow, append(options, client.Limit(bindingsPage), client.Continue(narrow.Continue))...); err != nil {
			return nil, fmt.Errorf("list ResourceBindings: %w", err)
		}
		for i := range narrow.Items {
			if chosen(&narrow.Items[i]) {
				all = append(all, narrow.Items[i].DeepCopy())
			}
		}
	}
	for next := true; next; next = wide.Continue != "" {
		if err := s.List(ctx, wide, append(options, client.Limit(bindingsPage), client.Continue(wide.Continue))...); err != nil {
			return nil, fmt.Errorf("list ClusterResourceBindings: %w", err)
		}
		for i := range wide.Items {
			w := &wide.Items[i]
			if b := (&workv1alpha2.ResourceBinding{ObjectMeta: w.ObjectMeta, Spec: w.Spec, Status: w.Status}); chosen(b) {
				all = append(all, b.DeepCopy())
			}
		}
	}
	return all, nil
}

// change patches a binding, if it is still as it was read.
func (s *scope) change(ctx context.Context, b *workv1alpha2.ResourceBinding, edit func(*workv1alpha2.ResourceBinding)) error {
	edited := b.DeepCopy()
	edit(edited)
	var before, after client.Object = b, edited
	if b.Namespace == "" {
		before = &workv1alpha2.ClusterResourceBinding{ObjectMeta: b.ObjectMeta, Spec: b.Spec, Status: b.Status}
		after = &workv1alpha2.ClusterResourceBinding{ObjectMeta: edited.ObjectMeta, Spec: edited.Spec, Status: edited.Status}
	}
	err := s.patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("change the clusters of binding %s/%s: %w", b.Namespace, b.Name, err)
	}
	return nil
}
