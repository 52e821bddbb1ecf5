package suite

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestClientCertificates asks over TLS, with certificates of the global cluster and
// of others, and with tokens beside them.
func TestClientCertificates(t *testing.T) {
	f := fleet.Open(t)
	p, trusted := f.SecureKairship(t, f.NewGateway(t))
	as := func(certificateOf, token string) *gql.Client {
		config := &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
		if certificateOf != "" {
			certificate, err := tls.LoadX509KeyPair(f.PKI(certificateOf, "clients", "admin.crt"), f.PKI(certificateOf, "clients", "admin.key"))
			if err != nil {
				t.Fatal(err)
			}
			// It is sent whatever authorities the server reports that it takes.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
		}
		c := gql.New("https://"+p.Address, token)
		c.HTTP.Transport = &http.Transport{TLSClientConfig: config}
		return c
	}
	admin, mallory := f.Token(t, "admin"), f.Token(t, "mallory")
	for _, tt := range []struct {
		name          string
		certificateOf string
		token         string
		user          string
		why           string
	}{
		{"a certificate", "global", "", commonName(t, f), "the subject is the user"},
		{"a certificate and a token", "global", mallory, commonName(t, f), "a certificate goes before a token, as in Kubernetes"},
		{"a certificate and no token at all", "global", unknownToken, commonName(t, f), "the token is not looked at"},
		{"a token alone", "", admin, "admin", "tokens work over TLS too"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, _ := gql.MustQuery[struct{ Viewer struct{ Username string } }](t, as(tt.certificateOf, tt.token), "{ viewer { username } }", nil)
			if data.Viewer.Username != tt.user {
				t.Errorf("the user is %q, want %q: %s", data.Viewer.Username, tt.user, tt.why)
			}
		})
	}
	t.Run("neither", func(t *testing.T) {
		refused(t, as("", "").Must(t, gql.Request{Query: anyQuery}), http.StatusUnauthorized, "UNAUTHENTICATED")
	})
	t.Run("an unknown token", func(t *testing.T) {
		refused(t, as("", unknownToken).Must(t, gql.Request{Query: anyQuery}), http.StatusUnauthorized, "UNAUTHENTICATED")
	})
	t.Run("a certificate of an instance", func(t *testing.T) {
		if r, err := as("alpha", admin).Do(t.Context(), gql.Request{Query: anyQuery}); err == nil {
			t.Errorf("an administrator of alpha gets HTTP %d: %s", r.Status, r.Body)
		}
	})
	t.Run("without TLS", func(t *testing.T) {
		status, err := statusOf(t.Context(), "http://"+p.Address+"/graphql")
		if err == nil && status != http.StatusBadRequest {
			t.Errorf("HTTP %d", status)
		}
	})
}

// commonName is who the administrator's certificate is made out to.
func commonName(t *testing.T, f *fleet.Fleet) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(f.PKI("global", "clients", "admin.crt"), f.PKI("global", "clients", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	name := certificate.Subject.CommonName
	if !strings.Contains(name, "admin") {
		t.Fatalf("the certificate is of %q", name)
	}
	return name
}
