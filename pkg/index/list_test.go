package index_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
)

var workloadTypes = []index.Type{index.Deployments, index.StatefulSets}

func TestFilters(t *testing.T) {
	labelled := func(r indextest.Row, pairs map[string]string) indextest.Row {
		r.Labels = pairs
		return r
	}
	web := labelled(row(index.Deployments, "k-alpha", "shop", "web"), map[string]string{"app": "web", "app.kubernetes.io/part-of": "shop"})
	web.Annotations = map[string]string{"policy.karmada.io/name": "spread"}
	web.Body = map[string]any{"spec": map[string]any{"replicas": 3, "paused": true}}
	api := labelled(row(index.Deployments, "k-alpha", "shop", "api"), map[string]string{"app": "api", "empty": ""})
	api.Annotations = map[string]string{"note": "for you, in (short)"}
	plain := row(index.StatefulSets, "k-alpha", "ops", "plain-web.v1")
	plain.Body = map[string]any{"spec": map[string]any{"reason": "Back off"}}
	twin := labelled(row(index.Deployments, "k-beta", "shop", "web"), map[string]string{"app": "web"})
	other := row(index.Jobs, "k-alpha", "shop", "web")
	plain.Owner = "uid-of-owner"
	x := indextest.New(t, web, api, plain, twin, other)
	parse := func(text string) labels.Selector {
		s, err := index.ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := []indextest.Row{web, api, plain}
	for _, tt := range []struct {
		name  string
		query index.ListQuery
		want  []indextest.Row
		why   string
	}{
		{name: "cluster", want: all, why: "neither the twin of another cluster nor another kind"},
		{name: "namespace", query: index.ListQuery{Namespaces: []string{"shop"}}, want: []indextest.Row{web, api}, why: "only that one"},
		{name: "names", query: index.ListQuery{Names: []string{"web", "plain-web.v1"}}, want: []indextest.Row{web, plain}, why: "any of them, exactly"},
		{name: "namespace and name", query: index.ListQuery{Namespaces: []string{"ops"}, Names: []string{"web"}}, why: "both have to hold"},
		{name: "name contains", query: index.ListQuery{NameContains: "web"}, want: []indextest.Row{web, plain}, why: "anywhere in the name"},
		{name: "name contains a dot", query: index.ListQuery{NameContains: "b.v"}, want: []indextest.Row{plain}, why: "a dot is a dot"},
		{name: "end of a part of a name", query: index.ListQuery{NameContains: "plain-"}, want: []indextest.Row{plain}, why: "a dash may end it"},
		{name: "name contains a pattern", query: index.ListQuery{NameContains: "w_b"}, why: "an underscore is an underscore"},
		{name: "name contains syntax", query: index.ListQuery{NameContains: "web,app=web"}, why: "a comma is a comma"},
		{name: "owner", query: index.ListQuery{Owners: []string{"uid-of-owner", "none"}}, want: []indextest.Row{plain}, why: "any of them"},
		{name: "no owner", query: index.ListQuery{Owners: []string{""}}, why: "to have none is not to have an empty one"},
		{name: "name with a comma", query: index.ListQuery{Names: []string{"web,api"}}, why: "a comma is a comma"},
		{name: "label of the index", query: index.ListQuery{Selector: parse("search.clusterpedia.io/names=web")}, why: "a label is a label"},
		{name: "annotation with spaces", query: index.ListQuery{Fields: []index.FieldEquals{{Path: []string{"metadata", "annotations", "note"}, Value: "for you, in (short)"}}}, want: []indextest.Row{api}, why: "a value is a value"},
		{name: "field with spaces, of metadata alone", query: index.ListQuery{Detail: index.Metadata, Fields: []index.FieldEquals{{Path: []string{"spec", "reason"}, Value: "Back off"}}}, want: []indextest.Row{plain}, why: "what is sifted by has to be read"},
		{name: "label", query: index.ListQuery{Selector: parse("app=web")}, want: []indextest.Row{web}, why: "the value is equal"},
		{name: "label differs", query: index.ListQuery{Selector: parse("app!=web")}, want: []indextest.Row{api, plain}, why: "an object without labels differs"},
		{name: "label in", query: index.ListQuery{Selector: parse("app in (web, api, x)")}, want: []indextest.Row{web, api}, why: "one of the values"},
		{name: "label not in", query: index.ListQuery{Selector: parse("app notin (web, x)")}, want: []indextest.Row{api, plain}, why: "an object without the label has none of them"},
		{name: "label exists", query: index.ListQuery{Selector: parse("empty")}, want: []indextest.Row{api}, why: "an empty value is a value"},
		{name: "label missing", query: index.ListQuery{Selector: parse("!app")}, want: []indextest.Row{plain}, why: "no label at all is no such label"},
		{name: "label with a prefix", query: index.ListQuery{Selector: parse("app.kubernetes.io/part-of=shop")}, want: []indextest.Row{web}, why: "a dot in the key is part of it"},
		{name: "several labels", query: index.ListQuery{Selector: parse("app,app!=api")}, want: []indextest.Row{web}, why: "all requirements hold"},
		{name: "annotation", query: index.ListQuery{Fields: []index.FieldEquals{{Path: []string{"metadata", "annotations", "policy.karmada.io/name"}, Value: "spread"}}}, want: []indextest.Row{web}, why: "a path leads anywhere"},
		{name: "number", query: index.ListQuery{Fields: []index.FieldEquals{{Path: []string{"spec", "replicas"}, Value: "3"}}}, want: []indextest.Row{web}, why: "fields compare as text"},
		{name: "field that is missing", query: index.ListQuery{Fields: []index.FieldEquals{{Path: []string{"spec", "none"}, Value: ""}}}, why: "a missing field is not an empty one"},
		{name: "two fields", query: index.ListQuery{Fields: []index.FieldEquals{{Path: []string{"spec", "replicas"}, Value: "3"}, {Path: []string{"kind"}, Value: "Job"}}}, why: "both have to hold"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := tt.query
			q.Types, q.Clusters, q.Limit, q.WithCount = workloadTypes, []string{"k-alpha"}, 50, true
			page, err := clientOf(t, x).List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sorted(tt.want, q.Order), describeAll(page.Items)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
			if page.Count == nil || int(*page.Count) != len(tt.want) || page.HasNext {
				t.Errorf("counted %v of %d, more: %v", page.Count, len(tt.want), page.HasNext)
			}
		})
	}
}

