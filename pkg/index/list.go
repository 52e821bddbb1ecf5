package index

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// List reads one page.
func (c *Client) List(ctx context.Context, q ListQuery) (*Page, error) {
	if err := q.unanswerable(); err != nil {
		return nil, err
	}
	if q = q.simplified(); q.nothing() {
		return emptyPage(&q), nil
	}
	return ask(ctx, c, func(d *dialect) (*Page, error) { return c.listAndCount(ctx, d, &q) })
}

// errProjected and errSentBy are mistakes of ours, which no caller must take for an empty list.
var (
	errProjected = errors.New("only the projection can select workloads by their state")
	errSentBy    = errors.New("only the projection knows to which member clusters workloads were sent")
)

// listAndCount reads one page, and counts all pages beside it.
func (c *Client) listAndCount(ctx context.Context, d *dialect, q *ListQuery) (*Page, error) {
	var page *Page
	var count *int64
	requests := 1
	if q.WithCount && q.After != nil {
		// A page that starts after a position can only count what follows it.
		requests = 2
	}
	err := sideBySide(ctx, requests, func(ctx context.Context, i int) (err error) {
		if i == 0 {
			page, err = c.listByKey(ctx, d, q)
		} else {
			count, err = c.count(ctx, d, q)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if count != nil {
		page.Count = count
	}
	return page, nil
}

// listByKey reads one page that starts at a key.
func (c *Client) listByKey(ctx context.Context, d *dialect, q *ListQuery) (*Page, error) {
	counts := q.WithCount && q.After == nil
	var where clause
	if q.hasHeads() && !counts {
		d.heads(&where, q, q.Limit+1)
	} else {
		d.filters(&where, q)
		d.after(&where, q.Order, q.After)
	}
	params, err := d.params(q, &where)
	if err != nil {
		return nil, err
	}
	params.Set("limit", strconv.Itoa(q.Limit+1))
	if counts {
		params.Set("withRemainingCount", "true")
	}
	objects, remaining, err := c.listFor(ctx, q, params)
	if err != nil {
		return nil, err
	}
	if !q.matchAll(objects) {
		return nil, passedOver()
	}
	page := &Page{}
	if remaining != nil {
		count := *remaining + int64(len(objects))
		page.Count = &count
	}
	page.Items, page.HasNext = cut(objects, q.Limit)
	return page, nil
}

// hasHeads reports whether the first objects of each type are quickly found, because the database
// has an index of them in the order of the query. A page of several types is then merged from them:
// no index covers all types in one order, so otherwise all matches of the query would be read and
// sorted.
func (q *ListQuery) hasHeads() bool {
	return len(q.Types) > 1 && q.Order.Field != OrderByCreation
}

// count counts what the query matches on all pages.
func (c *Client) count(ctx context.Context, d *dialect, q *ListQuery) (*int64, error) {
	var where clause
	d.filters(&where, q)
	params, err := d.params(q, &where)
	if err != nil {
		return nil, err
	}
	params.Set("limit", "1")
	params.Set("withRemainingCount", "true")
	params.Set("onlyMetadata", "true")
	objects, remaining, err := c.list(ctx, params)
	if err != nil {
		return nil, err
	}
	if !q.matchAll(objects) {
		return nil, passedOver()
	}
	if remaining == nil {
		return nil, unavailable(nil, "The index did not count the objects it was asked to count")
	}
	count := *remaining + int64(len(objects))
	return &count, nil
}

// params are the parameters of a list.
func (d *dialect) params(q *ListQuery, where *clause) (url.Values, error) {
	statement, args, err := where.encode()
	if err != nil {
		return nil, err
	}
	params := url.Values{
		"resources":          {resourcesParam(q.Types)},
		"orderby":            {d.orderParam(q.Order)},
		"whereSQLStatement":  {statement},
		"whereSQLJSONParams": {args},
	}
	if q.Detail == Metadata {
		params.Set("onlyMetadata", "true")
	}
	return params, nil
}

// listFor lists what the parameters of a query ask for.
func (c *Client) listFor(ctx context.Context, q *ListQuery, params url.Values) ([]*Object, *int64, error) {
	if len(q.Types) == 1 {
		return c.listOne(ctx, q.Types[0], q.Detail, params)
	}
	return c.list(ctx, params)
}

// matchAll reports whether the query matches all of some objects, as far as their
// metadata shows it.
func (q *ListQuery) matchAll(objects []*Object) bool {
	return !slices.ContainsFunc(objects, func(o *Object) bool { return !q.matches(o) })
}

// matches reports whether the query matches an object, as far as its metadata shows it.
func (q *ListQuery) matches(o *Object) bool {
	return q.reaches(o) &&
		(len(q.Namespaces) == 0 || slices.Contains(q.Namespaces, o.Meta.Namespace)) &&
		(len(q.Names) == 0 || slices.Contains(q.Names, o.Meta.Name)) &&
		strings.Contains(o.Meta.Name, q.NameContains) &&
		(len(q.Owners) == 0 || ownedBySome(&o.Meta, q.Owners)) &&
		(q.Selector == nil || q.Selector.Matches(labels.Set(o.Meta.Labels)))
}

// ownedBySome reports whether the controller of an object has one of some UIDs.
func ownedBySome(meta *metav1.ObjectMeta, uids []string) bool {
	ref := metav1.GetControllerOfNoCopy(meta)
	return ref != nil && slices.Contains(uids, string(ref.UID))
}

// orderParam lists the order's columns. Clusterpedia puts them into the query
// as they are, so they are constants too.
func (d *dialect) orderParam(o Order) string {
	cols := d.columns(o)
	parts := make([]string, len(cols))
	for i, col := range cols {
		parts[i] = string(col)
		if o.Desc {
			parts[i] += " desc"
		}
	}
	return strings.Join(parts, ",")
}

func resourcesParam(types []Type) string {
	parts := make([]string, len(types))
	for i, t := range types {
		parts[i] = t.Group + "/" + t.Version + "/" + t.Resource
	}
	return strings.Join(parts, ",")
}

// cut takes the page out of what was read: one object more than the page holds
// is asked for, which reports whether there are more.
func cut(objects []*Object, limit int) ([]*Object, bool) {
	if len(objects) > limit {
		return objects[:limit], true
	}
	return objects, false
}

func emptyPage(q *ListQuery) *Page {
	page := &Page{}
	if q.WithCount {
		page.Count = new(int64)
	}
	return page
}
