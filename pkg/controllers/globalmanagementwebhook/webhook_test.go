package globalmanagementwebhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/authz/certtest"
)

// certificate writes a serving certificate for loopback, and gives what trusts it.
func certificate(t *testing.T, dir, name string) *x509.CertPool {
	t.Helper()
	authority := certtest.New(t, name)
	certificate, key := authority.Issue(t, name)
	for file, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority.Certificate)
	return pool
}

// run starts a server on a port of its own. stop ends it, and gives its error.
func run(t *testing.T, dir string, handler http.Handler) (address string, stop func() error) {
	t.Helper()
	watcher, err := certwatcher.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	_ = listener.Close()
	s := &server{
		options: Options{Address: address, ShutdownTimeout: 10 * time.Second}, certificate: watcher.WithWatchInterval(50 * time.Millisecond),
		handler: handler, log: logr.Discard(), listening: make(chan struct{}),
	}
	if s.NeedLeaderElection() {
		t.Error("only the leader would serve")
	}
	if s.ready(nil) == nil {
		t.Error("ready before it serves")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	select {
	case <-s.listening:
	case err := <-done:
		t.Fatal(err)
	}
	if err := s.ready(nil); err != nil {
		t.Error(err)
	}
	return address, func() error { cancel(); return <-done }
}

func trusting(pool *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}, Timeout: 20 * time.Second}
}

func TestCertificatesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	first := certificate(t, dir, "first")
	address, stop := run(t, dir, http.NotFoundHandler())
	get := func(pool *x509.CertPool) error {
		response, err := trusting(pool).Get("https://" + address)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	if err := get(first); err != nil {
		t.Fatal(err)
	}
	second := certificate(t, dir, "second")
	poll.Until(t, 20*time.Second, "the new certificate is served", func(context.Context) error { return get(second) })
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestRequestsInProgressAreFinished(t *testing.T) {
	dir := t.TempDir()
	pool := certificate(t, dir, "only")
	begun, finish := make(chan struct{}), make(chan struct{})
	address, stop := run(t, dir, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-finish
		_, _ = io.WriteString(w, "stored")
	}))
	answers := make(chan []byte, 1)
	go func() {
		defer close(answers)
		response, err := trusting(pool).Post("https://"+address, "application/json", http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Error(err)
		}
		answers <- body
	}()
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	poll.True(t, 10*time.Second, "it takes no more connections", func() bool {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err != nil
	})
	close(finish)
	if body := <-answers; !bytes.Equal(body, []byte("stored")) {
		t.Errorf("the request in progress is answered with %q", body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestATakenPortIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	s := &server{options: Options{Address: listener.Addr().String()}, log: logr.Discard(), listening: make(chan struct{})}
	if err := s.Start(t.Context()); err == nil {
		t.Error("it reports that it serves")
	}
}

func TestPlainHTTPIsNotServed(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir, "only")
	address, stop := run(t, dir, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request in the clear was served") }))
	response, err := http.Get("http://" + address)
	if err == nil {
		if _ = response.Body.Close(); response.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d", response.StatusCode)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
