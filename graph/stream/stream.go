// Package stream is what the transport of a subscription and its resolver tell
// each other. The transport ends a stream by cancelling its context; the resolver
// ends it by closing its channel, or by End when there is something to say.
package stream

import "context"

type endKey struct{}

// With returns the context for the resolver of a stream, which End cancels.
func With(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, endKey{}, cancel), cancel
}

// End cancels the context of a stream's resolver, which is then to close its
// channel. The error is the last that the client hears, after the events that were
// sent before; see pkg/apierror about what is shown of it. The first end of a
// stream counts. Outside of a stream, nothing happens.
func End(ctx context.Context, err error) {
	if cancel, ok := ctx.Value(endKey{}).(context.CancelCauseFunc); ok {
		cancel(err)
	}
}
