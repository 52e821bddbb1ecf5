package projected

import (
	"context"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/quota"
)

// History reads the histories of objects with one statement, and up to when they are complete.
func (s *Source) History(ctx context.Context, objects []projection.HistoryQuery, r *projection.HistoryRange) (found *projection.Histories, asOf time.Time, err error) {
	if s.Projection == nil {
		return nil, time.Time{}, apierror.New(apierror.CodeIndexUnavailable, "There is no history: the apiserver was given no database of the index")
	}
	asOf, err = s.askCurrent(ctx, false, func(ctx context.Context) (projection.Moment, error) {
		var err error
		if found, err = s.Projection.History(ctx, objects, r); err != nil {
			return projection.Moment{}, err
		}
		return found.Moment, nil
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	bytes := 0
	const fixed = 256
	for i := range found.Pages {
		for j := range found.Pages[i].Entries {
			e := &found.Pages[i].Entries[j]
			bytes += fixed + len(e.Before) + len(e.After) + len(e.Message)
		}
	}
	return found, asOf, quota.From(ctx).Hold(int64(bytes))
}
