package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/warning"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// wholeCustom is a custom workload with its whole manifest. One that the index has not is read from its
// instance, as the caller.
func (r *Resolver) wholeCustom(ctx context.Context, w *workload.CustomWorkload) *object.Object {
	of, err := w.Whole(ctx, r.Fleet.Resources.OfKind)
	if err != nil {
		graphql.AddError(ctx, err)
	}
	return of
}

// warnOfCustom warns of a list of workloads that lacks custom ones.
func warnOfCustom(ctx context.Context, c *page.Connection[workload.Any]) {
	if c != nil && c.WithoutCustom {
		warning.Add(ctx, warning.Warning{
			Code: warning.CodeWithoutCustom, Path: graphql.GetPath(ctx),
			Message: "custom workloads are missing, because the states of workloads are being computed, or are late; try again in a minute",
		})
	}
}
