package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
)

func TestCache(t *testing.T) {
	c := NewCache(nil)
	doc := &ast.QueryDocument{}
	text := func(i int) string { return fmt.Sprintf("%0*d", maxCachedDocument, i) }
	c.Add(t.Context(), strings.Repeat("x", maxCachedDocument+1), doc)
	if c.documents.Len() != 0 {
		t.Error("a document longer than that is parsed each time")
	}
	most := maxCachedText / maxCachedDocument
	for i := range most + 5 {
		c.Add(t.Context(), text(i), doc)
		c.Add(t.Context(), text(i), doc)
		c.Get(t.Context(), text(0)) // What is used stays.
	}
	if n := c.documents.Len(); n != most || c.text != most*maxCachedDocument {
		t.Errorf("%d documents of %d bytes are kept, want %d", n, c.text, most)
	}
	has := func(i int) bool { _, known := c.Peek(text(i)); return known }
	if !has(0) || has(1) || !has(most+4) {
		t.Error("others than those that were used last are kept")
	}
	c.Drop(text(0))
	c.Drop(text(0))
	if has(0) || c.text != (most-1)*maxCachedDocument {
		t.Errorf("%d bytes after one was dropped", c.text)
	}
}
