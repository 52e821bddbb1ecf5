// Package stream connects the transport of a subscription with its resolver. The transport ends a
// stream by cancelling its context; the resolver ends it by closing its channel, or by End if there
// is an error or a message.
package stream

import (
	"context"

	"github.com/kairship-io/kairship/pkg/fleet/changes"
)

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

// Consumer is a transport that pulls the events of a stream, so that no goroutine waits for them.
type Consumer interface {
	changes.Consumer
	// Discard reports that the event that is being read is not to be sent.
	Discard()
}

type consumerKey struct{}

// WithConsumer returns a context whose streams a transport consumes.
func WithConsumer(ctx context.Context, d Consumer) context.Context {
	return context.WithValue(ctx, consumerKey{}, d)
}

// From returns the consumer of the streams of a context; nil where there is none.
func From(ctx context.Context) Consumer {
	d, _ := ctx.Value(consumerKey{}).(Consumer)
	return d
}

// ConsumerOf returns the consumer for resolvers.
func ConsumerOf(ctx context.Context) changes.Consumer {
	if d := From(ctx); d != nil {
		return d
	}
	return nil
}
