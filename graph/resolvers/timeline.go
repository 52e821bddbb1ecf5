package resolvers

import (
	"context"
	"time"

	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/timeline"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/projection"
)

func timelineArgs(ctx context.Context, first *int, after *string, changes []projection.HistoryChange, from, to *time.Time) *timeline.Args {
	return &timeline.Args{Args: pageArgs(first, after), Changes: changes, From: from, To: to, WithCount: selected(ctx).has("totalCount")}
}

func (r *Resolver) policyTimeline(ctx context.Context, p *policy.Policy, args *timeline.Args) (*timeline.Connection, error) {
	return r.Fleet.Timelines.OfPolicy(ctx, p.Instance, p.ObjectKind(), p.Namespace(), p.Name(), args)
}

// workloadAvailability computes it from the timeline and the state now.
func (r *Resolver) workloadAvailability(ctx context.Context, w *workload.Workload, from time.Time, to *time.Time) (*timeline.WorkloadAvailability, error) {
	now := func(ctx context.Context) (*workload.Status, error) { return r.Fleet.Workloads.Status(ctx, w) }
	return r.Fleet.Timelines.Availability(ctx, w, now, from, to)
}
