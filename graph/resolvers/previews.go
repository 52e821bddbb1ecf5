package resolvers

import (
	"context"

	"github.com/kairship-io/kairship/pkg/fleet/preview"
)

// previewed returns a preview, and starts reading the workloads of its objects if they are selected.
func (r *Resolver) previewed(ctx context.Context, p *preview.Preview, err error) (*preview.Preview, error) {
	if err != nil {
		return nil, err
	}
	if items := selected(ctx).under("items"); items.has("workload") {
		r.Fleet.Workloads.PrefetchNamed(ctx, p.Targets(), items.under("workload").needs())
	}
	return p, nil
}
