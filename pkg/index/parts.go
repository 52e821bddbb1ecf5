package index

import (
	"context"
	"slices"
)

// ListParts reads the same page of several parts, in one request. The query's own Clusters
// are ignored; its Scopes confine the parts of their clusters. Counting costs nothing for
// parts that end on their first page, and otherwise at most three requests more, however
// many parts there are.
func (c *Client) ListParts(ctx context.Context, q ListQuery, parts []Part) (map[Part]*Page, error) {
	if err := q.unanswerable(); err != nil {
		return nil, err
	}
	if len(parts) == 0 || len(q.Types) == 0 {
		return map[Part]*Page{}, nil
	}
	if len(parts) == 1 {
		page, err := c.List(ctx, q.of(parts[0]))
		if err != nil {
			return nil, err
		}
		return map[Part]*Page{parts[0]: page}, nil
	}
	return ask(ctx, c, func(d *dialect) (map[Part]*Page, error) { return c.listTogether(ctx, d, q, parts) })
}

// listTogether reads the parts' pages in one request.
func (c *Client) listTogether(ctx context.Context, d *dialect, q ListQuery, parts []Part) (map[Part]*Page, error) {
	clusters, values := partLists(parts)
	if q = q.in(clusters...).simplified(); q.nothing() {
		return emptyPages(&q, parts), nil
	}
	if q.Detail == Metadata && !partFieldInMetadata(q.PartField) {
		q.Detail = Known
	}
	var where clause
	d.parts(&where, &q, values, q.Limit+1)
	params, err := d.params(&q, &where)
	if err != nil {
		return nil, err
	}
	objects, _, err := c.listFor(ctx, &q, params)
	if err != nil {
		return nil, err
	}
	if !q.matchAll(objects) {
		return nil, passedOver()
	}
	byPart := groupParts(objects, q.PartField)
	pages := make(map[Part]*Page, len(parts))
	var uncounted []Part
	for _, part := range parts {
		page := &Page{}
		page.Items, page.HasNext = cut(byPart[part], q.Limit)
		pages[part] = page
		switch {
		case !q.WithCount:
		case q.After == nil && !page.HasNext:
			count := int64(len(page.Items))
			page.Count = &count
		default:
			uncounted = append(uncounted, part)
		}
	}
	counts, err := c.countParts(ctx, d, q, uncounted)
	if err != nil {
		return nil, err
	}
	for part, count := range counts {
		pages[part].Count = &count
	}
	return pages, nil
}

// partFieldInMetadata reports whether an object's part shows in its metadata.
func partFieldInMetadata(field []string) bool {
	return len(field) == 0 || field[0] == "metadata"
}

// groupParts sorts objects into their parts.
func groupParts(objects []*Object, field []string) map[Part][]*Object {
	byPart := map[Part][]*Object{}
	for _, o := range objects {
		part := Part{Cluster: o.Cluster, Value: textAt(o.raw, field)}
		byPart[part] = append(byPart[part], o)
	}
	return byPart
}

// of is the query of one part.
func (q ListQuery) of(part Part) ListQuery {
	q = q.in(part.Cluster)
	if len(q.PartField) > 0 {
		q.Fields = append(slices.Clone(q.Fields), FieldEquals{Path: q.PartField, Value: part.Value})
		q.PartField = nil
	}
	return q
}

func emptyPages(q *ListQuery, parts []Part) map[Part]*Page {
	pages := make(map[Part]*Page, len(parts))
	for _, part := range parts {
		pages[part] = emptyPage(q)
	}
	return pages
}

func partLists(parts []Part) (clusters, values []string) {
	for _, p := range parts {
		clusters = append(clusters, p.Cluster)
		values = append(values, p.Value)
	}
	slices.Sort(clusters)
	slices.Sort(values)
	return slices.Compact(clusters), slices.Compact(values)
}
