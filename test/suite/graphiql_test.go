package suite

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// linked finds what a page loads.
var linked = regexp.MustCompile(`(?:src|href)="([^"]+)"`)

// TestGraphiQLComesFromTheBinaryAlone reads the page as a user without a token,
// and everything that it loads: all of it is served here, and nothing of it says
// anything about the fleet. (That it works is tested in a browser, by
// ui/graphiql.)
func TestGraphiQLComesFromTheBinaryAlone(t *testing.T) {
	on := open(t)
	page, header := fetch(t, on.url+"/graphiql")
	if media := header.Get("Content-Type"); !strings.HasPrefix(media, "text/html") {
		t.Errorf("the page is %q", media)
	}
	policy := header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "http") {
		t.Errorf("the page may load from elsewhere: %q", policy)
	}
	links := linked.FindAllStringSubmatch(page, -1)
	if len(links) == 0 {
		t.Errorf("the page loads nothing:\n%s", page)
	}
	for _, link := range links {
		address := link[1]
		if strings.HasPrefix(address, "data:") {
			continue
		}
		if strings.Contains(address, "//") || !strings.HasPrefix(address, "/graphiql/") {
			t.Errorf("the page loads %s, which is not its own", address)
			continue
		}
		if body, _ := fetch(t, on.url+address); body == "" {
			t.Errorf("%s is empty", address)
		}
	}
	for _, i := range []string{"alpha", "beta"} {
		if strings.Contains(page, i) {
			t.Errorf("the page has the name %s in it", i)
		}
	}
	if status, err := statusOf(t.Context(), on.url+"/graphiql/../../etc/passwd"); err != nil || status == http.StatusOK {
		t.Errorf("a path out of the page: HTTP %d, %v", status, err)
	}
}

// fetch reads a file that everybody may read.
func fetch(t *testing.T, address string) (body string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: HTTP %d, %v", address, resp.StatusCode, err)
	}
	return string(raw), resp.Header
}
