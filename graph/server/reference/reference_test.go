package reference

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	v1 "github.com/kairship-io/kairship/api/v1"
)

// get asks for the page of a document.
func get(t *testing.T, document []byte, accept string) *httptest.ResponseRecorder {
	t.Helper()
	h, err := Handler(document, http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestPage has an anchor for each link, and nothing that is run or loaded.
func TestPage(t *testing.T) {
	w := get(t, v1.OpenAPI, "text/html,*/*;q=0.8")
	page := w.Body.String()
	if policy := w.Header().Get("Content-Security-Policy"); w.Code != http.StatusOK || !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("HTTP %d, %s", w.Code, policy)
	}
	for _, never := range []string{"<script", "src=", "<link", "url(", "http://", "@import"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
	ids := map[string]bool{}
	for _, found := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[found[1]] {
			t.Errorf("there are two %s", found[1])
		}
		ids[found[1]] = true
	}
	links := regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1)
	for _, found := range links {
		if !ids[found[1]] {
			t.Errorf("a link goes to #%s, which is not there", found[1])
		}
	}
	for _, want := range []string{"ScaleWorkload", "/api/v1/workloads", "noun-workloads", "schema-WorkloadKind"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if len(links) < 500 || len(page) > 4<<20 {
		t.Errorf("it has %d links and %d bytes", len(links), len(page))
	}
	if w := get(t, v1.OpenAPI, "application/json"); w.Code != http.StatusNotFound || w.Header().Get("Vary") != "Accept" {
		t.Errorf("a program gets HTTP %d", w.Code)
	}
}

func TestPageEscapes(t *testing.T) {
	page := get(t, []byte(`{"paths": {"/a<b>": {"get": {"operationId": "A\"><script>", "tags": ["<i>"], "summary": "<script>alert(1)</script>",
		"parameters": [{"name": "<b>", "in": "query", "description": "</td><img src=x>", "schema": {"type": "string"}}]}}}}`), "text/html").Body.String()
	for _, never := range []string{"<script", "<img", "<b>", "<i>"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
}
