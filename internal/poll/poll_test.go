package poll

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTry checks when it ends, and with which error.
func TestTry(t *testing.T) {
	errEarly, errFinal := errors.New("early"), errors.New("final")
	for _, tt := range []struct {
		reason string
		check  func(ctx context.Context, attempt int) error
		want   error
		after  time.Duration
	}{
		{"true at once", func(context.Context, int) error { return nil }, nil, 0},
		{"the pauses double", func(_ context.Context, n int) error {
			if n < 5 {
				return errEarly
			}
			return nil
		}, nil, 15 * time.Millisecond},
		{"never true", func(context.Context, int) error { return errEarly }, errEarly, time.Minute},
		{"an error that time does not mend", func(context.Context, int) error { return Stop(errFinal) }, errFinal, 0},
		{"an attempt that the deadline cuts off", func(ctx context.Context, n int) error {
			if n < 5 {
				return errEarly
			}
			<-ctx.Done()
			return ctx.Err()
		}, errEarly, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun, attempts := time.Now(), 0
			err := Try(t.Context(), time.Minute, func(ctx context.Context) error {
				attempts++
				return tt.check(ctx, attempts)
			})
			if !errors.Is(err, tt.want) || time.Since(begun) != tt.after {
				t.Errorf("%s: got %v after %s, want %v after %s", tt.reason, err, time.Since(begun), tt.want, tt.after)
			}
		})
	}
}
