package workload

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/index"
)

// refills is how often a page is filled up that became short, because the state of
// workloads changed while they were read.
const refills = 3

// projected lists the workloads that a filter selects by what the index cannot evaluate.
// The projection says which they are, and how many. The state of each is computed from
// the index as for any other list, and one that has changed since is left out: an answer
// never shows another state than the one that was asked for.
func (s *Service) projected(ctx context.Context, r listing.Request, f *Filter, needs Needs) (*Connection, error) {
	needs.Status = true
	r.Detail = needs.template()
	q, result, err := s.lister.Parse(r)
	if err != nil {
		return nil, err
	}
	if f.noHealth() {
		q.Clusters = nil
	}
	if result.Freshness = s.lister.Freshness.Of(ctx, q.Clusters...); len(q.Clusters) == 0 {
		if r.WithCount {
			result.Count = new(int64)
		}
		return s.counted(ctx, s.connection(ctx, result, Needs{}), r, f, needs), nil
	}
	q.Projected, q.Health = true, f.health()
	made := map[*index.Object]Any{}
	limit := q.Limit
	for again := 0; ; again++ {
		page, err := s.lister.Reader.List(ctx, q)
		if err != nil {
			return nil, err
		}
		if again == 0 {
			result.Count, result.Freshness = page.Count, result.Freshness.AsOf(page.AsOf, s.lister.Now())
		}
		if page.Live {
			result.Freshness = result.Freshness.Overlaid()
		}
		s.prefetchPage(ctx, page.Items, needs)
		settings := s.settings(ctx, asOf(page.Items))
		for _, o := range page.Items {
			w := newWorkload(settings(instanceOf(o)), o)
			status, err := s.Status(ctx, w.Base())
			if err != nil {
				return nil, err
			}
			if f.Health == nil || slices.Contains(f.Health, status.Health) {
				made[o], result.Items = w, append(result.Items, o)
			}
		}
		result.HasNext = page.HasNext
		q.Limit, q.After, q.WithCount = limit-len(result.Items), page.End, false
		if !page.HasNext || q.Limit == 0 || again == refills {
			break
		}
	}
	c := listing.Connection(result, func(o *index.Object) Any { return made[o] })
	if result.HasNext {
		// The reader goes on where the projection was left, which may be past the last item.
		end := result.CursorAt(*q.After)
		c.PageInfo.EndCursor = &end
	}
	return s.counted(ctx, c, r, f, needs), nil
}

// health are the states that a filter names.
func (f *Filter) health() []string {
	if f == nil {
		return nil
	}
	var all []string
	for _, h := range f.Health {
		all = append(all, string(h))
	}
	return all
}

// noHealth reports whether a filter selects nothing, because it names no state of health
// and no workload is in none.
func (f *Filter) noHealth() bool { return f != nil && f.Health != nil && len(f.Health) == 0 }
