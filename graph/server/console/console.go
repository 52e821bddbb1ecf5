// Package console serves the console. The page is built from ui/console by npm; a binary that was built without it
// says how to get it.
package console

import (
	"embed"
	"io/fs"
	"net/http"

	"github.com/kairship-io/kairship/graph/server/page"
)

// dist is what the build of ui/console left.
//
//go:embed all:dist
var dist embed.FS

//go:embed placeholder.html placeholder.css
var placeholder embed.FS

// Handler serves the console at the paths of its pages.
func Handler() http.Handler {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // The folder is embedded by name above.
	}
	return newHandler(built)
}

// routes are the first parts of the paths of its pages (ui/console/src/app/router.tsx).
var routes = []string{"workloads", "clusters", "policies", "instances", "activity"}

func newHandler(built fs.FS) http.Handler {
	return page.New(page.Page{Built: built, Missing: placeholder, Policy: policy, Routes: routes})
}

// policy lets the page load from its own origin and nowhere else. Its library makes style sheets in the browser, which
// carry the nonce.
func policy(nonce string) string {
	styles := "style-src 'self'"
	if nonce != "" {
		styles += " 'nonce-" + nonce + "'"
	}
	return "default-src 'none'; script-src 'self'; " + styles + "; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
}
