package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/authz/certtest"
)

// errorCounter counts the errors that are logged.
type errorCounter struct {
	slog.Handler
	count atomic.Int64
}

// Enabled implements slog.Handler.
func (*errorCounter) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (c *errorCounter) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		c.count.Add(1)
	}
	return nil
}

// whoami serves the user of each request, with the TLS of the program.
func whoami(t *testing.T, o *options, logger *slog.Logger) *httptest.Server {
	t.Helper()
	accepted, err := o.clientAuthorities(t.Context(), logger)
	if err != nil {
		t.Fatal(err)
	}
	config, err := o.tlsConfig(t.Context(), accepted)
	if err != nil {
		t.Fatal(err)
	}
	authenticator := authz.NewAuthenticator(nil, nil)
	authenticator.Authorities = accepted.accept
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := authenticator.Authenticate(r.Context(), authz.RequestCredentials(r))
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, user.Name)
	}))
	s.TLS, s.EnableHTTP2 = config, true
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // Handshakes that fail are what is tested.
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// TestClientAuthoritiesAreReadAgain rotates the authorities of client certificates under
// connections, TLS sessions and new clients.
func TestClientAuthoritiesAreReadAgain(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			o := &options{tlsCertFile: filepath.Join(dir, "tls.crt"), tlsKeyFile: filepath.Join(dir, "tls.key"), clientCAFile: filepath.Join(dir, "ca.crt")}
			write := func(path, content string) {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			server := certtest.New(t, "server")
			serving, key := server.Issue(t, "server")
			before, after := certtest.New(t, "before"), certtest.New(t, "after")
			write(o.tlsCertFile, string(serving))
			write(o.tlsKeyFile, string(key))
			write(o.clientCAFile, string(before.PEM))
			refused := &errorCounter{Handler: slog.DiscardHandler}
			s := whoami(t, o, slog.New(refused))

			trusted := x509.NewCertPool()
			trusted.AddCert(server.Certificate)
			sessions := map[*tls.Certificate]tls.ClientSessionCache{} // What a client resumes is its own.
			connect := func(c *tls.Certificate) *http.Client {
				if sessions[c] == nil {
					sessions[c] = tls.NewLRUClientSessionCache(0)
				}
				transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
					RootCAs: trusted, MaxVersion: version, MinVersion: version, ClientSessionCache: sessions[c],
					// The certificate is sent whatever the server says it accepts.
					GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil },
				}}
				t.Cleanup(transport.CloseIdleConnections)
				return &http.Client{Transport: transport}
			}
			resumes := 0
			ask := func(c *http.Client) string {
				response, err := c.Get(s.URL)
				if err != nil {
					return "no connection"
				}
				defer response.Body.Close()
				if response.TLS.DidResume {
					resumes++
				}
				body, err := io.ReadAll(response.Body)
				if err != nil {
					return "no connection"
				}
				return strings.TrimSpace(string(body))
			}
			become := func(reason, want string, c func() *http.Client) {
				t.Helper()
				poll.Until(t, time.Minute, reason, func(context.Context) error {
					if got := ask(c()); !strings.Contains(got, want) {
						return fmt.Errorf("got %q, want %q", got, want)
					}
					return nil
				})
			}
			alice, bob := before.Pair(t, "alice"), after.Pair(t, "bob")
			lasting := connect(alice)
			if got := ask(lasting); got != "alice" {
				t.Fatalf("a certificate of the authority: %q", got)
			}
			if got := ask(connect(bob)); got != "no connection" {
				t.Fatalf("a certificate of another authority: %q", got)
			}

			write(o.clientCAFile, string(before.PEM)+string(after.PEM))
			become("an authority was added", "bob", func() *http.Client { return connect(bob) })
			if got := ask(connect(alice)); got != "alice" {
				t.Errorf("the old authority is there beside the new one: %q", got)
			}
			if resumes == 0 {
				t.Error("no TLS session was resumed")
			}
			resumed := connect(alice) // With the session of the one above.

			write(o.clientCAFile, string(after.PEM))
			become("an open connection of an authority that was removed", "no longer accepted", func() *http.Client { return lasting })
			if got := ask(resumed); got != "no connection" {
				t.Errorf("a TLS session of an authority that was removed: %q", got)
			}
			if got := ask(connect(bob)); got != "bob" {
				t.Errorf("the authority that is left: %q", got)
			}

			write(o.clientCAFile, "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")
			poll.True(t, time.Minute, "the file is read and refused", func() bool { return refused.count.Load() > 0 })
			if got := ask(connect(bob)); got != "bob" {
				t.Errorf("after a file that cannot be used: %q", got)
			}
		})
	}
}
