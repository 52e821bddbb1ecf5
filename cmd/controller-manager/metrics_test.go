package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
)

// TestMetricsAreForReaders: beyond the loopback interface metrics are encrypted, and
// no user is served unless the global cluster permits them to read them.
func TestMetricsAreForReaders(t *testing.T) {
	for address, open := range map[string]bool{
		"127.0.0.1:8080": true, "[::1]:8080": true, "localhost:8080": true, "0": true,
		":8080": false, "0.0.0.0:8080": false, "192.0.2.1:8080": false,
	} {
		o, err := parse([]string{"--metrics-bind-address=" + address}, nil, &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		served := o.metrics()
		if served.SecureServing == open || (served.FilterProvider == nil) != open {
			t.Errorf("%s: TLS %t, asks who it is: %t", address, served.SecureServing, served.FilterProvider != nil)
		}
		if open {
			continue
		}
		global := httptest.NewServer(http.NotFoundHandler()) // It knows no user.
		filter, err := served.FilterProvider(&rest.Config{Host: global.URL}, http.DefaultClient)
		if err != nil {
			t.Fatal(err)
		}
		handler, err := filter(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%s: metrics are served to a stranger", address) }))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s: HTTP %d", address, w.Code)
		}
		global.Close()
	}
}

// TestProfilesStayOnLoopback keeps what is in memory off the network.
func TestProfilesStayOnLoopback(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:6060": true, ":6060": false, "192.0.2.1:6060": false, "6060": false} {
		_, err := parse([]string{"--pprof-address=" + address}, nil, &bytes.Buffer{})
		if got := err == nil; got != want || err != nil && !strings.Contains(err.Error(), "--pprof-address") {
			t.Errorf("%s: accepted is %t (%v)", address, got, err)
		}
	}
}

func TestMetricsCertificate(t *testing.T) {
	o, err := parse([]string{"--metrics-bind-address=:8443", "--metrics-cert-file=testdata/../options.go", "--metrics-key-file=testdata/../metrics.go"}, nil, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if m := o.metrics(); m.CertName != "options.go" || m.KeyName != "metrics.go" || m.CertDir == "" {
		t.Errorf("certificate %q, key %q in %q", m.CertName, m.KeyName, m.CertDir)
	}
	for _, args := range [][]string{{"--metrics-cert-file=options.go"}, {"--metrics-cert-file=options.go", "--metrics-key-file=testdata/help.txt"}} {
		if _, err := parse(args, nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "--metrics-cert-file") {
			t.Errorf("%v: %v", args, err)
		}
	}
}
