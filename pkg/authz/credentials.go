package authz

import (
	"crypto/x509"
	"log/slog"
	"net/http"
	"strings"
)

// Credentials are what a request brought to prove who sends it. They print and
// log as a placeholder, so that a stray %v or slog attribute shows no token.
type Credentials struct {
	token       string
	certificate *x509.Certificate
}

// TokenCredentials are the credentials of a caller that presents a bearer token.
func TokenCredentials(token string) Credentials { return Credentials{token: token} }

// RequestCredentials finds the credentials of an HTTP request: the bearer token
// of its Authorization header, and the client certificate of its TLS connection
// when the server verified one against its client CA. Both may be missing.
func RequestCredentials(r *http.Request) Credentials {
	var c Credentials
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		c.token = strings.TrimSpace(token)
	}
	// PeerCertificates alone proves nothing: only VerifiedChains went through the client CA.
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && len(r.TLS.VerifiedChains[0]) > 0 {
		c.certificate = r.TLS.VerifiedChains[0][0]
	}
	return c
}

// Empty tells that the request brought nothing to check.
func (c Credentials) Empty() bool { return c.token == "" && c.certificate == nil }

// String implements fmt.Stringer without showing anything.
func (Credentials) String() string { return "[credentials]" }

// GoString implements fmt.GoStringer without showing anything.
func (Credentials) GoString() string { return "[credentials]" }

// LogValue implements slog.LogValuer without showing anything.
func (Credentials) LogValue() slog.Value { return slog.StringValue("[credentials]") }
