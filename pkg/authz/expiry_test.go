package authz

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// A certificate is verified once for each connection, which may outlive it.
func TestExpiryOfCertificates(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	until := func(d time.Duration) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: "bob"}, NotAfter: now.Add(d)}
	}
	for _, tt := range []struct {
		chains [][]*x509.Certificate
		want   time.Duration
		why    string
	}{
		{[][]*x509.Certificate{{until(time.Hour), until(2 * time.Hour)}}, time.Hour, "the certificate ends first"},
		{[][]*x509.Certificate{{until(2 * time.Hour), until(time.Hour)}}, time.Hour, "its authority ends first"},
		{[][]*x509.Certificate{{until(3 * time.Hour), until(time.Hour)}, {until(3 * time.Hour), until(2 * time.Hour)}}, 2 * time.Hour, "another authority vouches for longer"},
	} {
		at := now
		a := NewAuthenticator(nil, func() time.Time { return at })
		c := RequestCredentials(&http.Request{TLS: &tls.ConnectionState{VerifiedChains: tt.chains}})
		if got := c.Expires().Sub(now); got != tt.want {
			t.Errorf("%s: it expires after %s, want %s", tt.why, got, tt.want)
		}
		for name, ask := range map[string]func(context.Context, Credentials) (User, error){"Authenticate": a.Authenticate, "Recheck": a.Recheck} {
			at = now.Add(tt.want - time.Second)
			if _, err := ask(t.Context(), c); err != nil {
				t.Errorf("%s, %s: before the end: %v", tt.why, name, err)
			}
			at = now.Add(tt.want)
			if _, err := ask(t.Context(), c); !apierror.Is(err, apierror.CodeUnauthenticated) {
				t.Errorf("%s, %s: at the end: %v", tt.why, name, err)
			}
		}
	}
}

// A token is remembered for some seconds, and for no longer than it says.
func TestExpiryOfTokens(t *testing.T) {
	now := &clock{time.Unix(1_700_000_000, 0)}
	end := now.now().Add(2 * time.Second)
	token := "h." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, end.Unix())) + ".s"
	reviews := &fakeTokenReviews{answer: func(context.Context, string) (authenticationv1.TokenReviewStatus, error) { return known("alice") }}
	a := NewAuthenticator(reviews, now.now)
	if _, err := a.Authenticate(t.Context(), TokenCredentials(token)); err != nil {
		t.Fatal(err)
	}
	now.advance(2 * time.Second)
	for name, ask := range map[string]func(context.Context, Credentials) (User, error){"Authenticate": a.Authenticate, "Recheck": a.Recheck} {
		if _, err := ask(t.Context(), TokenCredentials(token)); !apierror.Is(err, apierror.CodeUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
