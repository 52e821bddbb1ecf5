package index_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// partsWorld is an index with parts of these sizes, by cluster and by policy.
func partsWorld(t *testing.T, sizes map[index.Part]int) *indextest.Index {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var rows []indextest.Row
	for part, size := range sizes {
		for i := range size {
			r := partRow(part, i)
			r.CreatedAt = epoch.Add(-1000 * 1e9 * (1 << random.IntN(3)))
			rows = append(rows, r)
		}
		// What is beside the part must neither be in its page nor be counted.
		beside := partRow(part, 0)
		beside.Resource, beside.Kind = "jobs", "Job"
		rows = append(rows, beside)
	}
	return indextest.New(t, rows...)
}

func partRow(part index.Part, i int) indextest.Row {
	r := row(index.Deployments, part.Cluster, []string{"ops", "shop"}[i%2], fmt.Sprintf("%s-%04d", part.Value, i))
	r.UID = fmt.Sprintf("%s/%s/%d", part.Cluster, part.Value, i)
	r.Labels = map[string]string{"policy": part.Value}
	r.Body = map[string]any{"spec": map[string]any{"policy": part.Value}}
	return r
}

// The page of a part is the page that List gives of it.
func TestPartsAreLists(t *testing.T) {
	sizes := map[index.Part]int{}
	for c := range 6 {
		for v := range 4 {
			sizes[index.Part{Cluster: fmt.Sprintf("k-%d", c), Value: fmt.Sprintf("p%d", v)}] = (c*7 + v*13) % 40
		}
	}
	x := partsWorld(t, sizes)
	byCluster := []index.Part{{Cluster: "k-0"}, {Cluster: "k-3"}, {Cluster: "k-5"}, {Cluster: "k-none"}}
	var byPolicy []index.Part
	for part := range sizes {
		if part.Value != "p3" {
			byPolicy = append(byPolicy, part)
		}
	}
	byPolicy = append(byPolicy, index.Part{Cluster: "k-1", Value: "none"})
	selector, err := index.ParseSelector("policy in (p0,p2)")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		query index.ListQuery
		parts []index.Part
		why   string
	}{
		{"by cluster", index.ListQuery{Limit: 5}, byCluster, "each cluster its own page"},
		{"by cluster, large", index.ListQuery{Limit: 500}, byCluster, "all of it"},
		{"one part", index.ListQuery{Limit: 5}, byCluster[:1], "one part is a list"},
		{"filtered", index.ListQuery{Limit: 5, Namespaces: []string{"shop"}, Selector: selector, NameContains: "1"}, byCluster, "the window filters too"},
		{"scoped", index.ListQuery{Limit: 5, Scopes: []index.Scope{{Cluster: "k-0", Namespaces: []string{"shop"}}, {Cluster: "k-3", EveryNamespace: true}}}, byCluster, "a part is what its scope has of it"},
		{"ordered by time, backwards", index.ListQuery{Limit: 4, Order: index.Order{Field: index.OrderByCreation, Desc: true}}, byCluster, "rows are numbered in the list's order"},
		{"after a position", index.ListQuery{Limit: 3, Order: index.Order{Field: index.OrderByName}, After: &index.Position{Namespace: "shop", Name: "p1-0003", Cluster: "k-3", Kind: "Deployment"}}, byCluster, "each from the position on"},
		{"metadata only", index.ListQuery{Limit: 5, Detail: index.Metadata}, byCluster, "the cluster shows in the metadata"},
		{"by a label", index.ListQuery{Limit: 5, PartField: []string{"metadata", "labels", "policy"}, Detail: index.Metadata}, byPolicy, "the same value in another cluster is another part"},
		{"by namespace", index.ListQuery{Limit: 5, PartField: []string{"metadata", "namespace"}},
			[]index.Part{{Cluster: "k-0", Value: "shop"}, {Cluster: "k-3", Value: "shop"}, {Cluster: "k-3", Value: "ops"}, {Cluster: "k-3"}}, "objects without one are a part too"},
		{"by a field of the object", index.ListQuery{Limit: 5, PartField: []string{"spec", "policy"}, Detail: index.Metadata}, byPolicy, "a part that shows in the object alone needs the object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := clientOf(t, x)
			q := tt.query
			q.Types, q.Clusters, q.WithCount = []index.Type{index.Deployments}, []string{"k-elsewhere"}, true
			got, err := c.ListParts(t.Context(), q, tt.parts)
			if err != nil {
				t.Fatal(err)
			}
			want := map[index.Part][]string{}
			for _, part := range tt.parts {
				want[part] = pageOf(t, c, q, part)
			}
			have := map[index.Part][]string{}
			for part, page := range got {
				have[part] = summary(page)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
		})
	}
}

// pageOf reads the page of one part with List.
func pageOf(t *testing.T, c *index.Client, q index.ListQuery, part index.Part) []string {
	t.Helper()
	q.Clusters = []string{part.Cluster}
	scopes := q.Scopes
	q.Scopes = nil
	for _, s := range scopes {
		if s.Cluster == part.Cluster {
			q.Clusters, q.Scopes = nil, []index.Scope{s}
		}
	}
	if q.PartField != nil {
		q.Fields = []index.FieldEquals{{Path: q.PartField, Value: part.Value}}
		q.PartField = nil
	}
	page, err := c.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return summary(page)
}

// summary says all of a page: its objects, how many there are, whether more follow.
func summary(p *index.Page) []string {
	count := "not counted"
	if p.Count != nil {
		count = fmt.Sprint(*p.Count)
	}
	return append(describeAll(p.Items), count, fmt.Sprintf("more: %v", p.HasNext))
}

