package resolvers

import (
	"context"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// revisions returns what the members keep of a workload.
func (r *Resolver) revisions(ctx context.Context, w *workload.Workload) ([]workload.Revision, error) {
	v, err := r.Fleet.Workloads.RevisionList(ctx, w)
	return orElse(ctx, v, err, []workload.Revision{})
}
