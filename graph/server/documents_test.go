package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
)

func TestDocumentCache(t *testing.T) {
	c := newDocumentCache(prometheus.NewCounterVec(prometheus.CounterOpts{Name: "looked_total", Help: "Lookups."}, []string{"result"}))
	doc := &ast.QueryDocument{}
	text := func(i int) string { return fmt.Sprintf("%0*d", maxCachedDocumentLen, i) }
	c.Add(t.Context(), strings.Repeat("x", maxCachedDocumentLen+1), doc)
	if c.documents.Len() != 0 {
		t.Error("a document longer than that is parsed each time")
	}
	most := maxCachedText / maxCachedDocumentLen
	for i := range most + 5 {
		c.Add(t.Context(), text(i), doc)
		c.Add(t.Context(), text(i), doc)
		c.Get(t.Context(), text(0)) // What is used stays.
	}
	if n := c.documents.Len(); n != most || c.text != most*maxCachedDocumentLen {
		t.Errorf("%d documents of %d bytes are kept, want %d", n, c.text, most)
	}
	has := func(i int) bool { _, known := c.peek(text(i)); return known }
	if !has(0) || has(1) || !has(most+4) {
		t.Error("others than those that were used last are kept")
	}
	c.drop(text(0))
	c.drop(text(0))
	if has(0) || c.text != (most-1)*maxCachedDocumentLen {
		t.Errorf("%d bytes after one was dropped", c.text)
	}
}
