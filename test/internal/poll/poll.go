// Package poll forwards to internal/poll, for the suites in test/suite.
package poll

import (
	"context"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
)

// Stop calls poll.Stop.
func Stop(err error) error { return poll.Stop(err) }

// Until calls poll.Until.
func Until(t testing.TB, within time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	poll.Until(t, within, what, check)
}

// Try calls poll.Try.
func Try(ctx context.Context, within time.Duration, check func(ctx context.Context) error) error {
	return poll.Try(ctx, within, check)
}
