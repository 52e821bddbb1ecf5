package index

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	when     = time.Date(2026, 3, 1, 12, 30, 45, 0, time.UTC)
	position = Position{CreatedAt: when, Cluster: "k-alpha", Namespace: "shop", Name: "web", Kind: "Deployment"}
)

// createdAt stands in a table for the parameter of a time of creation.
type createdAt struct{}

func TestOrderStatements(t *testing.T) {
	const (
		namespace = "(namespace, name, cluster, kind"
		name      = "(name, namespace, cluster, kind"
		creation  = "(CREATED, namespace, name, cluster, kind"
	)
	byNamespace := []any{"shop", "web", "k-alpha", "Deployment"}
	byName := []any{"web", "shop", "k-alpha", "Deployment"}
	for _, tt := range []struct {
		name  string
		order Order
		after *Position
		golden
		orderBy string
		why     string
	}{
		{"namespace, first page", Order{}, nil, golden{}, "namespace,name,cluster,kind", "no position, no condition"},
		{"namespace", Order{}, &position, golden{namespace + ") > (?, ?, ?, ?)", byNamespace}, "namespace,name,cluster,kind", "rows after it are larger"},
		{"namespace, descending, first page", Order{Desc: true}, nil, golden{}, "namespace desc,name desc,cluster desc,kind desc", "every column turns, or the order is not the same backwards"},
		{"namespace, descending", Order{Desc: true}, &position, golden{namespace + ") < (?, ?, ?, ?)", byNamespace}, "namespace desc,name desc,cluster desc,kind desc", "rows after it are smaller"},
		{"name, first page", Order{Field: OrderByName}, nil, golden{}, "name,namespace,cluster,kind", "no position, no condition"},
		{"name", Order{Field: OrderByName}, &position, golden{name + ") > (?, ?, ?, ?)", byName}, "name,namespace,cluster,kind", "parameters are in the order of the columns"},
		{"name, descending, first page", Order{Field: OrderByName, Desc: true}, nil, golden{}, "name desc,namespace desc,cluster desc,kind desc", "every column turns"},
		{"name, descending", Order{Field: OrderByName, Desc: true}, &position, golden{name + ") < (?, ?, ?, ?)", byName}, "name desc,namespace desc,cluster desc,kind desc", "rows after it are smaller"},
		{"creation, first page", Order{Field: OrderByCreation}, nil, golden{}, "CREATED,namespace,name,cluster,kind", "the column compared is the column ordered by"},
		{
			"creation", Order{Field: OrderByCreation}, &position,
			golden{creation + ") > (?, ?, ?, ?, ?)", append([]any{createdAt{}}, byNamespace...)}, "CREATED,namespace,name,cluster,kind", "objects of one second are told apart by the rest",
		},
		{"creation, descending, first page", Order{Field: OrderByCreation, Desc: true}, nil, golden{}, "CREATED desc,namespace desc,name desc,cluster desc,kind desc", "every column turns"},
		{
			"creation, descending", Order{Field: OrderByCreation, Desc: true}, &position,
			golden{creation + ") < (?, ?, ?, ?, ?)", append([]any{createdAt{}}, byNamespace...)}, "CREATED desc,namespace desc,name desc,cluster desc,kind desc", "rows after it are smaller",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, d := range dialects {
				one := tt.golden
				one.args = nil
				for _, arg := range tt.args {
					if _, ok := arg.(createdAt); ok {
						arg = map[string]any{"sqlite": when.Unix(), "postgres": "2026-03-01 12:30:45+00:00"}[d.name]
					}
					one.args = append(one.args, arg)
				}
				one.checkIn(t, d.dialect, tt.why, func(d *dialect, c *clause) { d.after(c, tt.order, tt.after) })
				if diff := cmp.Diff(words(d.dialect, tt.orderBy), d.orderParam(tt.order)); diff != "" {
					t.Errorf("%s: orderby (-want +got):\n%s", d.name, diff)
				}
			}
		})
	}
}

