package authz

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Credentials are the credentials that a request was sent with. They print and log as a
// placeholder, so that a stray %v or slog attribute shows no token.
type Credentials struct {
	token       string
	certificate *x509.Certificate
	// connection is that of the certificate, whose chains lead to an authority.
	connection *tls.ConnectionState
	session    bool
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
		c.certificate, c.connection = r.TLS.VerifiedChains[0][0], r.TLS
	}
	return c
}

// Expires returns the time at which the credentials expire: the end of the certificate's verified
// chain, or the claim exp of a token that is a JWT. It is zero for a token without that claim. The
// claim is not verified: a token is valid only if the global cluster has found it valid.
func (c Credentials) Expires() time.Time {
	if c.certificate != nil {
		return c.certificateExpires()
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if !c.claims(&claims) || claims.Exp <= 0 || claims.Exp > maxUnixTime {
		return time.Time{}
	}
	return time.Unix(int64(claims.Exp), 0)
}

// certificateExpires is when the last of the verified chains ends: a chain ends with
// the first of its certificates.
func (c Credentials) certificateExpires() time.Time {
	if c.connection == nil {
		return c.certificate.NotAfter
	}
	var last time.Time
	for _, chain := range c.connection.VerifiedChains {
		end := c.certificate.NotAfter
		for _, certificate := range chain {
			if certificate.NotAfter.Before(end) {
				end = certificate.NotAfter
			}
		}
		if end.After(last) {
			last = end
		}
	}
	return last
}

// claims reads the claims of a token that is a JWT; false where it is none. It has not
// looked at its signature.
func (c Credentials) claims(into any) bool {
	_, rest, ok := strings.Cut(c.token, ".")
	payload, _, signed := strings.Cut(rest, ".")
	if !ok || !signed {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	return err == nil && json.Unmarshal(raw, into) == nil
}

// ofServiceAccount reports whether a token says it is that of a service account.
func (c Credentials) ofServiceAccount() bool {
	var claims struct {
		Sub string `json:"sub"`
	}
	return c.claims(&claims) && strings.HasPrefix(claims.Sub, serviceAccountPrefix)
}

// maxUnixTime is the end of the year 9999, after which moments can't be written down.
const maxUnixTime = 253402300799

// Same reports whether two credentials are the same.
func (c Credentials) Same(other Credentials) bool { return c.key() == other.key() }

// key stands for the credentials without showing them.
func (c Credentials) key() [sha256.Size]byte {
	if c.certificate != nil {
		return sha256.Sum256(c.certificate.Raw)
	}
	return sha256.Sum256([]byte(c.token))
}

// Token returns the bearer token; it is empty for a certificate alone. Use it only to return the
// caller's own token to the caller.
func (c Credentials) Token() string { return c.token }

// FromSession reports whether a browser sent the credentials automatically, and not the page that
// it shows.
func (c Credentials) FromSession() Credentials {
	c.session = true
	return c
}

// Session returns the value that FromSession was called with.
func (c Credentials) Session() bool { return c.session }

// Empty reports whether the request has neither a token nor a certificate.
func (c Credentials) Empty() bool { return c.token == "" && c.certificate == nil }

// String implements fmt.Stringer without showing anything.
func (Credentials) String() string { return "[credentials]" }

// GoString implements fmt.GoStringer without showing anything.
func (Credentials) GoString() string { return "[credentials]" }

// LogValue implements slog.LogValuer without showing anything.
func (Credentials) LogValue() slog.Value { return slog.StringValue("[credentials]") }
