package server

import (
	"context"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
)

// Parsed documents are kept, because clients send the same few texts again and
// again. A document takes up to a hundred times as much memory as its text, so the
// texts are bounded together, and a long one is parsed each time: a client that sends
// different ones all day must not fill the memory with them.
const (
	cachedDocuments      = 1000
	maxCachedDocumentLen = 16 << 10
	maxCachedText        = 1 << 20
)

// documentCache keeps the documents that were used last. It implements graphql.Cache.
type documentCache struct {
	looked *prometheus.CounterVec

	mu        sync.Mutex
	documents *lru.Cache[string, *ast.QueryDocument]
	text      int
}

func newDocumentCache(looked *prometheus.CounterVec) *documentCache {
	c := &documentCache{looked: looked}
	var err error
	c.documents, err = lru.NewWithEvict(cachedDocuments, func(text string, _ *ast.QueryDocument) { c.text -= len(text) })
	if err != nil {
		panic(err) // The size is positive.
	}
	return c
}

// Get implements graphql.Cache.
func (c *documentCache) Get(_ context.Context, text string) (*ast.QueryDocument, bool) {
	c.mu.Lock()
	doc, ok := c.documents.Get(text)
	c.mu.Unlock()
	result := miss
	if ok {
		result = hit
	}
	c.looked.WithLabelValues(result).Inc()
	return doc, ok
}

// peek returns a document without counting it as looked for.
func (c *documentCache) peek(text string) (*ast.QueryDocument, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.documents.Peek(text)
}

// Add implements graphql.Cache.
func (c *documentCache) Add(_ context.Context, text string, doc *ast.QueryDocument) {
	if len(text) > maxCachedDocumentLen {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.documents.Contains(text) {
		return
	}
	c.text += len(text)
	c.documents.Add(text, doc)
	for c.text > maxCachedText {
		c.documents.RemoveOldest()
	}
}

// drop forgets a document that turned out not to be worth its place.
func (c *documentCache) drop(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.documents.Remove(text)
}