// Every page of every order has the right objects, whatever the page's size, and
// the count is that of the whole list.
func TestPages(t *testing.T) {
	rows := pagedRows()
	x := indextest.New(t, rows...)
	c := clientOf(t, x)
	for _, order := range orders() {
		for _, limit := range []int{1, 7, len(rows) - 1, len(rows), len(rows) + 1} {
			q := index.ListQuery{Types: workloadTypes, Clusters: []string{"k-alpha", "k-beta"}, Order: order, Limit: limit, WithCount: true}
			var got []string
			number := 0
			err := pages(t.Context(), c, q, func(p *index.Page) {
				number++
				got = append(got, describeAll(p.Items)...)
				if len(p.Items) > limit {
					t.Errorf("%+v by %d: a page of %d", order, limit, len(p.Items))
				}
				if p.Count == nil || int(*p.Count) != len(rows) {
					t.Errorf("%+v by %d: page %d counts %v, want %d", order, limit, number, p.Count, len(rows))
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sorted(rows, order), got); diff != "" {
				t.Errorf("%+v by %d (-want +got):\n%s", order, limit, diff)
			}
			if want := (len(rows) + limit - 1) / limit; number != want {
				t.Errorf("%+v by %d: %d pages, want %d", order, limit, number, want)
			}
		}
	}
}

// pagedRows are objects that agree in every column of an order but one, whose times
// are written in several zones.
func pagedRows() []indextest.Row {
	var rows []indextest.Row
	for i := range 24 {
		for c, cluster := range []string{"k-alpha", "k-beta"} {
			r := row(workloadTypes[i%2], cluster, []string{"a", "a-b", "b"}[i/2%3], fmt.Sprintf("n%02d", i/6))
			r.CreatedAt = epoch.Add(time.Duration(i%5) * time.Hour).In(zones[(i+c)%len(zones)])
			rows = append(rows, r)
		}
	}
	return rows
}

func TestNothingIsAskedForNothing(t *testing.T) {
	x := indextest.New(t, row(index.Deployments, "k-alpha", "shop", "web"))
	c := clientOf(t, x)
	ping(t, c)
	zero := int64(0)
	for _, tt := range []struct {
		name string
		q    index.ListQuery
		why  string
	}{
		{"no clusters", index.ListQuery{Types: workloadTypes, Limit: 5, WithCount: true}, "no clusters are not all clusters"},
		{"no types", index.ListQuery{Clusters: []string{"k-alpha"}, Limit: 5, WithCount: true}, "no types are not all types"},
	} {
		page, err := c.List(t.Context(), tt.q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&index.Page{Count: &zero}, page); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.why, diff)
		}
	}
	if parts, err := c.ListParts(t.Context(), index.ListQuery{Types: workloadTypes, Limit: 5}, nil); err != nil || len(parts) != 0 {
		t.Errorf("pages of no parts: %v, %v", parts, err)
	}
	if found, err := c.GetMany(t.Context(), nil, index.Whole); err != nil || len(found) != 0 {
		t.Errorf("objects of no keys: %v, %v", found, err)
	}
	if owned, err := c.Owned(t.Context(), index.OwnedQuery{Type: index.Pods}); err != nil || len(owned) != 0 {
		t.Errorf("objects of no owners: %v, %v", owned, err)
	}
	if n := len(x.Requests()); n != 0 {
		t.Errorf("%d requests for nothing: %v", n, x.Requests())
	}
}

// What is sent is as small as what is needed.
func TestListRequests(t *testing.T) {
	x := indextest.New(t)
	c := clientOf(t, x)
	q := index.ListQuery{Types: workloadTypes, Clusters: []string{"k-alpha"}, Limit: 10}
	at := index.Position{Name: "x"}
	for _, tt := range []struct {
		name   string
		change func(*index.ListQuery)
		want   []string
		why    string
	}{
		{"first page", func(*index.ListQuery) {}, []string{"limit=11"}, "one more than the page tells whether more follow"},
		{"counted", func(q *index.ListQuery) { q.WithCount = true }, []string{"limit=11 count"}, "the first page counts along"},
		{"next page", func(q *index.ListQuery) { q.After = &at }, []string{"limit=11"}, "it starts at a key"},
		{"next page, counted", func(q *index.ListQuery) { q.After, q.WithCount = &at, true }, []string{"limit=1 count metadata", "limit=11"}, "a page after a key can't count what is before it"},
		{"metadata", func(q *index.ListQuery) { q.Detail = index.Metadata }, []string{"limit=11 metadata"}, "nothing else is sent back"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := q
			tt.change(&q)
			x.Forget()
			if _, err := c.List(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range x.Requests() {
				text := "limit=" + r.Get("limit")
				if r.Has("withRemainingCount") {
					text += " count"
				}
				if r.Has("onlyMetadata") {
					text += " metadata"
				}
				got = append(got, text)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
		})
	}
}
