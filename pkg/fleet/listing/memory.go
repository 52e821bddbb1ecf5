package listing

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// MemoryRequest is a list of objects in memory, such as those in the cache of the global cluster.
type MemoryRequest[T metav1.Object] struct {
	// Noun is what is listed.
	Noun   string
	Args   page.Args
	Filter Filter
	Order  index.Order
	// Match narrows further; MatchIdentity says how, to keep cursors apart.
	Match         func(T) bool
	MatchIdentity any
	// Facets are what the items on all pages are counted by, with the values that an item has.
	Facets    Facets
	Values    func(T, projection.FacetField) []string
	Items     []T
	Now       time.Time
	Freshness freshness.Freshness
}

// Memory returns a page of objects in memory. The order must be by name or by creation.
func Memory[T metav1.Object](r MemoryRequest[T]) (*page.Connection[T], error) {
	limit, err := r.Args.Limit()
	if err != nil {
		return nil, err
	}
	selector, err := r.Filter.parse(func(text string) (labels.Selector, error) { return labels.Parse(text) })
	if err != nil {
		return nil, err
	}
	if selector == nil {
		selector = labels.Everything()
	}
	identity := page.IdentityOf(r.Noun, r.Filter, r.Order, r.MatchIdentity)
	var after *index.Position
	if r.Args.After != nil {
		if after, err = page.Position[index.Position](identity, *r.Args.After, r.Now); err != nil {
			return nil, err
		}
	}
	var matching []T
	for _, item := range r.Items {
		if r.Filter.matches(item, selector) && r.Match(item) {
			matching = append(matching, item)
		}
	}
	slices.SortFunc(matching, func(a, b T) int { return compare(r.Order, positionOf(a), positionOf(b)) })
	count := int64(len(matching))
	rest := matching
	if after != nil {
		at, found := slices.BinarySearchFunc(matching, *after, func(item T, p index.Position) int {
			return compare(r.Order, positionOf(item), p)
		})
		if found {
			at++
		}
		rest = matching[at:]
	}
	hasNext := len(rest) > limit
	if hasNext {
		rest = rest[:limit]
	}
	cursorOf := func(item T) string { return page.Cursor(identity, positionOf(item), r.Now) }
	c := page.Build(r.Args, rest, cursorOf, hasNext, &count, r.Freshness)
	c.Facets = Tally(matching, r.Facets, r.Values)
	return c, nil
}

func (f Filter) matches(o metav1.Object, selector labels.Selector) bool {
	switch {
	case f.Name != nil && !slices.Contains(f.Name, o.GetName()):
		return false
	case f.NameContains != nil && !strings.Contains(o.GetName(), *f.NameContains):
		return false
	}
	return selector.Matches(labels.Set(o.GetLabels()))
}

func positionOf(o metav1.Object) index.Position {
	return index.Position{CreatedAt: o.GetCreationTimestamp().UTC(), Name: o.GetName()}
}

func compare(o index.Order, a, b index.Position) int {
	c := cmp.Compare(a.Name, b.Name)
	if o.Field == index.OrderByCreation {
		c = cmp.Or(a.CreatedAt.Compare(b.CreatedAt), c)
	}
	if o.Desc {
		return -c
	}
	return c
}
