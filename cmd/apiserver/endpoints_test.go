package main

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/kairship-io/kairship/internal/poll"
)

// TestCertificateIsReadAgain replaces the serving certificate as its issuer does.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	o := &options{tlsCertFile: filepath.Join(dir, "tls.crt"), tlsKeyFile: filepath.Join(dir, "tls.key")}
	write := func() []byte {
		certificate, key, err := cert.GenerateSelfSignedCertKey("kairship.example.com", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{o.tlsCertFile: certificate, o.tlsKeyFile: key} {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Certificate[0]
	}
	first := write()
	config, err := o.tlsConfig(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	served := func() []byte {
		c, err := config.GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Certificate[0]
	}
	if !bytes.Equal(served(), first) {
		t.Fatal("another certificate is served than that of the file")
	}
	second := write()
	poll.True(t, time.Minute, "the new certificate is served", func() bool { return bytes.Equal(served(), second) })
}

// TestConnectionsAreLeftInTime says when a client has to open a new connection for its
// next request, without one request being refused.
func TestConnectionsAreLeftInTime(t *testing.T) {
	for _, tt := range []struct {
		reason   string
		http2    bool
		upgrade  string
		stopping bool
		stays    bool
	}{
		{"nothing stops", false, "", false, true},
		{"nothing stops, with HTTP/2", true, "", false, true},
		{"a process that stops", false, "", true, false},
		{"a process that stops, with HTTP/2", true, "", true, false},
		{"what is to become a WebSocket is told there", false, "websocket", true, true},
	} {
		var stopping atomic.Bool
		s := httptest.NewUnstartedServer(leaveInTime(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoAtLeast(2, 0) != tt.http2 {
				t.Errorf("%s: the request came with %s", tt.reason, r.Proto)
			}
			w.WriteHeader(http.StatusNoContent)
		}), stopping.Load))
		s.EnableHTTP2 = tt.http2
		s.StartTLS()
		reused := func() (reused bool) {
			trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
			r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, s.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if tt.upgrade != "" {
				r.Header.Set("Upgrade", tt.upgrade)
			}
			response, err := s.Client().Do(r)
			if err != nil {
				t.Fatalf("%s: %v", tt.reason, err)
			}
			_ = response.Body.Close()
			return reused
		}
		reused()
		stopping.Store(tt.stopping)
		if !reused() {
			t.Errorf("%s: the connection was closed before a client was told", tt.reason)
		}
		if got := reused(); got != tt.stays {
			t.Errorf("%s: the next request was sent over the same connection: %t, want %t", tt.reason, got, tt.stays)
		}
		s.Close()
	}
}

// TestPlainEndpointsSpeakHTTP2 speaks HTTP/2 with prior knowledge, as gRPC does without TLS, and HTTP/1.1 beside it.
func TestPlainEndpointsSpeakHTTP2(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	s.Config = newPeople(t, func(http.ResponseWriter, *http.Request) {})
	s.Start()
	defer s.Close()
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	for want, client := range map[int]*http.Client{1: s.Client(), 2: {Transport: transport}} {
		answer, err := client.Get(s.URL + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.ProtoMajor != want || answer.StatusCode != http.StatusOK {
			t.Errorf("got %s, %s", answer.Proto, answer.Status)
		}
	}
}

// TestNoAnswerIsSniffed asks every server at every kind of address, its errors included.
func TestNoAnswerIsSniffed(t *testing.T) {
	everything := newPeople(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	metrics := http.NewServeMux()
	metrics.Handle("GET /metrics", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, tt := range map[string]struct {
		server *http.Server
		lines  []string
	}{
		"api": {everything, []string{
			"GET /", "GET /nothing", "GET /healthz", "POST /healthz", "GET /readyz", "GET /graphiql", "GET /graphiql/nothing",
			"GET /graphql", "POST /graphql", "PUT /graphql", "POST /graphql/session", "PUT /graphql/session",
			"GET /instances/alpha/proxy/api", "GET /instances/omega/proxy/api", "GET /instances/alpha/proxy/a/../b", "GET /instances/alpha",
		}},
		"metrics": {newMetricsServer(metrics, slog.New(slog.DiscardHandler)), []string{"GET /metrics", "POST /metrics", "GET /nothing"}},
		"pprof":   {newPprofServer(), []string{"GET /debug/pprof/", "GET /debug/pprof/nothing", "GET /nothing"}},
	} {
		for _, line := range tt.lines {
			for _, token := range []string{"alice", ""} {
				method, path, _ := strings.Cut(line, " ")
				r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
				r.Header.Set("Authorization", "Bearer "+token)
				w := httptest.NewRecorder()
				tt.server.Handler.ServeHTTP(w, r)
				if got := w.Header().Values("X-Content-Type-Options"); len(got) != 1 || got[0] != "nosniff" {
					t.Errorf("%s: %s by %q: HTTP %d has X-Content-Type-Options %q, want nosniff", name, line, token, w.Code, got)
				}
			}
		}
	}
}
