package index

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterpedia-io/client-go/constants"
)

// Reading an index that accepts no SQL. Its parameters filter as a cross
// product, page by offset and know nothing of bindings, so what they can't say
// is done here.

// CanFilterPlacement tells whether ListQuery.ScheduledTo can be asked for.
// Where it can't, callers look at the bindings themselves.
func (c *Client) CanFilterPlacement(ctx context.Context) (bool, error) {
	d, err := c.sql(ctx)
	return d != nil, err
}

// scanBatch is the size of the pages that a scan reads.
const scanBatch = 500

// listByOffset reads one page. Without a position it is the first page of the
// index. With one, the list is read from its start, in batches, until the
// position has been passed: an offset would shift with every object that comes
// or goes, and a key can't be asked for. The cost grows with the depth of the
// page, as it does for the database that skips an offset.
//
// What the parameters can't say is sifted here from what they find, and then
// there is no telling how many there are.
func (c *Client) listByOffset(ctx context.Context, q *ListQuery) (*Page, error) {
	page := &Page{}
	asked, unsaid := q.said()
	batch := q.Limit + 1
	if q.After != nil || unsaid != nil {
		batch = scanBatch
	}
	// Batches overlap, and an object that two of them share must not fill the page twice.
	seen := map[Position]struct{}{}
	for offset := 0; ; {
		params := crossProductParams(&asked)
		params.Set("limit", strconv.Itoa(batch))
		params.Set("continue", strconv.Itoa(offset))
		if q.WithCount && offset == 0 && unsaid == nil {
			params.Set("withRemainingCount", "true")
		}
		objects, remaining, err := c.listFor(ctx, &asked, params)
		if err != nil {
			return nil, err
		}
		if remaining != nil {
			count := *remaining + int64(len(objects))
			page.Count = &count
		}
		for _, o := range objects {
			at := PositionOf(o)
			if _, again := seen[at]; again || (unsaid != nil && !unsaid(o)) || (q.After != nil && !follows(q.Order, at, *q.After)) {
				continue
			}
			seen[at] = struct{}{}
			page.Items = append(page.Items, o)
		}
		if len(page.Items) > q.Limit || len(objects) < batch {
			break
		}
		// The batches overlap by a little, so that objects which went between two
		// requests do not pull others over the seam unseen.
		offset += len(objects) - min(seam, len(objects)/2)
	}
	slices.SortStableFunc(page.Items, func(a, b *Object) int {
		return compare(q.Order, PositionOf(a), PositionOf(b))
	})
	page.Items, page.HasNext = cut(page.Items, q.Limit)
	return page, nil
}

// said is the part of a query that Clusterpedia's parameters can say, and a
// function that tells which of the objects it finds are meant; nil when all are.
//
// Scopes that differ can't be said, nor can a value that would be taken for
// syntax or for a pattern: lists are joined with commas, the part of a name is a
// label's value in a LIKE, and fields are compared in a selector without quotes.
func (q *ListQuery) said() (asked ListQuery, unsaid func(*Object) bool) {
	asked = *q
	whole := len(q.Scopes) == 0
	drop := func(unsayable bool, forget func()) {
		if unsayable {
			whole = false
			forget()
		}
	}
	separated := func(text string) bool { return text == "" || strings.ContainsAny(text, ", \t\r\n") }
	drop(slices.ContainsFunc(q.Namespaces, separated), func() { asked.Namespaces = nil })
	drop(slices.ContainsFunc(q.Names, separated), func() { asked.Names = nil })
	// SQLite's LIKE takes a capital for a small letter; names hardly ever have capitals.
	capitals := q.NameContains != strings.ToLower(q.NameContains)
	drop(capitals || strings.ContainsAny(q.NameContains, "_%") || len(validation.IsValidLabelValue(q.NameContains)) > 0,
		func() { asked.NameContains = "" })
	if q.Selector != nil {
		requirements, _ := q.Selector.Requirements()
		// Clusterpedia takes labels of its own for parameters.
		drop(slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return strings.Contains(r.Key(), "clusterpedia.io") }),
			func() { asked.Selector = nil })
	}
	var fields []FieldEquals
	asked.Fields = slices.DeleteFunc(slices.Clone(q.Fields), func(f FieldEquals) bool {
		unsayable := strings.ContainsAny(f.Value, "=!()<>, \t\r\n") || f.Value == "in" || f.Value == "notin"
		if unsayable {
			fields = append(fields, f)
			if !partFieldInMetadata(f.Path) && asked.Detail == Metadata {
				asked.Detail = Known
			}
		}
		return unsayable
	})
	if whole && len(fields) == 0 {
		return asked, nil
	}
	return asked, func(o *Object) bool {
		return q.matches(o) && !slices.ContainsFunc(fields, func(f FieldEquals) bool { return textAt(o.raw, f.Path) != f.Value })
	}
}

