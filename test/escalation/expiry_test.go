package escalation

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// issue makes a client certificate of the global cluster that ends soon.
func issue(t *testing.T, on *fleet.Fleet, name string, end time.Time) tls.Certificate {
	t.Helper()
	authority, err := cert.CertsFromFile(on.PKI("global", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := keyutil.PrivateKeyFromFile(on.PKI("global", "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: end, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority[0], own.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own}
}

// TestCertificateThatExpires keeps a connection open for longer than the certificate
// that opened it: requests over it are refused then, and what lasts ends.
func TestCertificateThatExpires(t *testing.T) {
	on := fleet.Open(t)
	server, trusted := on.SecureKairship(t, on.NewGateway(t))
	end := time.Now().Add(10 * time.Second).Truncate(time.Second)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{issue(t, on, "alice", end)}}}
	defer transport.CloseIdleConnections()
	dialled := 0
	ask := func() (int, string) {
		t.Helper()
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
			if !got.Reused {
				dialled++
			}
		}})
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+server.Address+"/graphql", strings.NewReader(`{"query":"{ viewer { username } }"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(raw)
	}
	streams := &http.Transport{TLSClientConfig: transport.TLSClientConfig}
	defer streams.CloseIdleConnections()
	ended := map[string]chan time.Time{}
	for name, path := range map[string]string{
		"a native watch":     "/instances/alpha/proxy/api/v1/namespaces/shop/configmaps?watch=1",
		"server-sent events": "/graphql?query=subscription%7BinstanceChanged%7Btype%7D%7D",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+server.Address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(path, "/graphql") {
			r.Header.Set("Accept", "text/event-stream")
			r.Header.Set("Apollo-Require-Preflight", "1")
		}
		resp, err := streams.RoundTrip(r) //nolint:bodyclose // The goroutine below closes it.
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %+v, %v", name, resp, err)
		}
		over := make(chan time.Time, 1)
		ended[name] = over
		go func() {
			defer func() { _ = resp.Body.Close() }()
			_, _ = io.Copy(io.Discard, resp.Body)
			over <- time.Now()
		}()
	}
	if status, body := ask(); status != http.StatusOK || !strings.Contains(body, `"alice"`) {
		t.Fatalf("before the end: HTTP %d %s", status, body)
	}
	for name, over := range ended {
		select {
		case at := <-over:
			if at.Before(end.Add(-time.Second)) {
				t.Errorf("%s ended before the certificate", name)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s goes on after the certificate", name)
		}
	}
	poll.Until(t, time.Minute, "the certificate is over", func(context.Context) error {
		if left := time.Until(end); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	if status, body := ask(); status != http.StatusUnauthorized || !strings.Contains(body, "expired") {
		t.Errorf("after the end: HTTP %d %s", status, body)
	}
	if dialled != 1 {
		t.Errorf("%d connections were opened, want 1: the same has to be used after the end", dialled)
	}
}
