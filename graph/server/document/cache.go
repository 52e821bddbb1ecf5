// Package document finds the documents of requests: those that were parsed before, those
// that clients name by a hash, and those that an administrator trusts.
package document

import (
	"context"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
)

// Parsed documents are cached, because clients send the same few texts again and again. A document
// takes up to a hundred times as much memory as its text, so the total length of the texts is
// limited, and a long one is parsed each time: a client that sends different ones all day must not
// fill the memory with them.
const (
	cachedDocuments   = 1000
	maxCachedDocument = 16 << 10
	maxCachedText     = 1 << 20
)

// Cache keeps the documents that were used last. It implements graphql.Cache.
type Cache struct {
	lookups *prometheus.CounterVec

	mu        sync.Mutex
	documents *lru.Cache[string, *ast.QueryDocument]
	text      int
}

// The results of a lookup, as metrics have them.
const (
	hit  = "hit"
	miss = "miss"
)

func counter(registerer prometheus.Registerer, opts prometheus.CounterOpts) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(opts, []string{"result"})
	if registerer != nil {
		registerer.MustRegister(c)
	}
	return c
}

// NewCache returns an empty cache, whose lookups are counted.
func NewCache(registerer prometheus.Registerer) *Cache {
	c := &Cache{lookups: counter(registerer, prometheus.CounterOpts{
		Namespace: "kairship", Subsystem: "graphql", Name: "documents_total",
		Help: "Documents that were looked for among those parsed before, by whether they were there.",
	})}
	for _, result := range []string{hit, miss} {
		c.lookups.WithLabelValues(result)
	}
	var err error
	c.documents, err = lru.NewWithEvict(cachedDocuments, func(text string, _ *ast.QueryDocument) { c.text -= len(text) })
	if err != nil {
		panic(err) // The size is positive.
	}
	return c
}

// Get implements graphql.Cache.
func (c *Cache) Get(_ context.Context, text string) (*ast.QueryDocument, bool) {
	c.mu.Lock()
	doc, ok := c.documents.Get(text)
	c.mu.Unlock()
	result := miss
	if ok {
		result = hit
	}
	c.lookups.WithLabelValues(result).Inc()
	return doc, ok
}

// Peek returns a document without counting it as looked for.
func (c *Cache) Peek(text string) (*ast.QueryDocument, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.documents.Peek(text)
}

// Add implements graphql.Cache.
func (c *Cache) Add(_ context.Context, text string, doc *ast.QueryDocument) {
	if len(text) > maxCachedDocument {
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

// Drop forgets a document that turned out not to be worth its place.
func (c *Cache) Drop(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.documents.Remove(text)
}
