package projected

import (
	"context"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/quota"
)

// Activity reads a page of the activity with one statement, and the time at which it was read.
func (s *Source) Activity(ctx context.Context, q *projection.ActivityQuery) (found *projection.ActivityPage, asOf time.Time, err error) {
	if s.Projection == nil {
		return nil, time.Time{}, apierror.New(apierror.CodeIndexUnavailable, "There is no activity: the apiserver was given no database of the index")
	}
	asOf, err = s.askCurrent(ctx, false, func(ctx context.Context) (projection.Moment, error) {
		var err error
		found, err = s.Projection.Activity(ctx, q)
		return projection.Moment{}, err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	const each = 400
	return found, asOf, quota.From(ctx).Hold(int64(len(found.Entries) * each))
}
