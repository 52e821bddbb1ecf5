package workload

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/index"
)

// The bounds of a scan for what the index can't evaluate. One page of a scan
// reads at most scanBatches × scanSize candidates, each batch in the requests of
// one page.
const (
	scanSize    = 200
	scanBatches = 10
)

// scan lists the workloads that a filter leaves over when their state is
// looked at. The number of all of them is not known without looking at all.
func (s *Service) scan(ctx context.Context, r listing.Request, f *Filter, needs Needs) (*Connection, error) {
	limit, err := r.Args.Limit()
	if err != nil {
		return nil, err
	}
	// What the index can't evaluate is looked at here; what it can, it does.
	if can, err := s.capabilities.CanFilterPlacement(ctx); err != nil {
		return nil, err
	} else if !can && len(r.ScheduledTo) > 0 {
		r.ScheduledTo = nil
	}
	q, result, err := s.lister.Parse(r)
	if err != nil {
		return nil, err
	}
	if f.Health != nil && len(f.Health) == 0 {
		q.Clusters = nil // Nothing has none of the states of health.
	}
	needs.Status = true
	q.Detail, q.WithCount, q.Limit = needs.template(), false, scanSize
	bounded, settings := false, s.settings(ctx)
	var last *index.Position
	for batch := 0; ; batch++ {
		page, err := s.lister.Reader.List(ctx, q)
		if err != nil {
			return nil, err
		}
		s.prefetch(ctx, page.Items, needs)
		for _, o := range page.Items {
			ok, err := s.matches(ctx, settings(instanceOf(o)), o, f)
			if err != nil {
				return nil, err
			}
			if ok && len(result.Items) == limit {
				result.HasNext = true
				break
			}
			if ok {
				result.Items = append(result.Items, o)
			}
			at := index.PositionOf(o)
			last = &at
		}
		if result.HasNext || !page.HasNext {
			break
		}
		if batch == scanBatches-1 {
			result.HasNext, bounded = true, true
			break
		}
		q.After = last
	}
	s.prefetchEvents(ctx, result.Items, needs)
	result.Freshness = s.lister.Freshness.Of(ctx, q.Clusters...)
	c := s.connection(ctx, result, Needs{})
	if bounded {
		// The reader goes on where the scan stopped, which is past the last match.
		end := result.CursorAt(*last)
		c.PageInfo.EndCursor = &end
	}
	return c, nil
}

// matches evaluates the part of the filter that the index can't.
func (s *Service) matches(ctx context.Context, in *setting, o *index.Object, f *Filter) (bool, error) {
	status, err := s.Status(ctx, newWorkload(in, o).Base())
	if err != nil {
		return false, err
	}
	if f.Health != nil && !slices.Contains(f.Health, status.Health) {
		return false, nil
	}
	if f.Cluster == nil {
		return true, nil
	}
	return slices.ContainsFunc(status.Placements, func(p PlacementStatus) bool {
		return p.Scheduled && slices.Contains(f.Cluster, p.Cluster)
	}), nil
}
