package index

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func scopeRow(cluster, namespace, name string) *Object {
	o := &Object{Cluster: cluster, APIVersion: "v1", Kind: "ConfigMap"}
	o.Meta.Namespace, o.Meta.Name = namespace, name
	return o
}

func TestScopeHolds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		scope Scope
		row   *Object
		want  bool
		why   string
	}{
		{"namespace", Scope{Cluster: "k-alpha", Namespaces: []string{"shop"}}, scopeRow("k-alpha", "shop", "a"), true, "it is in the namespace"},
		{"other namespace", Scope{Cluster: "k-alpha", Namespaces: []string{"shop"}}, scopeRow("k-alpha", "ops", "a"), false, "it is in another"},
		{"other cluster", Scope{Cluster: "k-alpha", Namespaces: []string{"shop"}}, scopeRow("k-beta", "shop", "a"), false, "namespaces of the same name are not the same"},
		{"no namespace", Scope{Cluster: "k-alpha", Namespaces: []string{"shop", ""}}, scopeRow("k-alpha", "", "a"), false, "no namespace is not a namespace"},
		{"every namespace", Scope{Cluster: "k-alpha", EveryNamespace: true}, scopeRow("k-alpha", "ops", "a"), true, "whichever it is"},
		{"every namespace, without one", Scope{Cluster: "k-alpha", EveryNamespace: true}, scopeRow("k-alpha", "", "a"), false, "it has none"},
		{"name", Scope{Cluster: "k-alpha", Names: []string{"shop"}}, scopeRow("k-alpha", "", "shop"), true, "it is named"},
		{"name inside a namespace", Scope{Cluster: "k-alpha", Names: []string{"shop"}}, scopeRow("k-alpha", "ops", "shop"), false, "names are those of objects without namespace"},
		{"nothing", Scope{Cluster: "k-alpha"}, scopeRow("k-alpha", "", ""), false, "a scope that says nothing holds nothing"},
	} {
		if got := tt.scope.Holds(tt.row); got != tt.want {
			t.Errorf("%s: got %v, want %v: %s", tt.name, got, tt.want, tt.why)
		}
	}
}

