// Package page serves pages that npm has built, from memory: what a page is made of never changes while the
// program runs.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

// index is the page itself.
const index = "index.html"

// noncePlaceholder is where a page has the nonce of its style sheets.
const noncePlaceholder = "__NONCE__"

// Page is a page with its files. It needs no identity: it holds nothing but code.
type Page struct {
	// Path is where it is served, such as /graphiql; empty for the root.
	Path string
	// Built is what npm left, each file gzipped where its name ends in .gz.
	Built fs.FS
	// Missing has the file placeholder.html, which is served where nothing is built.
	Missing fs.FS
	// Policy returns the content security policy. Its argument is new for each answer where the page has a
	// nonce, and otherwise empty.
	Policy func(nonce string) string
	// Routes are the first parts of the paths at which the page is served too, and decides what to show.
	Routes []string
}

// file is one file in memory.
type file struct {
	contentType string
	etag        string
	gzipped     bool
	nonce       bool
	body        []byte
}

type handler struct {
	Page

	files map[string]file
}

// New reads the page and returns what serves it.
func New(p Page) http.Handler {
	files, err := load(p.Built)
	if err != nil {
		panic(err) // An embedded file system does not fail.
	}
	if _, ok := files[index]; !ok {
		if files, err = load(p.Missing); err != nil {
			panic(err)
		}
		files[index] = files["placeholder.html"]
	}
	return &handler{p, files}
}

func load(from fs.FS) (map[string]file, error) {
	files := map[string]file{}
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
			nonce:       bytes.Contains(body, []byte(noncePlaceholder)),
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

// find returns the file of a path.
func (h *handler) find(at string) (name string, f file, ok bool) {
	name = strings.Trim(strings.TrimPrefix(at, h.Path), "/")
	if name == "" {
		name = index
	}
	f, ok = h.files[name]
	if part, _, _ := strings.Cut(name, "/"); !ok && slices.Contains(h.Routes, part) {
		name = index
		f, ok = h.files[name]
	}
	return name, f, ok
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a page is read by GET", http.StatusMethodNotAllowed)
		return
	}
	name, f, ok := h.find(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	var nonce string
	if f.nonce {
		nonce = rand.Text()
	}
	header := w.Header()
	header.Set("Content-Security-Policy", h.Policy(nonce))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Type", f.contentType)
	if f.nonce {
		// A nonce is good once.
		header.Set("Cache-Control", "no-store")
		w.Write(bytes.ReplaceAll(f.body, []byte(noncePlaceholder), []byte(nonce))) //nolint:errcheck // The browser went away.
		return
	}
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
