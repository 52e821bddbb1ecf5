// Package poll waits in tests for conditions that become true.
package poll

import (
	"context"
	"errors"
	"testing"
	"time"
)

// stop is an error that no further attempt mends.
type stop struct{ error }

// Stop makes an error that ends the waiting: time does not mend it.
func Stop(err error) error { return stop{err} }

// The pause between two attempts doubles from shortest to longest: what is there at once costs no
// time, and what takes seconds is not asked for a thousand times.
const (
	shortest = time.Millisecond
	longest  = 100 * time.Millisecond
)

// Until calls check until it returns nil. When the deadline passes first, the
// test ends with the last error of check.
func Until(t testing.TB, within time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	ctx := t.Context()
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx) // The test cleans up.
	}
	if err := Try(ctx, within, check); err != nil {
		t.Fatalf("not within %s: %s: %v", within, what, err)
	}
}

// errNot is the error of a condition that is false.
var errNot = errors.New("the condition is false")

// True calls done until it returns true. When the deadline passes first, the test ends.
func True(t testing.TB, within time.Duration, what string, done func() bool) {
	t.Helper()
	Until(t, within, what, func(context.Context) error {
		if !done() {
			return errNot
		}
		return nil
	})
}

// Try calls check until it returns nil or the time is over; then it returns the last error of check.
func Try(ctx context.Context, within time.Duration, check func(ctx context.Context) error) error {
	deadline := time.Now().Add(within)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var last error
	for pause := shortest; ; pause = min(2*pause, longest) {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if final, ok := errors.AsType[stop](err); ok {
			return final.error
		}
		// The error of an attempt that was cut off by the deadline says less than the one before.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if !time.Now().Before(deadline) {
			return last
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(pause):
		}
	}
}
