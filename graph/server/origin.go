package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/cors"

	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// corsMaxAge is how long a browser may keep what a preflight said.
const corsMaxAge = 10 * time.Minute

// origins are those whose pages may call the API, beside the server's own.
type origins struct {
	allowed []string
	cors    *cors.Cors
}

// ParseOrigin checks that a text is an origin as browsers send it.
func ParseOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", fmt.Errorf("%q is no origin such as https://console.example.com", text)
	case u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.ContainsAny(u.Host, "*,"):
		return "", fmt.Errorf("%q: an origin has a scheme, a host and perhaps a port, and no wildcard", text)
	}
	return strings.ToLower(u.Scheme + "://" + u.Host), nil
}

func newOrigins(allowed []string) *origins {
	o := &origins{allowed: allowed}
	if len(allowed) > 0 {
		o.cors = cors.New(cors.Options{
			AllowedOrigins: allowed,
			AllowedMethods: []string{http.MethodGet, http.MethodPost},
			AllowedHeaders: []string{
				"Authorization", "Content-Type", "Accept", "Last-Event-ID", "traceparent", "tracestate",
				"Apollo-Require-Preflight", "X-Apollo-Operation-Name", "Apollographql-Client-Name", "Apollographql-Client-Version",
				"Kairship-Consistency-Token", plan.Header,
			},
			ExposedHeaders: []string{trace.Header, "Retry-After", "WWW-Authenticate"},
			MaxAge:         int(corsMaxAge.Seconds()),
			// Tokens travel in a header: no cookie and no certificate of another page counts.
			AllowCredentials: false,
		})
	}
	return o
}

// handler lets pages of the allowed origins read what is answered.
func (o *origins) handler(next http.Handler) http.Handler {
	if o.cors == nil {
		return next
	}
	return o.cors.Handler(next)
}

// permits reports whether no page sends the request, or one of an origin that may.
func (o *origins) permits(r *http.Request) bool {
	return sameOrigin(r) || slices.Contains(o.allowed, strings.ToLower(r.Header.Get("Origin")))
}

// mayStream tells the same of what opens a stream. Browsers say where a page comes
// from also where they send no Origin.
func (o *origins) mayStream(r *http.Request) bool {
	return ownPage(r) || r.Header.Get("Origin") != "" && o.permits(r)
}

// preflightHeaders are headers that a page can't send to another origin before the
// browser has asked whether it may, and that clients send for this reason.
var preflightHeaders = []string{"Authorization", "Apollo-Require-Preflight", "X-Apollo-Operation-Name", "GraphQL-Require-Preflight", "Kairship-Consistency-Token", plan.Header}

// simple reports whether a page of any origin may have sent the request without being
// asked: a link, a form or an image.
func simple(r *http.Request) bool {
	if slices.ContainsFunc(preflightHeaders, func(name string) bool { return r.Header.Get(name) != "" }) {
		return false
	}
	if r.Method == http.MethodPost || r.Header.Get("Content-Type") != "" {
		return !mediatype.IsJSON(r.Header)
	}
	// A browser says so itself, and no page can change it.
	return r.Header.Get("Sec-Fetch-Site") != "same-origin"
}

// errSimple refuses what might be sent by any page with the certificate or the
// cookie that the browser adds automatically.
func errSimple() *apierror.Error {
	return apierror.New(apierror.CodeForbidden,
		"a page of any site may send such a request without asking: send it as a POST with Content-Type: application/json, or with the header Apollo-Require-Preflight: 1")
}
