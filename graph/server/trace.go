package server

import (
	"context"
	"log/slog"

	"github.com/kairship-io/kairship/pkg/tracing"
)

// TraceHeader is the response header that carries the trace id of every request.
const TraceHeader = "Kairship-Trace-Id"

// TraceIDFrom tells the trace id of the request that ctx belongs to; "" outside of one.
func TraceIDFrom(ctx context.Context) string {
	if req := requestFrom(ctx); req != nil {
		return req.traceID
	}
	return ""
}

// LogHandler returns a handler that adds the trace id of the request, and the address
// that it came from, to every record that is logged with the request's context.
func LogHandler(next slog.Handler) slog.Handler {
	if h, ok := next.(traceHandler); ok {
		return h
	}
	return traceHandler{next}
}

type traceHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if req := requestFrom(ctx); req != nil && req.traceID != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("from", req.from), slog.String("traceId", req.traceID))
		if span := tracing.SpanID(ctx); span != "" {
			r.AddAttrs(slog.String("spanId", span))
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}
