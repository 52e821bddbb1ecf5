// Package origin decides which pages may call the API.
package origin

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

// Policy lets pages of some origins call the API, beside the server's own.
type Policy struct {
	allowed []string
	cors    *cors.Cors
}

// Parse checks that a text is an origin as browsers send it.
func Parse(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", fmt.Errorf("%q is no origin such as https://console.example.com", text)
	case u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.ContainsAny(u.Host, "*,"):
		return "", fmt.Errorf("%q: an origin has a scheme, a host and perhaps a port, and no wildcard", text)
	}
	return strings.ToLower(u.Scheme + "://" + u.Host), nil
}

// NewPolicy returns the policy for origins as Parse returns them.
func NewPolicy(allowed []string) *Policy {
	p := &Policy{allowed: allowed}
	if len(allowed) > 0 {
		p.cors = cors.New(cors.Options{
			AllowedOrigins: allowed,
			AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
			AllowedHeaders: []string{
				"Authorization", "Content-Type", "Accept", "Last-Event-ID", "traceparent", "tracestate",
				"Apollo-Require-Preflight", "X-Apollo-Operation-Name", "Apollographql-Client-Name", "Apollographql-Client-Version",
				"Kairship-Consistency-Token", plan.Header, "If-Match", "If-None-Match",
				"Connect-Protocol-Version", "Connect-Timeout-Ms", "Grpc-Timeout", "X-Grpc-Web", "X-User-Agent",
			},
			ExposedHeaders: []string{trace.Header, "Retry-After", "WWW-Authenticate", "ETag", "Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin"},
			MaxAge:         int(corsMaxAge.Seconds()),
			// Tokens travel in a header: no cookie and no certificate of another page counts.
			AllowCredentials: false,
		})
	}
	return p
}

// Handler lets pages of the allowed origins read what is answered.
func (p *Policy) Handler(next http.Handler) http.Handler {
	if p.cors == nil {
		return next
	}
	return p.cors.Handler(next)
}

// Permits reports whether no page sends the request, or one of an origin that may.
func (p *Policy) Permits(r *http.Request) bool {
	return sameOrigin(r) || slices.Contains(p.allowed, strings.ToLower(r.Header.Get("Origin")))
}

// PermitsStream reports the same for a request that opens a stream. Browsers say where a page comes
// from also where they send no Origin.
func (p *Policy) PermitsStream(r *http.Request) bool {
	return OwnPage(r) || r.Header.Get("Origin") != "" && p.Permits(r)
}

// preflightHeaders are headers that a page can't send to another origin before the
// browser has asked whether it may, and that clients send for this reason.
var preflightHeaders = []string{"Authorization", "Apollo-Require-Preflight", "X-Apollo-Operation-Name", "GraphQL-Require-Preflight", "Kairship-Consistency-Token", plan.Header}

// Simple reports whether a page of any origin may have sent the request without being
// asked: a link, a form or an image.
func Simple(r *http.Request) bool {
	if slices.ContainsFunc(preflightHeaders, func(name string) bool { return r.Header.Get(name) != "" }) {
		return false
	}
	if r.Method == http.MethodPost || r.Header.Get("Content-Type") != "" {
		return !mediatype.IsJSON(r.Header)
	}
	// A browser says so itself, and no page can change it.
	return r.Header.Get("Sec-Fetch-Site") != "same-origin"
}

// ErrSimple returns the error of a request that may be sent by any page with the certificate or the
// cookie that the browser adds automatically.
func ErrSimple() *apierror.Error {
	return apierror.New(apierror.CodeForbidden,
		"a page of any site may send such a request without asking: send it as a POST with Content-Type: application/json, or with the header Apollo-Require-Preflight: 1")
}

// sameOrigin reports whether a request does not say that a page of another site sends it.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// OwnPage reports whether no page of another site sends the request. What browsers
// too old to say send is decided by the cookie's SameSite alone.
func OwnPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return (site == "" || site == "same-origin") && sameOrigin(r)
}
