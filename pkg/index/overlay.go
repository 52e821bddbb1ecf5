package index

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Replacement is what a cluster itself reports about one object, in the place of what
// the index says.
type Replacement struct {
	Key Key
	// Indexed is what the index had when it was asked last; nil for nothing.
	Indexed *Object
	// Now is the object; nil when it was deleted.
	Now *Object
}

// Overlay applies the state of clusters to a page that was read for the query: it removes deleted
// objects, replaces outdated ones, and inserts those that the index does not have yet. Where
// workloads are scheduled to, and their state, stays as the index has it.
func (q ListQuery) Overlay(page *Page, replacements []Replacement) *Page {
	out, counted := *page, int64(0)
	out.Items = slices.Clone(page.Items)
	for _, r := range replacements {
		if !slices.ContainsFunc(q.Types, func(t Type) bool { return t.Group == r.Key.Type.Group && t.Resource == r.Key.Type.Resource }) {
			continue
		}
		at := slices.IndexFunc(out.Items, func(o *Object) bool { return r.isOf(o, len(q.Types) == 1) })
		// The index may have learned more since it was asked about the object.
		if at >= 0 && r.Now != nil && !OlderVersion(out.Items[at].Meta.ResourceVersion, r.Now.Meta.ResourceVersion) {
			continue
		}
		before, after := at >= 0 || r.countedBeyond(&q, page), q.holds(r.Now)
		if q.Projected != nil && at < 0 {
			continue
		}
		if !before && !after && at < 0 {
			continue
		}
		out.Live = true
		counted += one(after) - one(before)
		switch {
		case at >= 0 && after && q.Projected != nil:
			out.Items[at] = r.Now // Only the projection knows its place.
			continue
		case at >= 0:
			out.Items = slices.Delete(out.Items, at, at+1)
		}
		if after {
			out.insert(&q, r.Now)
		}
	}
	if len(out.Items) > q.Limit {
		out.Items, out.HasNext = out.Items[:q.Limit], true
	}
	if page.Count != nil {
		count := max(*page.Count+counted, int64(len(out.Items)))
		out.Count = &count
	}
	return &out
}

// OverlayPart is Overlay for the page of one part.
func (q ListQuery) OverlayPart(part Part, page *Page, replacements []Replacement) *Page {
	return q.of(part).Overlay(page, replacements)
}

// countedBeyond reports whether an object that is not on a page is counted with it, as far
// as is known: it was in the index, and has its place on another page.
func (r Replacement) countedBeyond(q *ListQuery, page *Page) bool {
	if !q.holds(r.Indexed) {
		return false
	}
	position := PositionOf(r.Indexed)
	if q.After != nil && !follows(q.Order, position, *q.After) {
		return true
	}
	return page.HasNext && (len(page.Items) == 0 || follows(q.Order, position, PositionOf(page.Items[len(page.Items)-1])))
}

// OlderVersion reports whether one resource version was given before another, of objects of
// one kind. They are compared as numbers, as Kubernetes allows since 1.35 and as etcd
// always had them; what is no number is older than anything but itself.
func OlderVersion(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return a != b
	}
	return order < 0
}

// insert puts an object into its place on the page, if its place is there.
func (p *Page) insert(q *ListQuery, o *Object) {
	position := PositionOf(o)
	if q.After != nil && !follows(q.Order, position, *q.After) {
		return
	}
	at := slices.IndexFunc(p.Items, func(item *Object) bool { return compare(q.Order, position, PositionOf(item)) < 0 })
	switch {
	case at >= 0:
		p.Items = slices.Insert(p.Items, at, o)
	case !p.HasNext:
		p.Items = append(p.Items, o)
	}
}

// holds reports whether an object belongs to the list.
func (q *ListQuery) holds(o *Object) bool {
	return o != nil && q.matches(o) && !slices.ContainsFunc(q.Fields, func(f FieldEquals) bool { return textAt(o.raw, f.Path) != f.Value })
}

// isOf reports whether an item of a page is the object that is replaced. An item that
// does not say its kind is of the only type of its list.
func (r Replacement) isOf(o *Object, only bool) bool {
	if o.Cluster != r.Key.Cluster || o.Meta.Namespace != r.Key.Namespace || o.Meta.Name != r.Key.Name {
		return false
	}
	return (o.Kind == "" && only) || o.Kind == r.Key.Type.Kind
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
