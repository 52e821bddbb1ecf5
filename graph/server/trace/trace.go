// Package trace gives every HTTP request a trace id, which the response, the log and
// errors name it by, and a span.
package trace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"

	"github.com/kairship-io/kairship/pkg/tracing"
)

// Header is the response header that carries the trace id of every request.
const Header = "Kairship-Trace-Id"

// Request is what log records name a request by.
type Request struct {
	// ID is the trace id.
	ID string
	// From is the address of the peer: that of the client, or of the proxy that is last
	// before Kairship. No header replaces it, because any client can send one.
	From string
	// Span is that of an HTTP request; none for an operation of a WebSocket.
	Span tracing.Span
}

type requestKey struct{}

// With returns a context that belongs to a request.
func With(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// From returns the request that a context belongs to; the zero value outside of one.
func From(ctx context.Context) Request {
	r, _ := ctx.Value(requestKey{}).(Request)
	return r
}

// NewID returns a random trace id.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// LogHandler returns a handler that adds the trace id of the request, and the address
// that it came from, to every record that is logged with the request's context.
func LogHandler(next slog.Handler) slog.Handler {
	if h, ok := next.(logHandler); ok {
		return h
	}
	return logHandler{next}
}

type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if req := From(ctx); req.ID != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("from", req.From), slog.String("traceId", req.ID))
		if span := tracing.SpanID(ctx); span != "" {
			r.AddAttrs(slog.String("spanId", span))
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}
