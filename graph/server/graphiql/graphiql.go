// Package graphiql serves the page for exploring the API. The page is built
// from ui/graphiql by npm; a binary that was built without it says how to get it.
package graphiql

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// Path is where the page is served.
const Path = "/graphiql"

// dist is what the build of ui/graphiql left: every file gzipped, because the
// editor is megabytes and lives in the binary.
//
//go:embed all:dist
var dist embed.FS

//go:embed placeholder.html placeholder.css
var placeholder embed.FS

// contentSecurityPolicy lets the page load from its own origin and nowhere else.
// The editor makes its style sheets in the browser, so styles may be inline;
// scripts may not, and no other site may show the page in a frame.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; worker-src 'self'; " +
	"style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves the page and its files below Path. It needs no identity: the
// page holds nothing but code.
func Handler() http.Handler {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // The folder is embedded by name above.
	}
	return newHandler(built)
}

// file is one file of the page in memory.
type file struct {
	contentType string
	etag        string
	gzipped     bool
	body        []byte
}

type handler map[string]file

// newHandler reads the whole page: it never changes while the program runs.
func newHandler(built fs.FS) http.Handler {
	files, err := load(built)
	if err != nil {
		panic(err) // An embedded file system does not fail.
	}
	if _, ok := files["index.html"]; ok {
		return files
	}
	files, err = load(placeholder)
	if err != nil {
		panic(err)
	}
	files["index.html"] = files["placeholder.html"]
	return files
}

func load(from fs.FS) (handler, error) {
	files := handler{}
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		plain, gzipped := strings.CutSuffix(name, ".gz")
		sum := sha256.Sum256(body)
		files[plain] = file{
			contentType: contentType(plain),
			etag:        strconv.Quote(base64.RawURLEncoding.EncodeToString(sum[:12])),
			gzipped:     gzipped,
			body:        body,
		}
		return nil
	})
	return files, err
}

// contentType does not ask the machine's own table, which may know nothing or the wrong thing.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".ttf":
		return "font/ttf"
	case ".woff2":
		return "font/woff2"
	}
	return "application/octet-stream"
}

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/")
	if name == "" {
		name = "index.html"
	}
	f, ok := h[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Type", f.contentType)
	header.Set("ETag", f.etag)
	header.Set("Cache-Control", cacheControl(name))
	header.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	f.write(w, r)
}

// cacheControl lets browsers keep what the build named after its content.
func cacheControl(name string) string {
	if strings.HasPrefix(name, "assets/") {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}

func (f file) write(w http.ResponseWriter, r *http.Request) {
	if !f.gzipped || acceptsGzip(r) {
		if f.gzipped {
			w.Header().Set("Content-Encoding", "gzip")
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(f.body)))
		w.Write(f.body) //nolint:errcheck // The browser went away.
		return
	}
	plain, err := gzip.NewReader(bytes.NewReader(f.body))
	if err != nil {
		http.Error(w, "the page is damaged in this build", http.StatusInternalServerError)
		return
	}
	io.Copy(w, plain) //nolint:errcheck,gosec // The browser went away.
}

// acceptsGzip reads the header as every browser and tool writes it; a client that
// forbids gzip by a quality of zero gets plain files.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if coding == "gzip" && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}
