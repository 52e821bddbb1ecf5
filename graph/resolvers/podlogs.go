package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/podlog"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// workloadLogs returns the logs of a workload's pods.
func (r *Resolver) workloadLogs(ctx context.Context, w *workload.Workload, a podlog.Args) (*podlog.Logs, error) {
	v, err := r.Fleet.PodLogs.OfWorkload(ctx, w, a)
	return partialLogs(ctx, v, err)
}

// partialLogs reports the errors of member clusters beside the lines of the others.
func partialLogs(ctx context.Context, v *podlog.Logs, err error) (*podlog.Logs, error) {
	if err == nil {
		for _, e := range v.Errors {
			graphql.AddError(ctx, e)
		}
		return v, nil
	}
	message := err.Error()
	return orElse(ctx, v, err, &podlog.Logs{
		Lines: []podlog.Line{}, Omitted: []podlog.Omission{}, Freshness: freshness.Freshness{Source: freshness.SourceIndex, Stale: true, Message: &message},
	})
}
