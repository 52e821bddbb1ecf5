package console

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func get(t *testing.T, h http.Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
	return w
}

var nonce = regexp.MustCompile(`'nonce-([A-Z2-7]{26})'`)

func TestPage(t *testing.T) {
	h := newHandler(fstest.MapFS{
		"index.html":       {Data: []byte(`<html><meta name="csp-nonce" content="__NONCE__">`)},
		"assets/main-a.js": {Data: []byte("script")},
	})
	seen := map[string]bool{}
	for _, path := range []string{"/", "/workloads", "/activity", "/instances/alpha/workloads/DEPLOYMENT/shop/frontend"} {
		w := get(t, h, http.MethodGet, path)
		policy := w.Header().Get("Content-Security-Policy")
		of := nonce.FindStringSubmatch(policy)
		if w.Code != http.StatusOK || of == nil || !strings.Contains(w.Body.String(), `content="`+of[1]+`"`) {
			t.Fatalf("%s: HTTP %d, %s: %s", path, w.Code, policy, w.Body)
		}
		if seen[of[1]] {
			t.Errorf("%s: the nonce is good twice", path)
		}
		seen[of[1]] = true
		if strings.Contains(policy, "unsafe") || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, w.Header())
		}
	}
	if w := get(t, h, http.MethodGet, "/assets/main-a.js"); w.Body.String() != "script" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("a script: HTTP %d, %v", w.Code, w.Header())
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/no/such/page"} {
		if w := get(t, h, http.MethodGet, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: HTTP %d", path, w.Code)
		}
	}
	// A page from before an update asks for scripts that are no longer there.
	if w := get(t, h, http.MethodGet, "/assets/main-b.js"); w.Code != http.StatusNotFound {
		t.Errorf("a script of an older page: HTTP %d", w.Code)
	}
	if w := get(t, h, http.MethodPost, "/workloads"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: HTTP %d", w.Code)
	}
}

func TestPageThatWasNotBuilt(t *testing.T) {
	h := newHandler(fstest.MapFS{".gitignore": {Data: []byte("*")}})
	if w := get(t, h, http.MethodGet, "/workloads"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "make ui") {
		t.Errorf("HTTP %d: %s", w.Code, w.Body)
	}
	if w := get(t, h, http.MethodGet, "/placeholder.css"); w.Code != http.StatusOK {
		t.Errorf("its style sheet: HTTP %d", w.Code)
	}
}
