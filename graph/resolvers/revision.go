package resolvers

import (
	"context"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// revisions returns what the members keep of a workload, and reads those of the page that it is in together.
func (r *Resolver) revisions(ctx context.Context, w *workload.Workload) ([]workload.Revision, error) {
	var beside []*workload.Workload
	for _, one := range siblings[workload.Any](ctx) {
		beside = append(beside, one.Base())
	}
	v, err := r.Fleet.Workloads.RevisionList(ctx, w, beside)
	return orElse(ctx, v, err, []workload.Revision{})
}
