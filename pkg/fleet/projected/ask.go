package projected

import (
	"context"
	"errors"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/requeststats"
	"github.com/kairship-io/kairship/pkg/tracing"
)

const (
	// currentWithin bounds the wait for a projection that has to have the caller's own
	// change. It usually takes milliseconds.
	currentWithin = 2 * time.Second
	currentPause  = 10 * time.Millisecond
)

// errBehind means that the projection did not get what an answer has to have.
var errBehind = errors.New("the projection is behind")

// askCurrent sends ask to the projection. If the answer has to be current, it repeats that until the
// projection has everything that the index had at the first attempt. asOf is the time of the state
// in the answer.
func (s *Source) askCurrent(ctx context.Context, current bool, ask func(context.Context) (projection.Moment, error)) (asOf time.Time, err error) {
	began := 0.0
	for deadline := s.Now().Add(currentWithin); ; {
		asked := s.Now()
		at, err := s.send(ctx, ask)
		if err != nil {
			return time.Time{}, err
		}
		if began == 0 {
			began = at.Now
		}
		if !current || at.Pending == 0 || at.Pending > began {
			return asked.Add(-at.Lag()), nil
		}
		if s.Now().After(deadline) {
			return time.Time{}, apierror.Wrap(errBehind, apierror.CodeIndexUnavailable,
				"the state of workloads is %s behind your change; without the consistency token you get what is known", at.Lag().Round(time.Second))
		}
		select {
		case <-ctx.Done():
			return time.Time{}, timedOut(ctx.Err())
		case <-time.After(currentPause):
		}
	}
}

// send sends one statement within the user's concurrency limit.
func (s *Source) send(ctx context.Context, ask func(context.Context) (projection.Moment, error)) (projection.Moment, error) {
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	done, err := quota.Acquire(limited, quota.ToDatabase)
	if err != nil {
		return projection.Moment{}, timedOut(err)
	}
	defer done()
	sent := requeststats.From(ctx).Send(requeststats.Target{Kind: requeststats.Index})
	limited, span := tracing.Start(limited, "SQL", tracing.Client)
	span.Text(tracing.Upstream, tracing.ToDatabase)
	at, err := ask(limited)
	if err != nil && !errors.Is(err, projection.ErrIncomplete) {
		span.Fail("statement")
	}
	span.End()
	sent(err)
	switch {
	case err == nil:
		return at, nil
	case ctx.Err() != nil:
		return at, timedOut(ctx.Err())
	case errors.Is(err, projection.ErrIncomplete):
		return at, apierror.Wrap(err, apierror.CodeIndexUnavailable, "The states of all workloads are being computed, and cannot be selected by yet; try again in a minute")
	}
	return at, apierror.Wrap(err, apierror.CodeIndexUnavailable, "The database of the index does not answer")
}

func timedOut(err error) error {
	return apierror.Wrap(err, apierror.CodeTimeout, "The database of the index did not answer before the request's deadline")
}
