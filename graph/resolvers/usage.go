package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/usage"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// expectUsage announces the namespaces of the pods of a page, if their usage is selected, so that one list of
// each member has it.
func expectUsage(ctx context.Context, c *pod.Connection) {
	if c == nil || !selected(ctx).items().has("usage") {
		return
	}
	for _, p := range c.Nodes {
		usage.Expect(ctx, p.Instance, p.Namespace())
	}
}

// podUsage returns what a pod uses. Pods of several workloads may be in any namespaces.
func (r *Resolver) podUsage(ctx context.Context, p *pod.Pod) (*usage.Usage, error) {
	if ofSeveralWorkloads(ctx) {
		usage.Expect(ctx, p.Instance)
	}
	return r.Fleet.Usage.OfPod(ctx, p), nil
}

// ofSeveralWorkloads reports whether a field is below the placements of workloads in a list.
func ofSeveralWorkloads(ctx context.Context) bool {
	below := false
	for f := graphql.GetFieldContext(ctx); f != nil; f = f.Parent {
		if below && f.Index != nil {
			return true
		}
		below = below || f.Field.Field != nil && f.Field.Name == "placements"
	}
	return false
}

// workloadUsage returns what the pods of a workload use.
func (r *Resolver) workloadUsage(ctx context.Context, w *workload.Workload) (*usage.Workload, error) {
	if insideList(graphql.GetPath(ctx)) {
		usage.Expect(ctx, w.Instance)
	}
	v, err := r.Fleet.Usage.OfWorkload(ctx, w)
	if err == nil {
		return v, nil
	}
	message := err.Error()
	return orElse(ctx, v, err, &usage.Workload{
		Usage: usage.Usage{Reason: &message}, Clusters: []usage.WorkloadCluster{},
		Freshness: freshness.Freshness{Source: freshness.SourceIndex, Stale: true, Message: &message},
	})
}
