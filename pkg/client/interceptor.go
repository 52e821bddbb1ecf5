package client

import (
	"cmp"
	"context"
	"time"

	"connectrpc.com/connect"
	"k8s.io/apimachinery/pkg/util/wait"
)

// DefaultRetries is how often a request is repeated unless told.
const DefaultRetries = 3

// interceptor adds what every request has, and repeats those that may be repeated.
type interceptor struct{ Config }

var _ connect.Interceptor = (*interceptor)(nil)

// WrapUnary implements connect.Interceptor.
func (i *interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		pause := backoff()
		for left := i.retries(req.Spec()); ; left-- {
			if err := i.identify(ctx, req.Header().Set); err != nil {
				return nil, err
			}
			answer, err := next(ctx, req)
			if err == nil || left <= 0 || !Unavailable(err) {
				return answer, err
			}
			if !sleep(ctx, cmp.Or(RetryAfter(err), pause.Step())) {
				return nil, err
			}
		}
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (i *interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		if err := i.identify(ctx, conn.RequestHeader().Set); err != nil {
			return &failedConn{conn, err}
		}
		return conn
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (*interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// retries is how often a request may be repeated: one that writes may have been executed.
func (i *interceptor) retries(spec connect.Spec) int {
	switch {
	case spec.IdempotencyLevel != connect.IdempotencyNoSideEffects || i.Retries < 0:
		return 0
	case i.Retries == 0:
		return DefaultRetries
	}
	return i.Retries
}

func (i *interceptor) identify(ctx context.Context, set func(name, value string)) error {
	if i.UserAgent != "" {
		set("User-Agent", i.UserAgent)
	}
	if i.Token == nil {
		return nil
	}
	token, err := i.Token(ctx)
	if err != nil {
		return connect.NewError(connect.CodeUnauthenticated, err)
	}
	set("Authorization", "Bearer "+token)
	return nil
}

// backoff are the pauses between repetitions.
func backoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 10 * time.Second}
}

// sleep waits; false where the context ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// failedConn is a stream that cannot begin.
type failedConn struct {
	connect.StreamingClientConn
	err error
}

// Send implements connect.StreamingClientConn.
func (f *failedConn) Send(any) error { return f.err }