func TestScopeStatements(t *testing.T) {
	alphaShop := Scope{Cluster: "k-alpha", Namespaces: []string{"ops", "shop"}}
	betaBilling := Scope{Cluster: "k-beta", Namespaces: []string{"billing"}}
	for _, tt := range []struct {
		name  string
		query ListQuery
		text  string
		args  []any
		why   string
	}{
		{
			name: "whole clusters", query: ListQuery{Clusters: []string{"k-alpha", "k-beta"}},
			text: "cluster IN ?", args: []any{[]string{"k-alpha", "k-beta"}}, why: "without scopes nothing is different",
		},
		{
			name: "one scope", query: ListQuery{Scopes: []Scope{alphaShop}},
			text: "cluster IN ? AND namespace IN ?", args: []any{[]string{"k-alpha"}, []string{"ops", "shop"}}, why: "what the other filters can say, they say",
		},
		{
			name: "scopes alike", query: ListQuery{Scopes: []Scope{alphaShop, {Cluster: "k-beta", Namespaces: []string{"ops", "shop"}}}},
			text: "cluster IN ? AND namespace IN ?", args: []any{[]string{"k-alpha", "k-beta"}, []string{"ops", "shop"}}, why: "what the other filters can say, they say",
		},
		{
			name: "scopes that differ", query: ListQuery{Scopes: []Scope{alphaShop, betaBilling}},
			text: "((namespace <> '' AND (cluster, namespace) IN (VALUES (?, ?), (?, ?), (?, ?))))",
			args: []any{"k-alpha", "ops", "k-alpha", "shop", "k-beta", "billing"}, why: "alpha's namespaces are not beta's",
		},
		{
			name: "scopes that differ, and a filter", query: ListQuery{Scopes: []Scope{alphaShop, betaBilling}, Namespaces: []string{"shop"}},
			text: "((namespace <> '' AND (cluster, namespace) IN (VALUES (?, ?), (?, ?), (?, ?)))) AND namespace IN ?",
			args: []any{"k-alpha", "ops", "k-alpha", "shop", "k-beta", "billing", []string{"shop"}}, why: "the filter narrows the scopes",
		},
		{
			name: "a whole cluster and a part", query: ListQuery{Clusters: []string{"k-gamma"}, Scopes: []Scope{alphaShop}},
			text: "(cluster IN ? OR (namespace <> '' AND (cluster, namespace) IN (VALUES (?, ?), (?, ?))))",
			args: []any{[]string{"k-gamma"}, "k-alpha", "ops", "k-alpha", "shop"}, why: "either",
		},
		{
			name: "every namespace", query: ListQuery{Scopes: []Scope{{Cluster: "k-alpha", EveryNamespace: true}}},
			text: "((cluster IN ? AND namespace <> ''))", args: []any{[]string{"k-alpha"}}, why: "objects without namespace stay out",
		},
		{
			name: "names", query: ListQuery{Scopes: []Scope{{Cluster: "k-alpha", Names: []string{"shop"}}, {Cluster: "k-beta", Names: []string{"billing"}}}},
			text: "((namespace = '' AND (cluster, name) IN (VALUES (?, ?), (?, ?))))", args: []any{"k-alpha", "shop", "k-beta", "billing"}, why: "objects without namespace, by name",
		},
		{
			name: "all forms", query: ListQuery{
				Clusters: []string{"k-gamma"},
				Scopes: []Scope{
					{Cluster: "k-a", EveryNamespace: true}, {Cluster: "k-b", Names: []string{"n"}}, {Cluster: "k-c", Namespaces: []string{"ns"}}, {Cluster: "k-d", EveryNamespace: true},
				},
			},
			text: "(cluster IN ? OR (cluster IN ? AND namespace <> '') OR (namespace <> '' AND (cluster, namespace) IN (VALUES (?, ?)))" +
				" OR (namespace = '' AND (cluster, name) IN (VALUES (?, ?))))",
			args: []any{[]string{"k-gamma"}, []string{"k-a", "k-d"}, "k-c", "ns", "k-b", "n"}, why: "each form once, however many clusters",
		},
		{
			name: "a scope of nothing", query: ListQuery{Scopes: []Scope{{Cluster: "k-alpha"}}},
			text: "(1 = 0)", args: nil, why: "it must never become everything",
		},
		{
			name: "an empty intersection", query: ListQuery{Scopes: []Scope{alphaShop}, Namespaces: []string{"billing"}},
			text: "cluster IN ? AND namespace IN ?", args: []any{[]string(nil), []string{"billing"}}, why: "no cluster is left; List answers by itself",
		},
	} {
		for _, d := range []*dialect{sqliteDialect, postgresDialect} {
			t.Run(tt.name+"/"+d.name, func(t *testing.T) {
				q := tt.query.simplified()
				var where clause
				d.filters(&where, &q)
				if d := cmp.Diff(tt.text, where.text.String()); d != "" {
					t.Errorf("%s (-want +got):\n%s", tt.why, d)
				}
				if d := cmp.Diff(tt.args, where.args); d != "" {
					t.Errorf("arguments (-want +got):\n%s", d)
				}
				if n := strings.Count(where.text.String(), "?"); n != len(where.args) {
					t.Errorf("%d placeholders and %d arguments", n, len(where.args))
				}
			})
		}
	}
}

func TestScopesOfParts(t *testing.T) {
	q := ListQuery{
		Types:    []Type{Deployments},
		Clusters: []string{"k-elsewhere"},
		Scopes:   []Scope{{Cluster: "k-alpha", Namespaces: []string{"shop"}}, {Cluster: "k-beta", EveryNamespace: true}},
	}
	for _, tt := range []struct {
		cluster  string
		clusters []string
		scopes   []Scope
	}{
		{cluster: "k-alpha", scopes: q.Scopes[:1]},
		{cluster: "k-beta", scopes: q.Scopes[1:]},
		{cluster: "k-gamma", clusters: []string{"k-gamma"}},
	} {
		got := q.of(Part{Cluster: tt.cluster})
		if d := cmp.Diff(ListQuery{Types: q.Types, Clusters: tt.clusters, Scopes: tt.scopes}, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.cluster, d)
		}
	}
}

