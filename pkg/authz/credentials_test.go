package authz

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

func TestRequestCredentials(t *testing.T) {
	cert := &x509.Certificate{}
	verified := &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{cert}}}
	for _, tt := range []struct {
		header   string
		tls      *tls.ConnectionState
		want     Credentials
		wantNone bool
		why      string
	}{
		{header: "Bearer abc", want: Credentials{token: "abc"}, why: "the usual form"},
		{header: "bearer abc", want: Credentials{token: "abc"}, why: "schemes are case-insensitive (RFC 9110)"},
		{header: "Bearer  abc ", want: Credentials{token: "abc"}, why: "stray spaces come from copying"},
		{header: "Basic abc", wantNone: true, why: "another scheme's credentials are no token"},
		{header: "Bearer", wantNone: true, why: "no token"},
		{header: "Bearer  ", wantNone: true, why: "no token"},
		{header: "abc", wantNone: true, why: "no scheme"},
		{header: "", wantNone: true, why: "no header"},
		{
			tls: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}, wantNone: true,
			why: "a certificate that no client CA vouched for proves nothing",
		},
		{
			tls:  verified,
			want: Credentials{certificate: cert, connection: verified}, why: "the chain ends at the client CA",
		},
	} {
		got := RequestCredentials(&http.Request{Header: http.Header{"Authorization": {tt.header}}, TLS: tt.tls})
		if got != tt.want || got.Empty() != tt.wantNone {
			t.Errorf("Authorization %q: %s", tt.header, tt.why)
		}
	}
}

func TestCredentialsShowNothing(t *testing.T) {
	c := TokenCredentials("secret-token")
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "credentials", c)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "credentials", c)
	for how, text := range map[string]string{
		"String": c.String(), "%+v": fmt.Sprintf("%+v", c), "%#v": fmt.Sprintf("%#v", c), "in a struct": fmt.Sprintf("%+v", struct{ C Credentials }{c}), "slog": log.String(),
	} {
		if strings.Contains(text, "secret") {
			t.Errorf("%s shows the token: %s", how, text)
		}
	}
}

func TestUserFrom(t *testing.T) {
	if _, ok := UserFrom(context.Background()); ok {
		t.Error("a context without a user has one")
	}
	if u, ok := UserFrom(WithUser(t.Context(), User{Name: "alice"})); !ok || u.Name != "alice" {
		t.Errorf("got %v, %v", u, ok)
	}
}
