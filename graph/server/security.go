package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/kairship-io/kairship/graph/server/body"
)

// DefaultHSTS is how long browsers are to reach the server over TLS alone.
const DefaultHSTS = 180 * 24 * time.Hour

// apiPolicy lets a browser that shows an answer as a page do nothing with it.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// NoSniff has browsers take what a handler answers for what its media type says. It is for
// handlers that are served beside the API, which sets the header itself.
func NoSniff(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// secured sets the headers that restrict what browsers do with an answer, and bounds the time for
// bodies, at every address. The page's own handler sets the headers that differ for it.
func secured(hsts time.Duration, next http.Handler) http.Handler {
	transport := "max-age=" + strconv.Itoa(int(hsts.Seconds()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", apiPolicy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		// Behind a proxy that ends TLS, the header is the proxy's to set.
		if r.TLS != nil && hsts > 0 {
			h.Set("Strict-Transport-Security", transport)
		}
		body.SetDeadline(w, r)
		next.ServeHTTP(w, r)
	})
}
