package server

import (
	"net/http"

	"github.com/kairship-io/kairship/pkg/authz"
)

// Traced gives the requests of another handler what those to /graphql have: a
// trace id, in the response's header and in every record that is logged with the
// request's context (LogHandler), and a span. The route is the pattern of their
// addresses. Lasts tells requests that go on for long, whose span ends when the
// answer begins. known says whose traces may be kept.
func Traced(next http.Handler, route string, lasts func(*http.Request) bool, known authz.Authenticator) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span, traceID := beginHTTP(r, route, randomTraceID, known)
		w.Header().Set(TraceHeader, traceID)
		r = r.WithContext(withRequest(ctx, newRequest(traceID, r.RemoteAddr))) //nolint:contextcheck // beginHTTP makes it of the request's.
		if !span.Recording() {
			next.ServeHTTP(w, r)
			return
		}
		recorder := &spanRecorder{statusRecorder: statusRecorder{ResponseWriter: w, status: http.StatusOK}}
		if lasts(r) {
			recorder.begun = func(status int) { endHTTP(span, status) }
		}
		defer func() { endHTTP(span, recorder.status) }()
		next.ServeHTTP(recorder, r)
	})
}

// spanRecorder hears the status, and when the answer begins.
type spanRecorder struct {
	statusRecorder
	begun func(status int)
}

// WriteHeader implements http.ResponseWriter.
func (s *spanRecorder) WriteHeader(status int) {
	if s.begun != nil && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		s.begun(status)
	}
	s.statusRecorder.WriteHeader(status)
}
