package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck has it look at servers that answer as Kairship does, but for one thing.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		reason string
		answer func(http.ResponseWriter, *http.Request) bool
		says   string // of the error; empty when all is well
	}{
		{reason: "all is well"},
		{"it is not ready", func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/readyz" {
				return false
			}
			http.Error(w, "[-]index failed", http.StatusServiceUnavailable)
			return true
		}, "[-]index failed"},
		{"it is degraded", func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/readyz" {
				return false
			}
			_, err := w.Write([]byte(`{"status":"degraded","checks":[{"name":"index","status":"failing"}]}`))
			return err == nil
		}, `"name":"index","status":"failing"`},
		{"it serves without a token", func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/graphql" {
				return false
			}
			_, err := w.Write([]byte(`{"data":{}}`))
			return err == nil
		}, "refuses who brings no token"},
		{"the console is another page", func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/" {
				return false
			}
			_, err := w.Write([]byte("welcome to the proxy"))
			return err == nil
		}, "welcome to the proxy"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case tt.answer != nil && tt.answer(w, r):
				case r.URL.Path == "/graphql" && r.Header.Get("Authorization") == "":
					http.Error(w, "UNAUTHENTICATED", http.StatusUnauthorized)
				case r.URL.Path == "/readyz":
					_, _ = w.Write([]byte(`{"status":"ok","checks":[]}`))
				default:
					_, _ = w.Write([]byte("<html>"))
				}
			}))
			ca := authority(t, server)
			var out strings.Builder
			err := check(t.Context(), []string{"--url", server.URL, "--ca-file", ca, "--timeout", "3s"}, &out)
			server.Close()
			if tt.says == "" && (err != nil || strings.Count(out.String(), "ok  ") != len(checks)) {
				t.Errorf("%s: got error %v, and printed\n%s", tt.reason, err, &out)
			}
			if tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%s: got error %v, want one that has %q", tt.reason, err, tt.says)
			}
		})
	}
}

func authority(t *testing.T, server *httptest.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCheckRefuses says what is wrong with its arguments, and with a server that it does not know.
func TestCheckRefuses(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	ca := authority(t, server)
	for says, args := range map[string][]string{
		"--url":             nil,
		"unknown flag":      {"--address", server.URL},
		"no other argument": {"--url", server.URL, "now"},
		"has no cert":       {"--url", server.URL, "--ca-file", "check_test.go"},
		"not another.name":  {"--url", server.URL, "--ca-file", ca, "--server-name", "another.name"},
		"unknown authority": {"--url", server.URL},
	} {
		var out strings.Builder
		if err := check(t.Context(), args, &out); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: got error %v, want one that has %q", args, err, says)
		}
	}
}