// seam is how many objects two batches of a scan share.
const seam = 50

// crossProductParams are the parameters of a list without SQL.
func crossProductParams(q *ListQuery) url.Values {
	params := url.Values{
		"resources": {resourcesParam(q.Types)},
		"clusters":  {strings.Join(q.concerned(), ",")},
		"orderby":   {crossProductOrder(q.Order)},
	}
	if len(q.Namespaces) > 0 {
		params.Set("namespaces", strings.Join(q.Namespaces, ","))
	}
	if len(q.Names) > 0 {
		params.Set("names", strings.Join(q.Names, ","))
	}
	var selector []string
	if q.Selector != nil {
		selector = append(selector, q.Selector.String())
	}
	if q.NameContains != "" {
		selector = append(selector, constants.SearchLabelFuzzyName+"="+q.NameContains)
	}
	if len(selector) > 0 {
		params.Set("labelSelector", strings.Join(selector, ","))
	}
	var fields []string
	for _, f := range q.Fields {
		fields = append(fields, fieldPath(f.Path)+"="+f.Value)
	}
	if len(fields) > 0 {
		params.Set("fieldSelector", strings.Join(fields, ","))
	}
	if q.Detail == Metadata {
		params.Set("onlyMetadata", "true")
	}
	return params
}

// fieldPath writes a path as Clusterpedia's field selectors want it: steps with
// a dot in them in brackets.
func fieldPath(path []string) string {
	var b strings.Builder
	for i, step := range path {
		switch {
		case strings.ContainsAny(step, "./"):
			b.WriteString("['" + step + "']")
		case i > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	return b.String()
}

func crossProductOrder(o Order) string {
	cols := []string{"namespace", "name", "cluster", "kind"}
	switch o.Field {
	case OrderByName:
		cols = []string{"name", "namespace", "cluster", "kind"}
	case OrderByCreation:
		cols = append([]string{"created_at"}, cols...)
	case OrderByNamespace:
	}
	if o.Desc {
		for i := range cols {
			cols[i] += " desc"
		}
	}
	return strings.Join(cols, ",")
}

// follows tells that a comes after b in the order.
func follows(o Order, a, b Position) bool { return compare(o, a, b) > 0 }

func compare(o Order, a, b Position) int {
	var c int
	namespace, name := cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)
	rest := cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Kind, b.Kind))
	switch o.Field {
	case OrderByName:
		c = cmp.Or(name, namespace, rest)
	case OrderByCreation:
		c = cmp.Or(a.CreatedAt.Compare(b.CreatedAt), namespace, name, rest)
	case OrderByNamespace:
		c = cmp.Or(namespace, name, rest)
	}
	if o.Desc {
		return -c
	}
	return c
}

// getManyByNames asks for the cross product of namespaces and names, one
// request for each type and cluster, and takes what was meant.
func (c *Client) getManyByNames(ctx context.Context, keys []Key, detail Detail) (map[Key]*Object, error) {
	var requests []ListQuery
	for _, group := range groupKeys(keys) {
		for chunk := range slices.Chunk(group, scanBatch) {
			q := ListQuery{Types: []Type{chunk[0].Type}, Clusters: []string{chunk[0].Cluster}, Detail: detail}
			for _, k := range chunk {
				q.Names = append(q.Names, k.Name)
				if k.Namespace != "" {
					q.Namespaces = append(q.Namespaces, k.Namespace)
				}
			}
			slices.Sort(q.Namespaces)
			q.Namespaces = slices.Compact(q.Namespaces)
			requests = append(requests, q)
		}
	}
	results := make([][]*Object, len(requests))
	err := sideBySide(ctx, len(requests), func(ctx context.Context, i int) (err error) {
		q := requests[i]
		results[i], _, err = c.listFor(ctx, &q, crossProductParams(&q))
		return err
	})
	if err != nil {
		return nil, err
	}
	return keyed(keys, slices.Concat(results...)), nil
}

// ownedByNamespace reads all objects of the types in the owners' clusters and
// namespaces: the index can follow owners in one cluster at a time only.
func (c *Client) ownedByNamespace(ctx context.Context, q *OwnedQuery) (objects, between []*Object, err error) {
	clusters, _ := ownerLists(q.Owners)
	base := ListQuery{Clusters: clusters, Namespaces: q.Namespaces, Order: Order{Field: OrderByName}}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		all := base
		all.Types = []Type{q.Type}
		var err error
		objects, _, err = c.listFor(gctx, &all, crossProductParams(&all))
		return err
	})
	if len(q.Via) > 0 {
		g.Go(func() error {
			via := base
			via.Types, via.Detail = q.Via, Metadata
			var err error
			between, _, err = c.list(gctx, crossProductParams(&via))
			return err
		})
	}
	return objects, between, g.Wait()
}
