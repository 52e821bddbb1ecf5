package graphiql

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func gz(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func get(t *testing.T, h http.Handler, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestBuiltPage(t *testing.T) {
	const page, script = "<html>the page", "console.log('the editor')"
	compressed := gz(t, script)
	h := newHandler(fstest.MapFS{
		".gitignore":          {Data: []byte("*")},
		"index.html.gz":       {Data: gz(t, page)},
		"assets/main-a.js.gz": {Data: compressed},
		"assets/icons-b.ttf":  {Data: []byte("font")},
	})
	for _, tt := range []struct {
		name, path, accept string
		body               string
		header             map[string]string
		why                string
	}{
		{
			name: "page", path: "/graphiql", body: page,
			header: map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"},
			why:    "a new build must show at once",
		},
		{
			name: "script for a browser", path: "/graphiql/assets/main-a.js", accept: "gzip, deflate, br", body: string(compressed),
			header: map[string]string{"Content-Type": "text/javascript; charset=utf-8", "Content-Encoding": "gzip", "Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"},
			why:    "the bytes of the binary as they are; the name changes with the content",
		},
		{
			name: "script for a tool", path: "/graphiql/assets/main-a.js", body: script,
			header: map[string]string{"Content-Encoding": ""}, why: "who does not read gzip gets it unpacked",
		},
		{
			name: "script for who forbids gzip", path: "/graphiql/assets/main-a.js", accept: "gzip;q=0", body: script,
			header: map[string]string{"Content-Encoding": ""}, why: "asked for",
		},
		{
			name: "font", path: "/graphiql/assets/icons-b.ttf", accept: "gzip", body: "font",
			header: map[string]string{"Content-Type": "font/ttf", "Content-Encoding": ""}, why: "fonts are not gzipped by the build",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := get(t, h, tt.path, http.Header{"Accept-Encoding": {tt.accept}})
			if w.Code != http.StatusOK || w.Body.String() != tt.body {
				t.Errorf("got %d %q, want %q: %s", w.Code, w.Body, tt.body, tt.why)
			}
			for name, want := range tt.header {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s is %q, want %q: %s", name, got, want, tt.why)
				}
			}
		})
	}
	for _, path := range []string{"/graphiql/.gitignore", "/graphiql/assets/", "/graphiql/assets/main-a.js.gz", "/graphiql/../graphiql.go"} {
		if w := get(t, h, path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, w.Code)
		}
	}
	etag := get(t, h, "/graphiql", nil).Header().Get("ETag")
	if w := get(t, h, "/graphiql", http.Header{"If-None-Match": {etag}}); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("a page that the browser has: got %d with %d bytes, want 304", w.Code, w.Body.Len())
	}
}

func TestContentSecurityPolicy(t *testing.T) {
	policy := get(t, newHandler(fstest.MapFS{}), "/graphiql", nil).Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self';", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("%q is missing in %q", want, policy)
		}
	}
}

func TestPageThatWasNotBuilt(t *testing.T) {
	// The folder holds its .gitignore alone, as in a fresh clone.
	h := newHandler(fstest.MapFS{".gitignore": {Data: []byte("*")}})
	w := get(t, h, "/graphiql", nil)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "make ui") {
		t.Errorf("got %d %q, want how to get the page", w.Code, w.Body)
	}
	if w := get(t, h, "/graphiql/placeholder.css", nil); w.Code != http.StatusOK {
		t.Errorf("its style sheet: %d", w.Code)
	}
}

func TestFolderIsAlwaysThere(t *testing.T) {
	if _, err := fs.Stat(dist, "dist/.gitignore"); err != nil {
		t.Errorf("without this file a clone has no folder to embed: %v", err)
	}
}
