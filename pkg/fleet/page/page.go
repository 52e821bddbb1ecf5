// Package page holds what all lists have in common: how many to return, where
// to go on, and the Relay shape of the answer.
package page

import (
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Sizes of a page.
const (
	DefaultSize = 50
	MaxSize     = 500
)

// Args are the paging arguments of a list.
type Args struct {
	First *int
	After *string
}

// Limit is the size of the page that was asked for.
func (a Args) Limit() (int, error) {
	if a.First == nil {
		return DefaultSize, nil
	}
	if *a.First < 1 || *a.First > MaxSize {
		return 0, apierror.Invalid("first", "%d is out of range; ask for 1 to %d", *a.First, MaxSize)
	}
	return *a.First, nil
}

// Info says where a page stands in its list.
type Info struct {
	HasNextPage     bool
	HasPreviousPage bool
	StartCursor     *string
	EndCursor       *string
}

// Edge is an item with its place in the list.
type Edge[T any] struct {
	Node   T
	Cursor string
}

// Connection is a page of a list.
type Connection[T any] struct {
	Edges      []*Edge[T]
	Nodes      []T
	PageInfo   Info
	TotalCount *int
	Freshness  freshness.Freshness
	// Facets count the items of all pages, where that was asked for; FacetsErr says why not.
	Facets    []projection.Facet
	FacetsErr error
	// WithoutCustom reports whether custom workloads are missing; see index.Page.
	WithoutCustom bool
}

// Build makes the connection of a page's items.
func Build[T any](args Args, items []T, cursorOf func(T) string, hasNext bool, count *int64, fresh freshness.Freshness) *Connection[T] {
	c := &Connection[T]{
		Edges:     make([]*Edge[T], len(items)),
		Nodes:     items,
		Freshness: fresh,
		PageInfo:  Info{HasNextPage: hasNext, HasPreviousPage: args.After != nil},
	}
	if items == nil {
		c.Nodes = []T{}
	}
	for i, item := range items {
		c.Edges[i] = &Edge[T]{Node: item, Cursor: cursorOf(item)}
	}
	if len(items) > 0 {
		c.PageInfo.StartCursor = &c.Edges[0].Cursor
		c.PageInfo.EndCursor = &c.Edges[len(items)-1].Cursor
	}
	if count != nil {
		total := int(*count)
		c.TotalCount = &total
	}
	return c
}

// Unread is the connection of a list that could not be read: it holds nothing,
// counts nothing and reports that nothing was observed.
func Unread[T any](why string) *Connection[T] {
	return &Connection[T]{
		Edges:     []*Edge[T]{},
		Nodes:     []T{},
		Freshness: freshness.Freshness{Source: freshness.SourceIndex, Stale: true, Message: &why},
	}
}
