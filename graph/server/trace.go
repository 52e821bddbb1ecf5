package server

import (
	"context"
	"log/slog"
	"strings"

	"github.com/kairship-io/kairship/pkg/tracing"
)

// TraceHeader is the response header that carries the trace id of every request.
const TraceHeader = "Kairship-Trace-Id"

const (
	traceIDLen   = 32
	parentIDLen  = 16
	zeroTraceID  = "00000000000000000000000000000000"
	zeroParentID = "0000000000000000"
)

// traceIDOf reads the trace id of a W3C traceparent header, version-traceid-parentid-flags;
// "" when the header is not one. Versions after 00 may append fields, so only
// the parts that every version shares are read.
func traceIDOf(traceparent string) string {
	parts := strings.Split(traceparent, "-")
	if len(parts) < 4 {
		return ""
	}
	version, traceID, parentID, flags := parts[0], parts[1], parts[2], parts[3]
	if !isHex(version, 2) || version == "ff" || (version == "00" && len(parts) != 4) {
		return ""
	}
	if !isHex(traceID, traceIDLen) || traceID == zeroTraceID || !isHex(parentID, parentIDLen) || parentID == zeroParentID || !isHex(flags, 2) {
		return ""
	}
	return traceID
}

func isHex(s string, length int) bool {
	if len(s) != length {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// TraceIDFrom tells the trace id of the request that ctx belongs to; "" outside of one.
func TraceIDFrom(ctx context.Context) string {
	if req := requestFrom(ctx); req != nil {
		return req.traceID
	}
	return ""
}

// LogHandler returns a handler that adds the trace id of the request to every
// record that is logged with the request's context.
func LogHandler(next slog.Handler) slog.Handler {
	if h, ok := next.(traceHandler); ok {
		return h
	}
	return traceHandler{next}
}

type traceHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := TraceIDFrom(ctx); id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("traceId", id))
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
