package index_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
)

var epoch = time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)

// row is an object of a type.
func row(of index.Type, cluster, namespace, name string) indextest.Row {
	return indextest.Row{
		Cluster: cluster, Group: of.Group, Version: of.Version, Resource: of.Resource, Kind: of.Kind,
		Namespace: namespace, Name: name, CreatedAt: epoch,
	}
}

// clientOf makes a client of an index, which has time to answer on a machine that is busy.
func clientOf(t testing.TB, x *indextest.Index) *index.Client {
	t.Helper()
	return clientWith(t, index.Config{REST: &rest.Config{Host: x.URL}, Timeout: time.Minute})
}

func clientWith(t testing.TB, cfg index.Config) *index.Client {
	t.Helper()
	c, err := index.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ping has a client know its index.
func ping(t testing.TB, c *index.Client) {
	t.Helper()
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// describe names an object.
func describe(o *index.Object) string {
	return strings.Join([]string{o.Cluster, o.Kind, o.Meta.Namespace, o.Meta.Name}, "/")
}

func describeRow(r indextest.Row) string {
	return strings.Join([]string{r.Cluster, r.Kind, r.Namespace, r.Name}, "/")
}

func describeAll(objects []*index.Object) []string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = describe(o)
	}
	return names
}

// pages reads a list from its first page to its last.
func pages(ctx context.Context, c *index.Client, q index.ListQuery, each func(*index.Page)) error {
	for range 10_000 {
		page, err := c.List(ctx, q)
		if err != nil {
			return err
		}
		each(page)
		if !page.HasNext {
			return nil
		}
		if len(page.Items) == 0 {
			return fmt.Errorf("an empty page reports that more follow")
		}
		last := index.PositionOf(page.Items[len(page.Items)-1])
		q.After = &last
	}
	return fmt.Errorf("the list does not end")
}

// sorted is what a list in some order has to be, computed from the rows alone.
func sorted(rows []indextest.Row, o index.Order) []string {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b indextest.Row) int {
		var c int
		switch o.Field {
		case index.OrderByNamespace:
			c = cmp.Compare(a.Namespace, b.Namespace)
		case index.OrderByName:
			c = cmp.Compare(a.Name, b.Name)
		case index.OrderByCreation:
			c = a.CreatedAt.Compare(b.CreatedAt)
		case index.OrderByHealth, index.OrderByReady, index.OrderByRestarts, index.OrderByRelevance: // The index has no states.
		}
		c = cmp.Or(c, cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Kind, b.Kind))
		if o.Desc {
			return -c
		}
		return c
	})
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = describeRow(r)
	}
	return names
}

// orders are all orders.
func orders() []index.Order {
	var all []index.Order
	for _, field := range []index.OrderField{index.OrderByNamespace, index.OrderByName, index.OrderByCreation} {
		all = append(all, index.Order{Field: field}, index.Order{Field: field, Desc: true})
	}
	return all
}

// zones are time zones that the processes which write an index may have.
var zones = []*time.Location{time.UTC, time.FixedZone("", 9*3600), time.FixedZone("", -(3*3600 + 1800))}

// someRow makes a row up. Names, times and namespaces meet often, so that every
// column of an order has to decide at times.
func someRow(r *rand.Rand) indextest.Row {
	of := []index.Type{index.Deployments, index.StatefulSets}[r.IntN(2)]
	one := row(of, []string{"k-alpha", "k-beta"}[r.IntN(2)], []string{"ops", "shop", "shop-eu"}[r.IntN(3)], fmt.Sprintf("w%d", r.IntN(40)))
	one.CreatedAt = epoch.Add(time.Duration(r.IntN(5)) * time.Hour).In(zones[r.IntN(len(zones))])
	one.UID = fmt.Sprintf("%016x", r.Uint64())
	return one
}

// longest returns the size of the largest request, as sent.
func longest(requests []url.Values) int {
	most := 0
	for _, q := range requests {
		most = max(most, len(q.Encode()))
	}
	return most
}

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
