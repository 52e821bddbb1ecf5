package server_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// decoded reads a body that is encoded as a header says.
func decoded(t *testing.T, encoding, body string) string {
	t.Helper()
	var from io.Reader = strings.NewReader(body)
	switch encoding {
	case "":
	case "gzip":
		zip, err := gzip.NewReader(from)
		if err != nil {
			t.Fatal(err)
		}
		from = zip
	case "zstd":
		zip, err := zstd.NewReader(from)
		if err != nil {
			t.Fatal(err)
		}
		defer zip.Close()
		from = zip
	default:
		t.Fatalf("encoded with %q", encoding)
	}
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCompression(t *testing.T) {
	const long, short = `{"query":"{ items(first: 100) { name } }"}`, `{"query":"{ hello }"}`
	s := start(t, nil, nil)
	whole := s.do(t, call{body: long, header: http.Header{"Accept-Encoding": {"identity"}}}).body
	for _, tt := range []struct {
		accepts, body, want, why string
	}{
		{"", long, "", "the client accepts no encoding"},
		{"identity", long, "", "the client accepts none"},
		{"br", long, "", "the client accepts one that there is not"},
		{"gzip", long, "gzip", "the client accepts gzip"},
		{"gzip, deflate, br, zstd", long, "zstd", "of two that the client likes as much, zstd takes less time and fewer bytes"},
		{"zstd;q=0.5, gzip;q=0.8", long, "gzip", "the client prefers it"},
		{"gzip;q=0", long, "", "the client refuses it"},
		{"zstd;q=0, gzip", long, "gzip", "the client refuses the other"},
		{"gzip, zstd", short, "", "the answer fits into one packet"},
		{"gzip, zstd", `{"query":"{ none }"}`, "", "errors are short"},
	} {
		r := s.do(t, call{body: tt.body, header: http.Header{"Accept-Encoding": {tt.accepts}}})
		encoding := r.header.Get("Content-Encoding")
		if encoding != tt.want {
			t.Errorf("Accept-Encoding: %s: encoded with %q, want %q: %s", tt.accepts, encoding, tt.want, tt.why)
		}
		if length := r.header.Get("Content-Length"); length != strconv.Itoa(len(r.body)) {
			t.Errorf("Accept-Encoding: %s: Content-Length %s, and the body has %d bytes", tt.accepts, length, len(r.body))
		}
		if tt.body != long {
			continue
		}
		if vary := strings.Join(r.header.Values("Vary"), ", "); !strings.Contains(vary, "Accept-Encoding") || !strings.Contains(vary, "Authorization") {
			t.Errorf("Accept-Encoding: %s: Vary %q", tt.accepts, vary)
		}
		if text := decoded(t, encoding, r.body); text != whole {
			t.Errorf("Accept-Encoding: %s: the body is %q, want %q", tt.accepts, text, whole)
		}
		if encoding != "" && len(r.body) > len(whole)/4 {
			t.Errorf("Accept-Encoding: %s: %d of %d bytes are left", tt.accepts, len(r.body), len(whole))
		}
		if ct := r.header.Get("Content-Type"); ct != plainJSON+"; charset=utf-8" {
			t.Errorf("Accept-Encoding: %s: Content-Type %s", tt.accepts, ct)
		}
	}
}

// A proxy that gathers bytes until they are worth a block would hold events back.
func TestEventsAreNotCompressed(t *testing.T) {
	s := start(t, nil, nil)
	for _, document := range []string{`{"query":"{ items(first: 100) { name } }"}`, `{"query":"subscription { none }"}`} {
		r := s.do(t, call{body: document, accept: "text/event-stream", header: http.Header{"Accept-Encoding": {"gzip, zstd"}}})
		if encoding := r.header.Get("Content-Encoding"); encoding != "" || !strings.Contains(r.body, "\nevent: next\n") {
			t.Errorf("%s: encoded with %q: %.40q", document, encoding, r.body)
		}
	}
}
