// Package body limits how long clients take to send the bodies of requests.
package body

import (
	"net/http"
	"time"
)

// timeout is how long a client may take to send its body.
const timeout = 10 * time.Second

// SetDeadline limits how long a client takes to send its body, whether the handler reads it
// or not: http.Server reads what a handler left of it, for as long as it takes, and neither
// answers nor stops before.
func SetDeadline(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// A server that can't set deadlines (in tests) has none.
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout)) //nolint:errcheck // See above.
	}
}

// ClearDeadline removes the limit, after the body was read or for a handler that reads for
// longer.
func ClearDeadline(w http.ResponseWriter) {
	http.NewResponseController(w).SetReadDeadline(time.Time{}) //nolint:errcheck // See SetDeadline.
}

// Deadline limits how long clients of a handler take to send their bodies as for the API,
// except for requests that the handler answers while it reads them: it calls
// EnableFullDuplex. What a proxy sends on takes as long as it takes, and what it refuses
// before holds no connection.
func Deadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetDeadline(w, r)
		next.ServeHTTP(deadlineWriter{w}, r)
	})
}

// deadlineWriter removes the limit when the body may take longer.
type deadlineWriter struct{ http.ResponseWriter }

// EnableFullDuplex is called by http.ResponseController.
func (b deadlineWriter) EnableFullDuplex() error {
	ClearDeadline(b.ResponseWriter)
	return http.NewResponseController(b.ResponseWriter).EnableFullDuplex()
}

// Unwrap gives http.ResponseController the connection.
func (b deadlineWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }
