package server

import (
	"net/http"
	"time"
)

// bodyTimeout is how long a client may take to send its body.
const bodyTimeout = 10 * time.Second

// boundBody gives a client so long to send its body, whether the handler reads it or
// not: http.Server itself reads what a handler left of it, for as long as it takes,
// and neither answers nor stops before.
func boundBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// A server that can't set deadlines (in tests) has none.
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) //nolint:errcheck // See above.
	}
}

// unboundBody takes that back, for who has read the body, or wants to read for longer.
func unboundBody(w http.ResponseWriter) {
	http.NewResponseController(w).SetReadDeadline(time.Time{}) //nolint:errcheck // See boundBody.
}

// BoundBodies gives clients of a handler as long to send their bodies as those of
// the API have, but for requests that the handler wants to answer while it reads them:
// it says so with EnableFullDuplex. What a proxy sends on takes as long as it takes, and
// what it refuses before holds no connection.
func BoundBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		boundBody(w, r)
		next.ServeHTTP(boundWriter{w}, r)
	})
}

// boundWriter hears when the body may take longer.
type boundWriter struct{ http.ResponseWriter }

// EnableFullDuplex is what http.ResponseController calls.
func (b boundWriter) EnableFullDuplex() error {
	unboundBody(b.ResponseWriter)
	return http.NewResponseController(b.ResponseWriter).EnableFullDuplex()
}

// Unwrap gives http.ResponseController the connection.
func (b boundWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }
