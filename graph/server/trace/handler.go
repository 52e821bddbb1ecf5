package trace

import (
	"net/http"

	"github.com/kairship-io/kairship/pkg/authz"
)

// Handler gives the requests of another handler the same as those to /graphql: a trace id, in the
// response's header and in every record that is logged with the request's context (LogHandler), and
// a span. The route is the pattern of their paths. lasts reports whether a request is long-running:
// its span ends when the answer begins. Traces of callers whom known authenticates may be kept.
func Handler(next http.Handler, route string, lasts func(*http.Request) bool, known authz.Authenticator) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span, traceID := Begin(r, route, NewID, known)
		w.Header().Set(Header, traceID)
		r = r.WithContext(With(ctx, Request{ID: traceID, From: r.RemoteAddr})) //nolint:contextcheck // Begin makes it of the request's.
		if !span.Recording() {
			next.ServeHTTP(w, r)
			return
		}
		recorder := &spanRecorder{StatusRecorder: NewStatusRecorder(w)}
		if lasts(r) {
			recorder.begun = func(status int) { End(span, status) }
		}
		defer func() { End(span, recorder.Status) }()
		next.ServeHTTP(recorder, r)
	})
}

// spanRecorder records the status, and calls begun when the answer begins.
type spanRecorder struct {
	*StatusRecorder

	begun func(status int)
}

// WriteHeader implements http.ResponseWriter.
func (s *spanRecorder) WriteHeader(status int) {
	if s.begun != nil && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		s.begun(status)
	}
	s.StatusRecorder.WriteHeader(status)
}

// StatusRecorder records the status of an answer.
type StatusRecorder struct {
	http.ResponseWriter

	Status int
	wrote  bool
}

// NewStatusRecorder returns a recorder with the status of a handler that sets none.
func NewStatusRecorder(w http.ResponseWriter) *StatusRecorder {
	return &StatusRecorder{ResponseWriter: w, Status: http.StatusOK}
}

// WriteHeader implements http.ResponseWriter.
func (s *StatusRecorder) WriteHeader(status int) {
	if !s.wrote {
		s.Status, s.wrote = status, true
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController the connection.
func (s *StatusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Keep notes the status that an answer has in the log, where its protocol has another one in HTTP.
func (s *StatusRecorder) Keep(status int) { s.Status, s.wrote = status, true }
