// Package stream is what the transport of a subscription and its resolver tell
// each other. The transport ends a stream by cancelling its context; the resolver
// ends it by closing its channel, or by End when there is something to say.
package stream

import "context"

type endKey struct{}

// With returns the context of a stream that End ends, by cancelling it with a cause.
func With(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, endKey{}, cancel), cancel
}

// End ends the stream that a context belongs to. The error is the last that its
// client hears; see pkg/apierror about what is shown of it. The first end of a
// stream counts. Outside of a stream, nothing happens.
func End(ctx context.Context, err error) {
	if cancel, ok := ctx.Value(endKey{}).(context.CancelCauseFunc); ok {
		cancel(err)
	}
}