// simplified has to mean the same; nothing has to be true only of queries that match nothing.
func FuzzSimplified(f *testing.F) {
	f.Add("k-a ns1,ns2\nk-b ns1,ns2", "", "")
	f.Add("k-a ns1\nk-b ns2", "ns2", "k-c")
	f.Add("k-a ns1", "ns2", "")
	f.Add("k-a\nk-b *", "", "")
	f.Fuzz(func(t *testing.T, scopes, namespaces, clusters string) {
		q := ListQuery{Types: []Type{Deployments}, Namespaces: strings.Fields(namespaces), Clusters: strings.Fields(clusters)}
		rows := []*Object{scopeRow("k-a", "ns1", "x"), scopeRow("k-a", "", "ns1"), scopeRow("k-b", "ns2", "x")}
		for line := range strings.Lines(scopes) {
			fields := strings.Fields(line)
			if len(fields) == 0 || slices.Contains(q.concerned(), fields[0]) {
				continue
			}
			s := Scope{Cluster: fields[0]}
			if len(fields) > 1 && fields[1] == "*" {
				s.EveryNamespace = true
			} else if len(fields) > 1 {
				s.Namespaces = strings.Split(fields[1], ",")
			}
			q.Scopes = append(q.Scopes, s)
			for _, ns := range append(s.Namespaces, q.Namespaces...) {
				rows = append(rows, scopeRow(s.Cluster, ns, "x"), scopeRow("k-other", ns, "x"))
			}
		}
		matches := func(q ListQuery, o *Object) bool {
			return q.reaches(o) && (len(q.Namespaces) == 0 || slices.Contains(q.Namespaces, o.Meta.Namespace))
		}
		simple := q.simplified()
		for _, o := range rows {
			if o.Meta.Namespace == "" && slices.ContainsFunc(q.Scopes, func(s Scope) bool { return slices.Contains(s.Namespaces, "") }) {
				continue // No namespace is called "".
			}
			want := matches(q, o)
			if got := matches(simple, o); got != want {
				t.Errorf("%s/%s/%s: %v becomes %v\n%+v\n%+v", o.Cluster, o.Meta.Namespace, o.Meta.Name, want, got, q, simple)
			}
			if want && (q.nothing() || simple.nothing()) {
				t.Errorf("a query that matches %s/%s is taken for one of nothing: %+v", o.Cluster, o.Meta.Namespace, q)
			}
		}
	})
}

// plainIndex is an index that takes no SQL: it filters by the cross product of
// clusters and namespaces and pages by offset.
type plainIndex struct {
	rows  []*Object
	lists int
}

func (p *plainIndex) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	params := r.URL.Query()
	in := func(name, value string) bool {
		return params.Get(name) == "" || slices.Contains(strings.Split(params.Get(name), ","), value)
	}
	w.Header().Set("Content-Type", "application/json")
	if params.Has("whereSQLStatement") {
		_, _ = w.Write([]byte(`{"items":[]}`))
		return
	}
	p.lists++
	var found []*Object
	for _, o := range p.rows {
		if in("clusters", o.Cluster) && in("namespaces", o.Meta.Namespace) {
			found = append(found, o)
		}
	}
	offset, _ := strconv.Atoi(params.Get("continue"))
	limit, _ := strconv.Atoi(params.Get("limit"))
	rest := found[min(offset, len(found)):]
	page := rest[:min(limit, len(rest))]
	body := map[string]any{"items": []any{}}
	var items []any
	for _, o := range page {
		items = append(items, map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": map[string]any{
			"namespace": o.Meta.Namespace, "name": o.Meta.Name, "annotations": map[string]string{"shadow.clusterpedia.io/cluster-name": o.Cluster},
		}})
	}
	if items != nil {
		body["items"] = items
	}
	if params.Get("withRemainingCount") != "" {
		body["remainingItemCount"] = len(rest) - len(page)
	}
	_ = json.NewEncoder(w).Encode(body)
}

