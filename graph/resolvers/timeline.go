package resolvers

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/timeline"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/projection"
)

func timelineArgs(ctx context.Context, first *int, after *string, changes []projection.HistoryChange, from, to *time.Time) *timeline.Args {
	return &timeline.Args{Args: pageArgs(first, after), Changes: changes, From: from, To: to, WithCount: selected(ctx).has("totalCount")}
}

func (r *Resolver) workloadTimeline(ctx context.Context, w *workload.Workload, args *timeline.Args) (*timeline.Connection, error) {
	args.Beside = workloadsBeside(ctx)
	c, err := r.Fleet.Timelines.Of(ctx, timeline.KeyOfWorkload(w), args)
	return orEmpty(ctx, c, err)
}

// workloadAvailability computes it from the timeline and the state now.
func (r *Resolver) workloadAvailability(ctx context.Context, w *workload.Workload, from time.Time, to *time.Time) (*timeline.WorkloadAvailability, error) {
	now := func(ctx context.Context) (*workload.Status, error) { return r.Fleet.Workloads.Status(ctx, w) }
	return r.Fleet.Timelines.Availability(ctx, w, workloadsBeside(ctx), now, from, to)
}

func workloadsBeside(ctx context.Context) []projection.ObjectKey {
	return keysBeside(ctx, func(w workload.Any) projection.ObjectKey { return timeline.KeyOfWorkload(w.Base()) })
}

func (r *Resolver) memberTimeline(ctx context.Context, m *membercluster.MemberCluster, args *timeline.Args) (*timeline.Connection, error) {
	args.Beside = keysBeside(ctx, timeline.KeyOfMember)
	c, err := r.Fleet.Timelines.Of(ctx, timeline.KeyOfMember(m), args)
	return orEmpty(ctx, c, err)
}

// policyTimeline is that of a policy of one type.
func policyTimeline[P interface{ Common() *policy.Policy }](ctx context.Context, r *Resolver, p P, args *timeline.Args) (*timeline.Connection, error) {
	key := func(p P) projection.ObjectKey { return timeline.KeyOfPolicy(p.Common()) }
	args.Beside = keysBeside(ctx, key)
	c, err := r.Fleet.Timelines.Of(ctx, key(p), args)
	return orEmpty(ctx, c, err)
}

// instanceTimeline is that of an instance, or of an object in it.
func (r *Resolver) instanceTimeline(ctx context.Context, i *instance.Instance, object *timeline.Object, args *timeline.Args) (*timeline.Connection, error) {
	if object == nil {
		args.Beside = keysBeside(ctx, timeline.KeyOfInstance)
		c, err := r.Fleet.Timelines.Of(ctx, timeline.KeyOfInstance(i), args)
		return orEmpty(ctx, c, err)
	}
	grant, _, err := r.Fleet.Access.Instance(ctx, i.Name)
	if err != nil {
		return nil, err
	}
	c, err := r.Fleet.Timelines.OfObject(ctx, i.Name, object, grant.CanRead, args)
	return orEmpty(ctx, c, err)
}

// keysBeside are the keys of the items of the list that the object of the field being resolved is in; none where it is
// in no list of such items.
func keysBeside[T any](ctx context.Context, key func(T) projection.ObjectKey) []projection.ObjectKey {
	items := siblings[T](ctx)
	keys := make([]projection.ObjectKey, len(items))
	for i, item := range items {
		keys[i] = key(item)
	}
	return keys
}

// siblings are the items of a list of nodes, or of edges with nodes.
func siblings[T any](ctx context.Context) []T {
	of := graphql.GetFieldContext(ctx)
	if of == nil || of.Parent == nil || of.Parent.Parent == nil {
		return nil
	}
	if of.Parent.Index != nil {
		items, _ := of.Parent.Parent.Result.([]T)
		return items
	}
	of = of.Parent // The node of an edge has no place of its own.
	if of.Parent.Index == nil || of.Parent.Parent == nil {
		return nil
	}
	edges, _ := of.Parent.Parent.Result.([]*page.Edge[T])
	items := make([]T, len(edges))
	for i, edge := range edges {
		items[i] = edge.Node
	}
	return items
}
