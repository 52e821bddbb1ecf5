package client

import (
	"cmp"
	"context"

	"connectrpc.com/connect"
)

// Follow calls each with every answer of a stream, until the context or the stream ends or each fails. While the server
// does not answer, or ends the stream to have it begin elsewhere, begin is called again with the last cursor that each
// returned; empty for the beginning.
func Follow[A any](ctx context.Context, begin func(ctx context.Context, after string) (*connect.ServerStreamForClient[A], error), each func(*A) (cursor string, err error)) error {
	after := ""
	pause := backoff()
	for {
		received, err := once(ctx, begin, each, &after)
		if received {
			pause = backoff()
		}
		if err == nil || ctx.Err() != nil || !Unavailable(err) {
			return err
		}
		if !sleep(ctx, cmp.Or(RetryAfter(err), pause.Step())) {
			return ctx.Err()
		}
	}
}

// once follows a stream to its end.
func once[A any](ctx context.Context, begin func(context.Context, string) (*connect.ServerStreamForClient[A], error), each func(*A) (string, error), after *string) (received bool, err error) {
	stream, err := begin(ctx, *after)
	if err != nil {
		return false, err
	}
	defer stream.Close() //nolint:errcheck // What was received is complete.
	for stream.Receive() {
		received = true
		cursor, err := each(stream.Msg())
		if err != nil {
			return received, err
		}
		if cursor != "" {
			*after = cursor
		}
	}
	return received, stream.Err()
}