func TestScopesWithoutSQL(t *testing.T) {
	var rows []*Object
	for _, cluster := range []string{"k-alpha", "k-beta", "k-gamma"} {
		rows = append(rows, scopeRow(cluster, "", "node"))
		for _, namespace := range []string{"billing", "ops", "shop"} {
			for i := range 30 {
				rows = append(rows, scopeRow(cluster, namespace, "cm-"+strconv.Itoa(100+i)))
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b *Object) int { return compare(Order{}, PositionOf(a), PositionOf(b)) })
	index := &plainIndex{rows: rows}
	server := httptest.NewServer(index)
	defer server.Close()
	c, err := New(Config{REST: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	count := func(n int64) *int64 { return &n }
	for _, tt := range []struct {
		name   string
		query  ListQuery
		want   []string // cluster/namespace
		number int
		count  *int64
		lists  int
		why    string
	}{
		{
			name: "whole", query: ListQuery{Clusters: []string{"k-alpha"}}, number: 91, count: count(91), lists: 1,
			want: []string{"k-alpha/", "k-alpha/billing", "k-alpha/ops", "k-alpha/shop"}, why: "nothing is different without scopes",
		},
		{
			name: "scopes alike", query: ListQuery{Scopes: []Scope{{Cluster: "k-alpha", Namespaces: []string{"shop"}}, {Cluster: "k-beta", Namespaces: []string{"shop"}}}},
			want: []string{"k-alpha/shop", "k-beta/shop"}, number: 60, count: count(60), lists: 1, why: "a cross product can say this, and count it",
		},
		{
			name: "scopes that differ", query: ListQuery{Scopes: []Scope{{Cluster: "k-alpha", Namespaces: []string{"shop"}}, {Cluster: "k-beta", Namespaces: []string{"billing"}}}},
			want: []string{"k-alpha/shop", "k-beta/billing"}, number: 60, lists: 1, why: "the rest is sifted out, and not counted either",
		},
		{
			name: "a whole cluster and a part", query: ListQuery{Clusters: []string{"k-gamma"}, Scopes: []Scope{{Cluster: "k-alpha", EveryNamespace: true}}},
			want: []string{"k-alpha/billing", "k-alpha/ops", "k-alpha/shop", "k-gamma/", "k-gamma/billing", "k-gamma/ops", "k-gamma/shop"}, number: 181, lists: 1,
			why: "each cluster by its own measure",
		},
		{name: "a scope of nothing", query: ListQuery{Scopes: []Scope{{Cluster: "k-alpha"}}}, count: count(0), why: "nothing is asked"},
		{
			name: "a filter outside", query: ListQuery{Scopes: []Scope{{Cluster: "k-alpha", Namespaces: []string{"shop"}}}, Namespaces: []string{"ops"}},
			count: count(0), why: "a cluster without a namespace left is not a whole cluster",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.query.Types, tt.query.Limit, tt.query.WithCount = []Type{{Version: "v1", Resource: "configmaps"}}, 500, true
			before := index.lists
			page, err := c.List(t.Context(), tt.query)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range page.Items {
				got = append(got, o.Cluster+"/"+o.Meta.Namespace)
			}
			slices.Sort(got)
			if len(got) != tt.number {
				t.Errorf("got %d objects, want %d: %s", len(got), tt.number, tt.why)
			}
			if d := cmp.Diff(tt.want, slices.Compact(got)); d != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, d)
			}
			if d := cmp.Diff(tt.count, page.Count); d != "" {
				t.Errorf("count (-want +got): %s", d)
			}
			if n := index.lists - before; n != tt.lists {
				t.Errorf("it cost %d lists, want %d", n, tt.lists)
			}
		})
	}
}

// The first page of a small part of a large index has to be found, and its end too.
func TestScopesWithoutSQLPage(t *testing.T) {
	var rows []*Object
	for i := range 1200 {
		rows = append(rows, scopeRow("k-alpha", "ops", "cm-"+strconv.Itoa(10000+i)))
	}
	for i := range 5 {
		rows = append(rows, scopeRow("k-alpha", "shop", "cm-"+strconv.Itoa(i)))
	}
	server := httptest.NewServer(&plainIndex{rows: rows})
	defer server.Close()
	c, err := New(Config{REST: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	q := ListQuery{
		Types:  []Type{{Version: "v1", Resource: "configmaps"}},
		Scopes: []Scope{{Cluster: "k-alpha", Namespaces: []string{"shop"}}, {Cluster: "k-beta", EveryNamespace: true}}, Limit: 3,
	}
	var got []string
	for {
		page, err := c.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Items {
			got = append(got, o.Meta.Name)
		}
		if !page.HasNext {
			break
		}
		last := PositionOf(page.Items[len(page.Items)-1])
		q.After = &last
	}
	if d := cmp.Diff([]string{"cm-0", "cm-1", "cm-2", "cm-3", "cm-4"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A statement carries text of ours only: whatever scopes are called, it is the same.
func TestScopeStatementHoldsNoValues(t *testing.T) {
	hostile := "x') OR ('1'='1"
	q := ListQuery{Clusters: []string{hostile}, Scopes: []Scope{
		{Cluster: hostile, EveryNamespace: true}, {Cluster: "k-b", Namespaces: []string{hostile}}, {Cluster: "k-c", Names: []string{hostile}},
	}}
	var where clause
	sqliteDialect.filters(&where, &q)
	statement, args, err := where.encode()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(statement, "'1'") {
		t.Errorf("a value became part of the statement: %s", statement)
	}
	raw, err := base64.StdEncoding.DecodeString(args)
	if err != nil || !strings.Contains(string(raw), "OR (") {
		t.Errorf("the value is not among the parameters: %s, %v", raw, err)
	}
}
