// Package graphiql serves the page for exploring the API. The page is built
// from ui/graphiql by npm; a binary that was built without it says how to get it.
package graphiql

import (
	"embed"
	"io/fs"
	"net/http"

	"github.com/kairship-io/kairship/graph/server/page"
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

// Handler serves the page and its files below Path.
func Handler() http.Handler {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // The folder is embedded by name above.
	}
	return newHandler(built)
}

func newHandler(built fs.FS) http.Handler {
	return page.New(page.Page{Path: Path, Built: built, Missing: placeholder, Policy: func(string) string { return contentSecurityPolicy }})
}