// Counting costs a constant number of requests, and nothing for parts that end on
// their first page.
func TestPartCounts(t *testing.T) {
	sizes := map[index.Part]int{}
	for i, n := range []int{0, 1, 2, 5, 6, 7, 31, 32, 33, 64, 65, 500} {
		sizes[index.Part{Cluster: fmt.Sprintf("k-%02d", i), Value: "p"}] = n
	}
	x := partsWorld(t, sizes)
	for _, tt := range []struct {
		name     string
		limit    int
		parts    int
		after    *index.Position
		field    []string
		requests int
		why      string
	}{
		{"all end on their first page", 500, 12, nil, nil, 1, "what came back is counted"},
		{"most go on", 6, 12, nil, nil, 4, "three requests count all parts together"},
		{"most go on, by a label", 6, 12, nil, []string{"metadata", "labels", "policy"}, 4, "three requests count all parts together"},
		{"most go on, by a field", 6, 12, nil, []string{"spec", "policy"}, 4, "three requests count all parts together"},
		{"three go on", 60, 12, nil, nil, 4, "one by one is not more"},
		{"later pages", 500, 12, &index.Position{Name: "zzz"}, nil, 5, "what is before a page is not on it; an empty part is counted separately"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := clientOf(t, x)
			parts := make([]index.Part, tt.parts)
			for i := range parts {
				parts[i].Cluster = fmt.Sprintf("k-%02d", i)
				if tt.field != nil {
					parts[i].Value = "p"
				}
			}
			ctx, recorder := requeststats.With(t.Context())
			q := index.ListQuery{Types: []index.Type{index.Deployments}, Order: index.Order{Field: index.OrderByName}, Limit: tt.limit, WithCount: true, After: tt.after, PartField: tt.field}
			pages, err := c.ListParts(ctx, q, parts)
			if err != nil {
				t.Fatal(err)
			}
			for part, page := range pages {
				if want := sizes[index.Part{Cluster: part.Cluster, Value: "p"}]; page.Count == nil || int(*page.Count) != want {
					t.Errorf("%s: counted %v, want %d", part.Cluster, page.Count, want)
				}
			}
			if got := recorder.Requests(requeststats.Index); got != tt.requests {
				t.Errorf("it cost %d requests, want %d: %s", got, tt.requests, tt.why)
			}
		})
	}
}

// Parts that change while they are counted are counted again, and no other part is.
func TestPartCountsWhileObjectsComeAndGo(t *testing.T) {
	sizes := map[index.Part]int{}
	for i, n := range []int{10, 31, 40, 100, 63} {
		sizes[index.Part{Cluster: fmt.Sprintf("k-%d", i), Value: "p"}] = n
	}
	for _, tt := range []struct {
		name   string
		change func(x *indextest.Index, request int)
		// least and most bound the error of a part's size.
		least, most map[string]int
		again       int
		why         string
	}{
		{"nothing changes", func(*indextest.Index, int) {}, nil, nil, 0, "three answers fit each other"},
		{
			"one part grows", func(x *indextest.Index, n int) { x.Put(partRow(index.Part{Cluster: "k-2", Value: "p"}, 1000+n)) },
			nil, map[string]int{"k-2": 5}, 1, "one part is counted again, separately",
		},
		{
			"one part shrinks below what its first rows show", func(x *indextest.Index, n int) { x.Delete(partRow(index.Part{Cluster: "k-1", Value: "p"}, n)) },
			map[string]int{"k-1": -5}, nil, 1, "one part is counted again, separately",
		},
		{
			"two parts change", func(x *indextest.Index, n int) {
				x.Put(partRow(index.Part{Cluster: "k-3", Value: "p"}, 1000+n))
				x.Delete(partRow(index.Part{Cluster: "k-4", Value: "p"}, 20+n))
			},
			map[string]int{"k-4": -6}, map[string]int{"k-3": 6}, 2, "each is counted again, separately",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// The three lists are read beside each other. Where all three are answered
			// after all changes, they fit each other, and nothing is counted again.
			const tries = 50
			for try := range tries {
				number := countWhile(t, sizes, tt.change, tt.least, tt.most)
				switch {
				case number == 4+tt.again:
					return
				case number < 4 || number > 4+tt.again || try == tries-1:
					t.Fatalf("it cost %d requests, want %d: %s", number, 4+tt.again, tt.why)
				}
			}
		})
	}
}

// countWhile counts parts while each request changes them, and returns how many
// requests that took.
func countWhile(t *testing.T, sizes map[index.Part]int, change func(*indextest.Index, int), least, most map[string]int) int {
	t.Helper()
	x := partsWorld(t, sizes)
	c := clientOf(t, x)
	ping(t, c)
	var mu sync.Mutex
	number := 0
	x.Before(func(url.Values) {
		mu.Lock()
		defer mu.Unlock()
		number++
		change(x, number)
	})
	var parts []index.Part
	for part := range sizes {
		parts = append(parts, index.Part{Cluster: part.Cluster})
	}
	pages, err := c.ListParts(t.Context(), index.ListQuery{Types: []index.Type{index.Deployments}, Limit: 3, WithCount: true}, parts)
	if err != nil {
		t.Fatal(err)
	}
	for part, size := range maps.All(sizes) {
		got := int(*pages[index.Part{Cluster: part.Cluster}].Count)
		if got < size+least[part.Cluster] || got > size+most[part.Cluster] {
			t.Errorf("%s: counted %d of %d", part.Cluster, got, size)
		}
	}
	return number
}
