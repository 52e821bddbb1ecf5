package process

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/poll"
)

// issuer signs certificates.
type issuer struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newIssuer(t *testing.T, name string) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{key, c}
}

// issue makes a certificate for a name, and its key, in PEM.
func (i *issuer) issue(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, i.cert, private.Public(), i.key)
	if err != nil {
		t.Fatal(err)
	}
	if certificate, err = cert.EncodeCertificates(&x509.Certificate{Raw: der}); err != nil {
		t.Fatal(err)
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

// TestReload replaces every file that the API server reads while it serves. The process
// is the same afterwards, and whom it trusts and what it shows is what the files say.
func TestReload(t *testing.T) {
	f := fleet.Open(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, content ...[]byte) {
		t.Helper()
		// As the kubelet does: nobody reads half of it.
		if err := os.WriteFile(path("next"), []byte(strings.Join(texts(content), "")), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path("next"), path(name)); err != nil {
			t.Fatal(err)
		}
	}
	serving, before, after := newIssuer(t, "serving"), newIssuer(t, "before"), newIssuer(t, "after")
	pem := func(i *issuer) []byte {
		text, err := cert.EncodeCertificates(i.cert)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	certificate, key := serving.issue(t, "first")
	write("tls.crt", certificate)
	write("tls.key", key)
	write("client-ca.crt", pem(before))
	write("external-ca.crt", pem(before))

	p := f.Replica(t, "--tls-cert-file="+path("tls.crt"), "--tls-private-key-file="+path("tls.key"),
		"--client-ca-file="+path("client-ca.crt"), "--external-ca-file="+path("external-ca.crt"))
	trusted := x509.NewCertPool()
	trusted.AddCert(serving.cert)
	_, port, _ := strings.Cut(p.Address, ":")
	client := func(certificates ...tls.Certificate) *http.Client {
		config := &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
		if len(certificates) > 0 {
			// It is sent whatever the server says it accepts.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificates[0], nil }
		}
		transport := &http.Transport{TLSClientConfig: config}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: patience}
	}
	api := func(token string, c *http.Client) *gql.Client {
		a := gql.New("https://localhost:"+port, token)
		a.HTTP = c
		return a
	}
	// who asks, over a new connection, who one is, and with which certificate one is answered.
	who := func(ctx context.Context, token string, certificates ...tls.Certificate) (name, served string, err error) {
		c := client(certificates...)
		body, response, err := viewer(ctx, api(token, c))
		if err != nil {
			return "", "", err
		}
		return body, response.TLS.PeerCertificates[0].Subject.CommonName, nil
	}
	person := func(i *issuer, name string) tls.Certificate {
		pair, err := tls.X509KeyPair(i.issue(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	anna, bert := person(before, "anna"), person(after, "bert")
	admin := f.Token(t, "admin")
	poll.Until(t, patience, "it serves", func(ctx context.Context) error {
		name, served, err := who(ctx, "", anna)
		if err == nil && (name != "anna" || served != "first") {
			err = fmt.Errorf("%s is answered by %s", name, served)
		}
		return err
	})
	if name, _, err := who(t.Context(), "", bert); err == nil {
		t.Fatalf("%s connected with a certificate that nobody accepts", name)
	}
	handed := func(ctx context.Context) (string, error) {
		type data struct {
			Instance struct {
				Kubeconfig struct{ CertificateAuthority string }
			}
		}
		got, result, err := gql.Query[data](ctx, api(admin, client()), `{ instance(name: "alpha") { kubeconfig { certificateAuthority } } }`, nil)
		if err == nil && len(result.Errors) > 0 {
			err = fmt.Errorf("%s", result.Body)
		}
		return got.Instance.Kubeconfig.CertificateAuthority, err
	}
	if got, err := handed(t.Context()); err != nil || got != string(pem(before)) {
		t.Fatalf("kubeconfigs hold %q, %v", got, err)
	}
	lasting := api("", client(anna)) // Its connection stays open all the time.
	if _, _, err := viewer(t.Context(), lasting); err != nil {
		t.Fatal(err)
	}

	certificate, key = serving.issue(t, "second")
	write("tls.key", key)
	write("tls.crt", certificate)
	write("client-ca.crt", pem(after))
	write("external-ca.crt", pem(after))
	poll.Until(t, patience, "the new files are in effect", func(ctx context.Context) error {
		name, served, err := who(ctx, "", bert)
		if err == nil && (name != "bert" || served != "second") {
			err = fmt.Errorf("%s is answered by %s", name, served)
		}
		ca, caErr := handed(ctx)
		if caErr == nil && ca != string(pem(after)) {
			caErr = errors.New("kubeconfigs hold the old authority")
		}
		return errors.Join(err, caErr)
	})
	if name, _, err := who(t.Context(), "", anna); err == nil {
		t.Errorf("%s connected with a certificate of the authority that was taken away", name)
	}
	if name, _, err := viewer(t.Context(), lasting); err == nil {
		t.Errorf("%s goes on over a connection from before the authority was taken away", name)
	}
	if name, _, err := who(t.Context(), admin); err != nil || name == "" {
		t.Errorf("a token is as good as before: %q, %v", name, err)
	}
}

func texts(parts [][]byte) []string {
	all := make([]string, len(parts))
	for i, part := range parts {
		all[i] = string(part)
	}
	return all
}

// viewer asks who one is.
func viewer(ctx context.Context, c *gql.Client) (string, *http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(`{"query":"{ viewer { username } }"}`))
	if err != nil {
		return "", nil, err
	}
	r.Header.Set("Content-Type", gql.JSON)
	r.Header.Set("Accept", gql.Response)
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var body struct {
		Data   struct{ Viewer struct{ Username string } }
		Errors []gql.Error
	}
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		return "", nil, err
	}
	if len(body.Errors) > 0 || response.StatusCode != http.StatusOK {
		return "", nil, fmt.Errorf("HTTP %d: %v", response.StatusCode, body.Errors)
	}
	return body.Data.Viewer.Username, response, nil
}
