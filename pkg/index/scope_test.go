package index

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			text: "cluster IN ? AND namespace IN ?", args: []any{[]string(nil), []string{"billing"}}, why: "no cluster is left; List answers without a request",
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
