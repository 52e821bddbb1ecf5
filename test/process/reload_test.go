package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/authz/certtest"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestReload replaces every file that the API server reads while it serves. The process
// is the same afterwards, and whom it trusts and what it shows is what the files say.
func TestReload(t *testing.T) {
	f := fleet.Open(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, content ...[]byte) {
		t.Helper()
		// As the kubelet does: no reader sees half of it.
		if err := os.WriteFile(path("next"), []byte(strings.Join(texts(content), "")), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path("next"), path(name)); err != nil {
			t.Fatal(err)
		}
	}
	serving, before, after := certtest.New(t, "serving"), certtest.New(t, "before"), certtest.New(t, "after")
	certificate, key := serving.Issue(t, "first")
	write("tls.crt", certificate)
	write("tls.key", key)
	write("client-ca.crt", before.PEM)
	write("external-ca.crt", before.PEM)

	p := f.Replica(t, "--tls-cert-file="+path("tls.crt"), "--tls-private-key-file="+path("tls.key"),
		"--client-ca-file="+path("client-ca.crt"), "--external-ca-file="+path("external-ca.crt"))
	trusted := x509.NewCertPool()
	trusted.AddCert(serving.Certificate)
	_, port, _ := strings.Cut(p.Address, ":")
	client := func(certificates ...*tls.Certificate) *http.Client {
		config := &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
		if len(certificates) > 0 {
			// It is sent whatever the server says it accepts.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificates[0], nil }
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
	who := func(ctx context.Context, token string, certificates ...*tls.Certificate) (name, served string, err error) {
		c := client(certificates...)
		return viewer(ctx, api(token, c))
	}
	anna, bert := before.Pair(t, "anna"), after.Pair(t, "bert")
	admin := f.Token(t, "admin")
	poll.Until(t, patience, "it serves", func(ctx context.Context) error {
		name, served, err := who(ctx, "", anna)
		if err == nil && (name != "anna" || served != "first") {
			err = fmt.Errorf("%s is answered by %s", name, served)
		}
		return err
	})
	if name, _, err := who(t.Context(), "", bert); err == nil {
		t.Fatalf("%s connected with a certificate that is not accepted", name)
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
	if got, err := handed(t.Context()); err != nil || got != string(before.PEM) {
		t.Fatalf("kubeconfigs hold %q, %v", got, err)
	}
	lasting := api("", client(anna)) // Its connection stays open all the time.
	if _, _, err := viewer(t.Context(), lasting); err != nil {
		t.Fatal(err)
	}

	certificate, key = serving.Issue(t, "second")
	write("tls.key", key)
	write("tls.crt", certificate)
	write("client-ca.crt", after.PEM)
	write("external-ca.crt", after.PEM)
	poll.Until(t, patience, "the new files are in effect", func(ctx context.Context) error {
		name, served, err := who(ctx, "", bert)
		if err == nil && (name != "bert" || served != "second") {
			err = fmt.Errorf("%s is answered by %s", name, served)
		}
		ca, caErr := handed(ctx)
		if caErr == nil && ca != string(after.PEM) {
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

// viewer asks who one is, and says for whom the certificate is that one is answered with.
func viewer(ctx context.Context, c *gql.Client) (name, served string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(`{"query":"{ viewer { username } }"}`))
	if err != nil {
		return "", "", err
	}
	r.Header.Set("Content-Type", gql.JSON)
	r.Header.Set("Accept", gql.Response)
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = response.Body.Close() }()
	var body struct {
		Data struct {
			Viewer struct {
				Username string `json:"username"`
			} `json:"viewer"`
		} `json:"data"`
		Errors []gql.Error `json:"errors"`
	}
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		return "", "", err
	}
	if len(body.Errors) > 0 || response.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("HTTP %d: %v", response.StatusCode, body.Errors)
	}
	return body.Data.Viewer.Username, response.TLS.PeerCertificates[0].Subject.CommonName, nil
}
