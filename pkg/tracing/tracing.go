package tracing

import (
	"context"
	"net/http"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope names what makes the spans.
const scope = "github.com/kairship-io/kairship"

// The kinds of spans.
const (
	Internal = trace.SpanKindInternal
	Server   = trace.SpanKindServer
	Client   = trace.SpanKindClient
)

// tracer makes the spans; nil while tracing is off.
var tracer atomic.Pointer[trace.Tracer]

var traceContext = propagation.TraceContext{}

// Use has spans made by a provider; nil switches tracing off.
func Use(provider trace.TracerProvider) {
	if provider == nil {
		tracer.Store(nil)
		return
	}
	t := provider.Tracer(scope)
	tracer.Store(&t)
}

// On reports whether there is tracing.
func On() bool { return tracer.Load() != nil }

// Span is one step of a trace. The zero value is none, and does nothing.
type Span struct{ of trace.Span }

// Start begins a step of the trace of a context. Where that has none, or one that
// is not sampled, there is no step and the context stays as it is.
func Start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	t := tracer.Load()
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, Span{}
	}
	ctx, span := (*t).Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{span}
}

// Root begins a trace. It is linked to that of the context, where there is one.
func Root(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	t := tracer.Load()
	if t == nil {
		return ctx, Span{}
	}
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(kind)}
	if from := trace.SpanContextFromContext(ctx); from.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: from}))
	}
	ctx, span := (*t).Start(ctx, name, options...)
	return ctx, Span{span}
}

// Serve begins the span of a request that came over HTTP, in the trace that its caller names in the
// header traceparent, or in a new one.
//
// A caller whose trace is kept makes ours be kept too, which costs us and the collector. trusted
// reports whether it may, and is only called for such callers; nil means that none may. The span of
// any other begins a trace of its own, which is sampled like all that begin here and is linked to
// the caller's.
func Serve(ctx context.Context, header http.Header, name string, trusted func() bool) (context.Context, Span) {
	t := tracer.Load()
	if t == nil {
		return ctx, Span{}
	}
	ctx = traceContext.Extract(ctx, propagation.HeaderCarrier(header))
	if trace.SpanContextFromContext(ctx).IsSampled() && (trusted == nil || !trusted()) {
		return Root(ctx, name, Server)
	}
	ctx, span := (*t).Start(ctx, name, trace.WithSpanKind(Server))
	return ctx, Span{span}
}

// CallersTraceID is the trace that the caller of a request names in the header
// traceparent; empty where that names none. It needs no tracing to be on.
func CallersTraceID(header http.Header) string {
	ctx := traceContext.Extract(context.Background(), propagation.HeaderCarrier(header))
	if named := trace.SpanContextFromContext(ctx); named.IsValid() {
		return named.TraceID().String()
	}
	return ""
}

// At is the step that a context is in.
func At(ctx context.Context) Span {
	if tracer.Load() == nil {
		return Span{}
	}
	return Span{trace.SpanFromContext(ctx)}
}

// Inject names the trace of a context in the headers of a request that is sent for
// it. Where there is none, they stay as they are.
func Inject(ctx context.Context, header http.Header) {
	if tracer.Load() == nil || !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	// What the caller sent is of the step before this one.
	header.Del("Tracestate")
	traceContext.Inject(ctx, propagation.HeaderCarrier(header))
}

// TraceID is the trace of a span; empty where there is none.
func (s Span) TraceID() string {
	if s.of == nil {
		return ""
	}
	return s.of.SpanContext().TraceID().String()
}

// SpanID is the span that a context is in; empty where it is in none.
func SpanID(ctx context.Context) string {
	if tracer.Load() == nil {
		return ""
	}
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		return at.SpanID().String()
	}
	return ""
}

// TraceID is the trace that a context is in; empty where it is in none.
func TraceID(ctx context.Context) string {
	if tracer.Load() == nil {
		return ""
	}
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		return at.TraceID().String()
	}
	return ""
}

// Recording reports whether a backend will receive the span.
func (s Span) Recording() bool { return s.of != nil && s.of.IsRecording() }

// Rename gives the span another name.
func (s Span) Rename(name string) {
	if s.of != nil {
		s.of.SetName(name)
	}
}

// Text sets an attribute. The value is a word of Kairship's own, the name of
// something that there is, or an identifier of a parsed document.
func (s Span) Text(key, value string) {
	if s.of != nil {
		s.of.SetAttributes(attribute.String(key, value))
	}
}

// Number sets an attribute.
func (s Span) Number(key string, value int) {
	if s.of != nil {
		s.of.SetAttributes(attribute.Int(key, value))
	}
}

// Event notes that something happened, with what kind it was.
func (s Span) Event(name, key, value string) {
	if s.of != nil {
		s.of.AddEvent(name, trace.WithAttributes(attribute.String(key, value)))
	}
}

// Fail reports that the step failed, in a word of Kairship's own. Errors are never
// recorded with their text.
func (s Span) Fail(kind string) {
	if s.of != nil {
		s.of.SetAttributes(attribute.String(ErrorType, kind))
		s.of.SetStatus(codes.Error, kind)
	}
}

// End ends the step. Only the first call counts.
func (s Span) End() {
	if s.of != nil {
		s.of.End()
	}
}

// Late notes something of a trace whose step is over, as what happens to a stream
// long after it began: a span of its own, linked to that step.
func Late(ctx context.Context, name string, describe func(Span)) {
	t := tracer.Load()
	from := trace.SpanContextFromContext(ctx)
	if t == nil || !from.IsSampled() {
		return
	}
	_, span := (*t).Start(ctx, name, trace.WithLinks(trace.Link{SpanContext: from}))
	describe(Span{span})
	span.End()
}
