package projected

import (
	"context"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/quota"
)

// History reads the histories of objects with one statement, and since when there are any.
func (s *Source) History(ctx context.Context, objects []projection.HistoryQuery, r *projection.HistoryRange) (pages []projection.HistoryPage, since time.Time, err error) {
	if s.Projection == nil {
		return nil, time.Time{}, apierror.New(apierror.CodeIndexUnavailable, "There is no history: the apiserver was given no database of the index")
	}
	began := 0.0
	_, err = s.askCurrent(ctx, false, func(ctx context.Context) (at projection.Moment, err error) {
		pages, began, at, err = s.Projection.History(ctx, objects, r)
		return at, err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	bytes := 0
	const fixed = 256
	for i := range pages {
		for j := range pages[i].Entries {
			e := &pages[i].Entries[j]
			bytes += fixed + len(e.Before) + len(e.After) + len(e.Message)
		}
	}
	const microseconds = 1e6
	return pages, time.UnixMicro(int64(began * microseconds)), quota.From(ctx).Hold(int64(bytes))
}
