package trace

import (
	"context"
	"net/http"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// Begin begins the span of a request to an address, and finds its trace id:
// that of the span, and without tracing that of the caller or a new one. Callers whose
// credentials are valid may have their traces kept. The authenticator remembers what it
// finds, so that the global cluster is not asked twice.
func Begin(r *http.Request, route string, newTraceID func() string, known authz.Authenticator) (context.Context, tracing.Span, string) {
	ctx := r.Context()
	if !tracing.On() {
		traceID := tracing.CallersTraceID(r.Header)
		if traceID == "" {
			traceID = newTraceID()
		}
		return ctx, tracing.Span{}, traceID
	}
	method := tracing.MethodOf(r)
	ctx, span := tracing.Serve(ctx, r.Header, method+" "+route, func() bool {
		credentials := authz.RequestCredentials(r)
		if credentials.Empty() {
			return false
		}
		_, err := known.Authenticate(r.Context(), credentials)
		return err == nil
	})
	span.Text(tracing.Method, method)
	span.Text(tracing.Route, route)
	return ctx, span, span.TraceID()
}

// End ends the span of a request with the status of its answer. What goes on
// for long ends it when the answer begins: a span is not visible before its end.
func End(span tracing.Span, status int) {
	span.Number(tracing.Status, status)
	if status >= http.StatusInternalServerError {
		span.Fail(http.StatusText(status))
	}
	span.End()
}
