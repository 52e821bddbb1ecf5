package server

import "net/http"

// Traced gives the requests of another handler what those to /graphql have: a
// trace id, in the response's header and in every record that is logged with the
// request's context (LogHandler).
func Traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		traceID := traceIDOf(r.Header.Get("traceparent")) //nolint:canonicalheader // W3C Trace Context writes it in lower case.
		if traceID == "" {
			traceID = randomTraceID()
		}
		w.Header().Set(TraceHeader, traceID)
		next.ServeHTTP(w, r.WithContext(withRequest(r.Context(), newRequest(traceID))))
	})
}
