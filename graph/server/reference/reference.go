// Package reference serves the OpenAPI document as a page without scripts, which loads nothing.
package reference

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/kairship-io/kairship/graph/server/response"
)

//go:embed page.html
var layout string

//go:embed page.css
var style string

// Handler returns the handler of the page of an OpenAPI document. Clients that do not ask for a page are served by next.
func Handler(openAPI []byte, next http.Handler) (http.Handler, error) {
	body, err := render(openAPI)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(style))
	policy := fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'", base64.StdEncoding.EncodeToString(sum[:]))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		if r.Method != http.MethodGet && r.Method != http.MethodHead || !strings.Contains(r.Header.Get("Accept"), "text/html") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		response.Compress(r, body).Write(w, "text/html; charset=utf-8")
	}), nil
}

func render(openAPI []byte) ([]byte, error) {
	var d document
	if err := json.Unmarshal(openAPI, &d); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	page, err := template.New("page").Parse(layout)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Style": template.HTML("<style>" + style + "</style>"), //nolint:gosec // It is a file of this package.
		"Nouns": d.nouns(), "Schemas": d.Components.Schemas,
	})
	return out.Bytes(), err
}
