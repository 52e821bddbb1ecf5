package index

import "slices"

// Pick makes the page that the query asks for of all objects that there are, as the index
// does.
func (q ListQuery) Pick(all []*Object) *Page {
	var matching []*Object
	for _, o := range all {
		if q.holds(o) {
			matching = append(matching, o)
		}
	}
	slices.SortFunc(matching, func(a, b *Object) int { return compare(q.Order, PositionOf(a), PositionOf(b)) })
	page := emptyPage(&q)
	if q.WithCount {
		*page.Count = int64(len(matching))
	}
	if q.After != nil {
		matching = slices.DeleteFunc(matching, func(o *Object) bool { return !follows(q.Order, PositionOf(o), *q.After) })
	}
	page.Items, page.HasNext = cut(matching, q.Limit)
	return page
}