// The index splits the parameter orderby at commas and spaces.
func TestOrderColumnsAreWords(t *testing.T) {
	for _, d := range dialects {
		for _, field := range []OrderField{OrderByNamespace, OrderByName, OrderByCreation} {
			for _, col := range d.columns(Order{Field: field}) {
				for _, r := range col {
					if r == ' ' || r == ',' {
						t.Errorf("%s: the column %q would be taken apart", d.name, col)
					}
				}
			}
		}
	}
}

func TestPartStatements(t *testing.T) {
	const deployments = `("group" = ? AND version = ? AND resource = ?)`
	apps := []any{"apps", "v1", "deployments"}
	clusters := []string{"k-alpha", "k-beta"}
	with := func(parts ...[]any) []any {
		var all []any
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	const limit = 11
	for _, tt := range []struct {
		name  string
		query ListQuery
		build func(*dialect, *clause, *ListQuery)
		golden
		why string
	}{
		{
			name: "parts by cluster", query: ListQuery{Types: []Type{Deployments}, Clusters: clusters},
			build: func(d *dialect, c *clause, q *ListQuery) { d.parts(c, q, nil, limit) },
			golden: golden{
				"id IN (SELECT w.id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY cluster ORDER BY namespace, name, cluster, kind) AS rn" +
					" FROM resources WHERE (" + deployments + ") AND cluster IN ?) w WHERE w.rn <= ?)",
				with(apps, []any{clusters, limit}),
			}, why: "the window filters for itself: it would number rows that are left out",
		},
		{
			name: "descending, after a position, of two types",
			query: ListQuery{
				Types: []Type{Deployments, Jobs}, Clusters: clusters, Namespaces: []string{"shop"},
				Order: Order{Field: OrderByName, Desc: true}, After: &position,
			},
			build: func(d *dialect, c *clause, q *ListQuery) { d.parts(c, q, nil, limit) },
			golden: golden{
				"id IN (SELECT w.id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY cluster ORDER BY name DESC, namespace DESC, cluster DESC, kind DESC) AS rn" +
					" FROM resources WHERE (" + deployments + " OR " + deployments + ") AND cluster IN ? AND namespace IN ?" +
					" AND (name, namespace, cluster, kind) < (?, ?, ?, ?)) w WHERE w.rn <= ?)",
				with(apps, []any{"batch", "v1", "jobs", clusters, []string{"shop"}, "web", "shop", "k-alpha", "Deployment", limit}),
			}, why: "rows are numbered from the position on",
		},
		{
			name: "heads", query: ListQuery{
				Types: []Type{Deployments, Jobs}, Clusters: clusters, Namespaces: []string{"shop"},
				After: &Position{Namespace: "shop", Name: "web", Cluster: "k-alpha", Kind: "Deployment"}, Order: Order{Desc: true},
			},
			build: func(d *dialect, c *clause, q *ListQuery) { d.heads(c, q, limit) },
			golden: golden{
				"id IN (SELECT id FROM (SELECT id FROM resources WHERE " + deployments + " AND cluster IN ? AND namespace IN ?" +
					" AND (namespace, name, cluster, kind) < (?, ?, ?, ?) ORDER BY namespace DESC, name DESC, cluster DESC, kind DESC LIMIT ?) AS head" +
					" UNION ALL SELECT id FROM (SELECT id FROM resources WHERE " + deployments + " AND cluster IN ? AND namespace IN ?" +
					" AND (namespace, name, cluster, kind) < (?, ?, ?, ?) ORDER BY namespace DESC, name DESC, cluster DESC, kind DESC LIMIT ?) AS head)",
				with(apps, []any{
					clusters, []string{"shop"}, "shop", "web", "k-alpha", "Deployment", limit,
					"batch", "v1", "jobs", clusters, []string{"shop"}, "shop", "web", "k-alpha", "Deployment", limit,
				}),
			}, why: "each type has its own end of what the page can hold",
		},
		{
			name: "parts by a field", query: ListQuery{Types: []Type{Deployments}, Clusters: clusters, PartField: []string{"metadata", "labels", "id"}},
			build: func(d *dialect, c *clause, q *ListQuery) { d.parts(c, q, []string{"a", "b"}, limit) },
			golden: golden{
				"id IN (SELECT w.id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY cluster, FIELD ORDER BY namespace, name, cluster, kind) AS rn" +
					" FROM resources WHERE (" + deployments + ") AND cluster IN ? AND FIELD IN ?) w WHERE w.rn <= ?)",
				with([]any{at("metadata labels id")}, apps, []any{clusters, at("metadata labels id"), []string{"a", "b"}, limit}),
			}, why: "other values are left out before they are numbered",
		},
		{
			name: "sizes, bits that are set", query: ListQuery{Types: []Type{Deployments}, Clusters: clusters, Order: Order{Field: OrderByCreation}},
			build: func(d *dialect, c *clause, q *ListQuery) { d.sizes(c, q, nil, true) },
			golden: golden{
				"id IN (SELECT w.id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY cluster ORDER BY CREATED, namespace, name, cluster, kind) AS rn," +
					" COUNT(*) OVER (PARTITION BY cluster) AS n FROM resources WHERE (" + deployments + ") AND cluster IN ?)" +
					" w WHERE w.rn <= ? AND ((w.n >> CAST(w.rn - 1 AS integer)) & 1) = 1)",
				with(apps, []any{clusters, sizeBits}),
			}, why: "the row of rank r stands for bit r-1 of the size",
		},
		{
			name: "sizes by a field, bits that are not set", query: ListQuery{Types: []Type{Deployments}, Clusters: clusters, PartField: []string{"type"}},
			build: func(d *dialect, c *clause, q *ListQuery) { d.sizes(c, q, []string{"a"}, false) },
			golden: golden{
				"id IN (SELECT w.id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY cluster, FIELD ORDER BY namespace, name, cluster, kind) AS rn," +
					" COUNT(*) OVER (PARTITION BY cluster, FIELD) AS n FROM resources WHERE (" + deployments + ") AND cluster IN ? AND FIELD IN ?)" +
					" w WHERE w.rn <= ? AND ((w.n >> CAST(w.rn - 1 AS integer)) & 1) = 0)",
				with([]any{at("type"), at("type")}, apps, []any{clusters, at("type"), []string{"a"}, sizeBits}),
			}, why: "rows are counted in the same parts that they are numbered in",
		},
		{
			name:  "exact keys",
			build: func(d *dialect, c *clause, _ *ListQuery) { exactly(d, c) },
			golden: golden{
				`("group" = ? AND version = ? AND resource = ? AND cluster = ? AND (namespace, name) IN` +
					` (SELECT CAST(column1 AS text), CAST(column2 AS text) FROM (VALUES (?, ?), (?, ?)) AS pairs))` +
					` OR ("group" = ? AND version = ? AND resource = ? AND cluster = ? AND (namespace, name) IN` +
					` (SELECT CAST(column1 AS text), CAST(column2 AS text) FROM (VALUES (?, ?)) AS pairs))`,
				[]any{"apps", "v1", "deployments", "m1", "ops", "b", "shop", "a", "", "v1", "namespaces", "m1", "", "shop"},
			}, why: "one condition for each type and cluster, and every column of the unique index in it",
		},
		{
			name: "exact objects of one type",
			build: func(d *dialect, c *clause, _ *ListQuery) {
				d.exactIn(c, Deployments, []string{"m1", "m2"}, []pair{{"ops", "b"}, {"shop", "a"}})
			},
			golden: golden{
				`("group" = ? AND version = ? AND resource = ? AND cluster IN ? AND (namespace, name) IN` +
					` (SELECT CAST(column1 AS text), CAST(column2 AS text) FROM (VALUES (?, ?), (?, ?)) AS pairs))`,
				[]any{"apps", "v1", "deployments", []string{"m1", "m2"}, "ops", "b", "shop", "a"},
			}, why: "the names travel once for all clusters",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.check(t, tt.why, func(d *dialect, c *clause) { tt.build(d, c, &tt.query) })
		})
	}
}

func exactly(d *dialect, c *clause) {
	d.exact(c, Deployments, "m1", []pair{{"ops", "b"}, {"shop", "a"}})
	d.exact(c, Namespaces, "m1", []pair{{"", "shop"}})
}
