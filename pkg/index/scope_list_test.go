package index_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// scopedRows are the same objects in several clusters, with and without namespace.
func scopedRows() []indextest.Row {
	configMaps := index.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
	var rows []indextest.Row
	for _, cluster := range []string{"k-alpha", "k-beta", "k-gamma", "k-delta"} {
		for _, namespace := range []string{"billing", "ops", "shop"} {
			rows = append(rows, row(index.Namespaces, cluster, "", namespace))
			for i := range 7 {
				rows = append(rows, row(configMaps, cluster, namespace, "cm-"+strconv.Itoa(i)))
			}
		}
		// An object inside a namespace is not one without, whatever it is called.
		rows = append(rows, row(configMaps, cluster, "ops", "shop"))
	}
	return rows
}

var scopedTypes = []index.Type{index.Namespaces, {Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}}

// someScopes confines a query at random: some clusters whole, some in part, some not at all.
func someScopes(r *rand.Rand) index.ListQuery {
	q := index.ListQuery{Types: scopedTypes, Limit: 1 + r.IntN(30)}
	some := func() []string {
		return slices.DeleteFunc([]string{"billing", "ops", "shop", "nowhere"}, func(string) bool { return r.IntN(2) == 0 })
	}
	alike := some()
	for _, cluster := range []string{"k-alpha", "k-beta", "k-gamma", "k-delta"} {
		s := index.Scope{Cluster: cluster}
		switch r.IntN(7) {
		case 0:
			q.Clusters = append(q.Clusters, cluster)
			continue
		case 1:
			s.EveryNamespace = true
		case 2:
			s.Namespaces = some()
		case 3, 4:
			s.Namespaces = alike
		case 5:
			s.Names = some()
		case 6:
			continue
		}
		q.Scopes = append(q.Scopes, s)
	}
	if r.IntN(3) == 0 {
		q.Namespaces = some()
	}
	return q
}

// inside are the rows that a query has to find, by what its scopes state.
func inside(rows []indextest.Row, q index.ListQuery) []indextest.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r indextest.Row) bool {
		o := &index.Object{Cluster: r.Cluster}
		o.Meta.Namespace, o.Meta.Name = r.Namespace, r.Name
		reached := slices.Contains(q.Clusters, r.Cluster) || slices.ContainsFunc(q.Scopes, func(s index.Scope) bool { return s.Holds(o) })
		return !reached || (len(q.Namespaces) > 0 && !slices.Contains(q.Namespaces, r.Namespace))
	})
}

func TestScopedLists(t *testing.T) {
	rows := scopedRows()
	x := indextest.New(t, rows...)
	c := clientOf(t, x)
	r := rand.New(rand.NewPCG(3, 7))
	for range 150 {
		q := someScopes(r)
		q.Order, q.WithCount = orders()[r.IntN(len(orders()))], true
		want := inside(rows, q)
		var got []string
		err := pages(t.Context(), c, q, func(p *index.Page) {
			got = append(got, describeAll(p.Items)...)
			if p.Count == nil || *p.Count != int64(len(want)) {
				t.Errorf("%+v: count %v, want %d", q, p.Count, len(want))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(sorted(want, q.Order), got, emptyIsNil); d != "" {
			t.Fatalf("%+v (-want +got):\n%s", q, d)
		}
	}
}

var emptyIsNil = cmp.Transformer("emptyIsNil", func(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	return s
})

func TestScopedParts(t *testing.T) {
	rows := scopedRows()
	x := indextest.New(t, rows...)
	c := clientOf(t, x)
	r := rand.New(rand.NewPCG(5, 11))
	for range 100 {
		q := someScopes(r)
		q.WithCount, q.Limit = true, 1+r.IntN(12)
		// A part is confined by its cluster's scope, and whole without one.
		q.Clusters = nil
		var parts []index.Part
		for _, cluster := range []string{"k-alpha", "k-beta", "k-gamma", "k-delta"} {
			parts = append(parts, index.Part{Cluster: cluster})
		}
		pages, err := c.ListParts(t.Context(), q, parts)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			of := q
			of.Scopes = slices.DeleteFunc(slices.Clone(q.Scopes), func(s index.Scope) bool { return s.Cluster != part.Cluster })
			if len(of.Scopes) == 0 {
				of.Clusters = []string{part.Cluster}
			}
			want := sorted(inside(rows, of), q.Order)
			page := pages[part]
			if page == nil {
				t.Fatalf("%+v: no page of %s", q, part.Cluster)
			}
			if page.Count == nil || *page.Count != int64(len(want)) {
				t.Errorf("%+v: count of %s is %v, want %d", q, part.Cluster, page.Count, len(want))
			}
			if page.HasNext != (len(want) > q.Limit) {
				t.Errorf("%+v: %s has next: %v, of %d", q, part.Cluster, page.HasNext, len(want))
			}
			if d := cmp.Diff(want[:min(len(want), q.Limit)], describeAll(page.Items), emptyIsNil); d != "" {
				t.Fatalf("%+v of %s (-want +got):\n%s", q, part.Cluster, d)
			}
		}
	}
}

// Scopes that all differ must not make a list cost more, nor nest too deep for a database.
func TestManyScopesCostOneRequest(t *testing.T) {
	q := index.ListQuery{Types: scopedTypes, Limit: 10}
	var rows []indextest.Row
	for i := range 2000 {
		cluster, namespace := "k-"+strconv.Itoa(i), "ns-"+strconv.Itoa(i)
		q.Scopes = append(q.Scopes, index.Scope{Cluster: cluster, Namespaces: []string{namespace}})
		if i%100 == 0 {
			rows = append(rows, row(scopedTypes[1], cluster, namespace, "cm"), row(scopedTypes[1], cluster, "ns-other", "cm"))
		}
	}
	x := indextest.New(t, rows...)
	c := clientOf(t, x)
	ctx, recorder := requeststats.With(t.Context())
	found := 0
	requests := 0
	err := pages(ctx, c, q, func(p *index.Page) {
		found += len(p.Items)
		requests++
	})
	if err != nil {
		t.Fatal(err)
	}
	if found != 20 || recorder.Requests(requeststats.Index) != requests {
		t.Errorf("found %d objects in %d requests for %d pages, want 20 and one each", found, recorder.Requests(requeststats.Index), requests)
	}
}
