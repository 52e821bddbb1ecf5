package tracing

import (
	"context"
	"errors"
	"net/http"
	"strconv"
)

// knownMethods are those that spans name; any other may be any text of a caller.
var knownMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true,
	http.MethodPatch: true, http.MethodDelete: true, http.MethodOptions: true, http.MethodConnect: true, http.MethodTrace: true,
}

// MethodOf is the method of a request as spans and metrics have it.
func MethodOf(r *http.Request) string {
	if knownMethods[r.Method] {
		return r.Method
	}
	return "_OTHER"
}

// Request begins the step of sending a request. Its header is that of the request
// from now on, so it must be the sender's own.
func Request(ctx context.Context, method, upstream string, header http.Header) (context.Context, Span) {
	ctx, span := Start(ctx, method, Client)
	if span.of != nil {
		span.Text(Method, method)
		span.Text(Upstream, upstream)
	}
	Inject(ctx, header)
	return ctx, span
}

// Answered ends the step of a request with its answer, or with why there was none.
func (s Span) Answered(response *http.Response, err error) {
	if s.of == nil {
		return
	}
	defer s.of.End()
	if err != nil {
		s.Fail(kindOf(err))
		return
	}
	s.Number(Status, response.StatusCode)
	if response.StatusCode >= http.StatusBadRequest {
		s.Fail(strconv.Itoa(response.StatusCode))
	}
}

// kindOf is what went wrong with a request, without what it was.
func kindOf(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "unreachable"
}

// Transport makes steps of the requests that are sent for a trace.
func Transport(upstream string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return transport{next, upstream} }
}

type transport struct {
	next     http.RoundTripper
	upstream string
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if TraceID(r.Context()) == "" {
		return t.next.RoundTrip(r)
	}
	header := r.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	ctx, span := Request(r.Context(), MethodOf(r), t.upstream, header)
	r = r.WithContext(ctx)
	r.Header = header
	response, err := t.next.RoundTrip(r)
	span.Answered(response, err)
	return response, err
}

// WrappedRoundTripper is what client-go looks through for the connection.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// CloseIdleConnections is what http.Client closes them by.
func (t transport) CloseIdleConnections() {
	if next, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}
