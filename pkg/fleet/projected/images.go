package projected

import (
	"context"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/quota"
)

// images reads a page of the images of pods and workloads with one statement.
func (s *Source) images(ctx context.Context, q *index.ListQuery) (*index.Page, error) {
	asked := imageQueryOf(q)
	var found *projection.ImageSelection
	asOf, err := s.askPods(ctx, func(ctx context.Context) (projection.Moment, error) {
		var err error
		if found, err = s.Pods.SelectImages(ctx, asked); err != nil {
			return projection.Moment{}, err
		}
		return found.Moment, nil
	})
	if err != nil {
		return nil, err
	}
	bytes := 0
	const fixed, each = 256, 128
	for i := range found.Items {
		bytes += fixed + len(found.Items[i].Reference) + each*(len(found.Items[i].First)+len(found.Items[i].Clusters))
	}
	if err := quota.From(ctx).Hold(int64(bytes)); err != nil {
		return nil, err
	}
	return &index.Page{Images: found.Items, HasNext: found.HasNext, Count: found.Count, AsOf: asOf}, nil
}

// imageQueryOf is the query of images for the projection: those of the pods and of the workloads that
// the list has in reach.
func imageQueryOf(q *index.ListQuery) *projection.ImageQuery {
	of := q.Projected.ImageList
	asked := &projection.ImageQuery{
		Pods: podQueryOf(q), Workloads: &projection.Query{Namespaces: q.Namespaces, ScheduledTo: q.Projected.Pods.Clusters, Confined: q.Confined},
		ImageFilter: of.ImageFilter, Order: projection.ImageOrder{ByPods: of.ByPods, Desc: q.Order.Desc}, Limit: q.Limit, WithCount: q.WithCount,
		MostWorkloads: of.Workloads, MostClusters: of.Clusters,
	}
	asked.Workloads.Instances, asked.Workloads.Scopes = asked.Pods.Instances, asked.Pods.Scopes
	if after := q.After; after != nil {
		asked.After = &projection.ImagePosition{Reference: after.Name, Pods: after.Pods}
	}
	return asked
}
