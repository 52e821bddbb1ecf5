// Package poll waits for conditions that become true.
package poll

import (
	"context"
	"errors"
	"testing"
	"time"
)

// stop is an error that waiting does not mend.
type stop struct{ error }

// Stop makes an error that ends the waiting: time does not mend it.
func Stop(err error) error { return stop{err} }

// interval is how long is waited between two looks.
const interval = 100 * time.Millisecond

// Until calls check until it returns nil. When the deadline passes first, the
// test ends with what check said last.
func Until(t testing.TB, within time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	if err := Try(t.Context(), within, check); err != nil {
		t.Fatalf("not within %s: %s: %v", within, what, err)
	}
}

// Try calls check until it returns nil or the time is over; then it returns what
// check said last.
func Try(ctx context.Context, within time.Duration, check func(ctx context.Context) error) error {
	deadline := time.Now().Add(within)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if final, ok := errors.AsType[stop](err); ok {
			return final.error
		}
		// What an attempt said that was cut off by the deadline says less than the one before.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if !time.Now().Before(deadline) {
			return last
		}
		select {
		case <-ctx.Done():
			return last
		case <-tick.C:
		}
	}
}
