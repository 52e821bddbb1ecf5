package projection_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// podRows are pods that differ in everything that a PodQuery names. The instance alpha has the
// member clusters m1 and m2, beta has m3.
func podRows() []projection.PodRow {
	var all []projection.PodRow
	names := []string{"web", "api", "Über", "a_b", "a%b"}
	for i := range 36 {
		cluster := []string{"m1", "m2", "m3"}[i%3]
		p := projection.PodRow{
			IndexPodKey: projection.IndexPodKey{Cluster: cluster, Namespace: []string{"shop", "other"}[i/3%2], Name: fmt.Sprintf("%s-%d", names[i%len(names)], i/9)},
			Instance:    map[string]string{"m1": "alpha", "m2": "alpha", "m3": "beta"}[cluster],
			UID:         fmt.Sprint("uid-", i), ResourceVersion: fmt.Sprint(i), CreatedAt: int64(1000 + i/4), Restarts: int32(i % 3),
			Phase: []string{"RUNNING", "PENDING", "FAILED", "SUCCEEDED", "UNKNOWN"}[i%5], Ready: i%2 == 0, Node: []string{"", "n1", "n2"}[i%3], PodIP: fmt.Sprint("10.0.0.", i), Message: fmt.Sprint("why ", i%2),
			LabelKV: []string{fmt.Sprintf("app=app%d", i%4)}, Images: []string{fmt.Sprintf("image:%d", i%3), "side"}, ImageKeys: []string{"image", fmt.Sprintf("image:%d", i%3), "side"},
			Search: fmt.Sprintf("word%d über%% o'clock", i%4), Projection: projection.PodVersion,
		}
		if i%4 == 0 {
			p.LabelKV = append(p.LabelKV, "tier=")
		}
		all = append(all, p)
	}
	return all
}

// places are workloads that say which member clusters the namespaces of alpha and beta are sent to.
func places() []projection.Workload {
	all := alike("alpha", "shop", 0, 1)
	all = append(all, alike("beta", "shop", 1, 1)...)
	all = append(all, alike("beta", "other", 2, 2)...)
	all[1].Clusters, all[2].Clusters, all[3].Clusters = []string{"m3", "m1"}, []string{}, []string{"m3"}
	return all
}

// filledPods is a complete projection with rows of pods.
func filledPods(t testing.TB, index *projectiontest.Database, pods []projection.PodRow) *projection.DB {
	t.Helper()
	db := filled(t, index, places())
	for _, c := range []struct{ cluster, instance string }{{"m1", "alpha"}, {"m2", "alpha"}, {"m3", "beta"}} {
		index.Exec(t, "INSERT INTO kairship.collection (cluster, instance) VALUES (?, ?) ON CONFLICT (cluster) DO NOTHING", c.cluster, c.instance)
	}
	index.Exec(t, "DELETE FROM kairship.pod_outbox")
	if err := db.RebuildPods(t.Context()); err != nil {
		t.Fatal(err)
	}
	storePods(t, db, pods, true)
	return db
}

func storePods(t testing.TB, db *projection.DB, pods []projection.PodRow, complete bool) {
	t.Helper()
	err := db.Round(t.Context(), func(*projection.Snapshot) (*projection.Writes, error) {
		return &projection.Writes{Pods: projection.PodWrites{Rows: pods, Complete: complete}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var podOrders = func() (all []projection.PodOrder) {
	for _, field := range []projection.PodOrderField{projection.PodsByNamespace, projection.PodsByName, projection.PodsByCreation, projection.PodsByRestarts} {
		all = append(all, projection.PodOrder{Field: field}, projection.PodOrder{Field: field, Desc: true})
	}
	return all
}()

var podFields = []projection.PodFacetField{
	projection.PodFacetPhase, projection.PodFacetReady, projection.PodFacetInstance, projection.PodFacetCluster, projection.PodFacetNamespace, projection.PodFacetNode,
	projection.PodFacetLabel, projection.PodFacetImage,
}

// TestSelectPods checks every filter, in every order and both directions, in pages of one and two,
// with its count and its facets.
func TestSelectPods(t *testing.T) {
	type row = *projection.PodRow
	yes, no := true, false
	has := func(list []string, values ...string) bool {
		return slices.ContainsFunc(list, func(v string) bool { return slices.Contains(values, v) })
	}
	tests := []struct {
		name  string
		query projection.PodQuery
		match func(row) bool
	}{
		{"everything", projection.PodQuery{Instances: everywhere}, func(row) bool { return true }},
		{"nowhere", projection.PodQuery{Phases: []string{"RUNNING"}}, func(row) bool { return false }},
		{"an instance", projection.PodQuery{Instances: []string{"beta"}}, func(p row) bool { return p.Instance == "beta" }},
		{"a scope", projection.PodQuery{Scopes: []projection.Scope{{"alpha", []string{"shop"}}}}, func(p row) bool { return p.Cluster == "m1" && p.Namespace == "shop" }},
		{"a scope that two workloads are in", projection.PodQuery{Scopes: []projection.Scope{{"beta", []string{"shop", "other", "shop"}}}}, func(p row) bool { return p.Instance == "beta" }},
		{"a scope without workloads", projection.PodQuery{Scopes: []projection.Scope{{"alpha", []string{"other"}}}}, func(row) bool { return false }},
		{"a scope of nothing", projection.PodQuery{Scopes: []projection.Scope{{"alpha", nil}}}, func(row) bool { return false }},
		{
			"an instance and scopes", projection.PodQuery{Instances: []string{"beta"}, Scopes: []projection.Scope{{"alpha", []string{"shop", "other"}}, {"beta", []string{"shop"}}}},
			func(p row) bool { return p.Instance == "beta" || p.Cluster == "m1" && p.Namespace == "shop" },
		},
		{
			"an instance and scopes, searched", projection.PodQuery{Instances: []string{"beta"}, Scopes: []projection.Scope{{"alpha", []string{"shop"}}}, Words: []string{"word1"}},
			func(p row) bool {
				return (p.Instance == "beta" || p.Cluster == "m1" && p.Namespace == "shop") && strings.Contains(p.Search, "word1")
			},
		},
		{"clusters", projection.PodQuery{Instances: everywhere, Clusters: []string{"m2", "m3"}}, func(p row) bool { return p.Cluster != "m1" }},
		{"namespaces", projection.PodQuery{Instances: everywhere, Namespaces: []string{"other"}}, func(p row) bool { return p.Namespace == "other" }},
		{"names", projection.PodQuery{Instances: everywhere, Names: []string{"web-0", "a%b-1"}}, func(p row) bool { return p.Name == "web-0" || p.Name == "a%b-1" }},
		{"nodes", projection.PodQuery{Instances: everywhere, Nodes: []string{"n1"}}, func(p row) bool { return p.Node == "n1" }},
		{"no node", projection.PodQuery{Instances: everywhere, Nodes: []string{""}}, func(p row) bool { return p.Node == "" }},
		{"phases", projection.PodQuery{Instances: everywhere, Phases: []string{"FAILED", "PENDING"}}, func(p row) bool { return p.Phase == "FAILED" || p.Phase == "PENDING" }},
		{"a part of names", projection.PodQuery{Instances: everywhere, NameContains: "a%"}, func(p row) bool { return strings.Contains(p.Name, "a%") }},
		{"ready", projection.PodQuery{Instances: everywhere, Ready: &yes}, func(p row) bool { return p.Ready }},
		{"not ready", projection.PodQuery{Instances: everywhere, Ready: &no}, func(p row) bool { return !p.Ready }},
		{"images", projection.PodQuery{Instances: everywhere, Images: []string{"image:1", "none"}}, func(p row) bool { return has(p.ImageKeys, "image:1") }},
		{"words", projection.PodQuery{Instances: everywhere, Words: []string{"word1", "über%"}}, func(p row) bool { return strings.HasPrefix(p.Search, "word1") }},
		{"a word is no pattern", projection.PodQuery{Instances: everywhere, Words: []string{"word%"}}, func(row) bool { return false }},
		{
			"all together", projection.PodQuery{Instances: everywhere, Clusters: []string{"m1"}, Phases: []string{"RUNNING", "FAILED", "PENDING"}, Images: []string{"image"}, Words: []string{"word"}, Selector: selector(t, "app")},
			func(p row) bool {
				return p.Cluster == "m1" && (p.Phase == "RUNNING" || p.Phase == "FAILED" || p.Phase == "PENDING")
			},
		},
	}
	for _, text := range []string{"app=app1", "app!=app1", "app in (app1, app2)", "app notin (app1, app2)", "tier", "!tier", "tier=", "missing notin (a)"} {
		s := selector(t, text)
		tests = append(tests, struct {
			name  string
			query projection.PodQuery
			match func(row) bool
		}{"selector " + text, projection.PodQuery{Instances: everywhere, Selector: s}, func(p row) bool { return s.Matches(labels.Set(labelsOf(p))) }})
	}
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		all := podRows()
		db := filledPods(t, index, all)
		for _, tt := range tests {
			var matching []projection.PodRow
			for i := range all {
				if tt.match(&all[i]) {
					matching = append(matching, all[i])
				}
			}
			for _, confined := range []bool{false, true} {
				q := tt.query
				q.Confined = confined
				what := fmt.Sprintf("%s, confined %t", tt.name, confined)
				for _, order := range podOrders {
					want := make([]projection.PodItem, 0, len(matching))
					for i := range matching {
						want = append(want, podItem(&matching[i]))
					}
					slices.SortFunc(want, func(a, b projection.PodItem) int { return comparePods(order, &a.PodPosition, &b.PodPosition) })
					for _, size := range []int{1, 2, 50} {
						if size == 1 && confined {
							continue // To be quicker.
						}
						if diff := gocmp.Diff(want, walkPods(t, db, q, order, size, len(want)), cmpopts.EquateEmpty()); diff != "" {
							t.Errorf("%s, in order %+v by %d (-want +got):\n%s", what, order, size, diff)
						}
					}
				}
				counted, err := db.PodFacets(t.Context(), &q, podFields, 3)
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(countPods(matching, 3), counted.Facets, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("facets of %s (-want +got):\n%s", what, diff)
				}
			}
		}
		if _, err := db.PodFacets(t.Context(), &projection.PodQuery{Instances: everywhere}, []projection.PodFacetField{"MOOD"}, 3); err == nil {
			t.Error("pods are counted by something that they do not have")
		}
		if page, err := db.SelectPods(t.Context(), &projection.PodQuery{Instances: everywhere, Limit: 2}); err != nil || page.Count != nil {
			t.Errorf("got %+v, %v; want no count that was not asked for", page, err)
		}
	})
}

func labelsOf(p *projection.PodRow) map[string]string {
	all := map[string]string{}
	for _, kv := range p.LabelKV {
		key, value, _ := strings.Cut(kv, "=")
		all[key] = value
	}
	return all
}

func podItem(p *projection.PodRow) projection.PodItem {
	return projection.PodItem{
		PodPosition: projection.PodPosition{PodKey: projection.PodKey{Instance: p.Instance, Cluster: p.Cluster, Namespace: p.Namespace, Name: p.Name}, CreatedAt: p.CreatedAt, Restarts: p.Restarts},
		UID:         p.UID, ResourceVersion: p.ResourceVersion, Phase: p.Phase, Ready: p.Ready, NodeName: p.Node, PodIP: p.PodIP, Message: p.Message, Labels: labelsOf(p), Images: p.Images,
	}
}

func comparePods(o projection.PodOrder, a, b *projection.PodPosition) int {
	namespace, name := cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)
	rest := cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Cluster, b.Cluster))
	c := cmp.Or(namespace, name, rest)
	switch o.Field {
	case projection.PodsByName:
		c = cmp.Or(name, namespace, rest)
	case projection.PodsByCreation:
		c = cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), c)
	case projection.PodsByRestarts:
		c = cmp.Or(cmp.Compare(a.Restarts, b.Restarts), c)
	case projection.PodsByNamespace, projection.PodsByRelevance:
	}
	if o.Desc {
		return -c
	}
	return c
}

// walkPods reads a list to its end.
func walkPods(t *testing.T, db *projection.DB, q projection.PodQuery, order projection.PodOrder, size, count int) []projection.PodItem {
	t.Helper()
	q.Order, q.Limit, q.WithCount = order, size, true
	var all []projection.PodItem
	for range 50 {
		page, err := db.SelectPods(t.Context(), &q)
		if err != nil {
			t.Fatal(err)
		}
		if page.Count == nil || *page.Count != int64(count) {
			t.Errorf("the page after %v counts %v, want %d", q.After, page.Count, count)
		}
		all = append(all, page.Items...)
		if !page.HasNext {
			return all
		}
		q.After = &page.Items[len(page.Items)-1].PodPosition
	}
	t.Fatal("the list has no end")
	return nil
}

// countPods counts as PodFacets does.
func countPods(all []projection.PodRow, most int) []projection.PodFacet {
	facets := make([]projection.PodFacet, len(podFields))
	for i, field := range podFields {
		counts := map[string]int{}
		for j := range all {
			p := &all[j]
			values := map[projection.PodFacetField][]string{
				projection.PodFacetPhase: {p.Phase}, projection.PodFacetReady: {strconv.FormatBool(p.Ready)}, projection.PodFacetInstance: {p.Instance}, projection.PodFacetCluster: {p.Cluster},
				projection.PodFacetNamespace: {p.Namespace}, projection.PodFacetNode: {p.Node}, projection.PodFacetLabel: p.LabelKV, projection.PodFacetImage: p.Images,
			}[field]
			for _, v := range values {
				counts[v]++
			}
		}
		if field == projection.PodFacetNode {
			delete(counts, "") // Those that are not scheduled.
		}
		f := projection.PodFacet{Field: field, TotalValues: len(counts)}
		for value, n := range counts {
			f.Values = append(f.Values, projection.FacetValue{Value: value, Count: n})
		}
		slices.SortFunc(f.Values, func(a, b projection.FacetValue) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
		})
		f.Values = f.Values[:min(most, len(f.Values))]
		facets[i] = f
	}
	return facets
}

// podChanges are those in the outbox of pods, which is empty afterwards.
func podChanges(t *testing.T, db *projection.DB) []string {
	t.Helper()
	var got []string
	err := db.Round(t.Context(), func(s *projection.Snapshot) (*projection.Writes, error) {
		all, err := s.PendingPods(1000)
		w := &projection.Writes{}
		for _, c := range all {
			got = append(got, strings.Join([]string{c.Cluster, c.Namespace, c.Name}, "/"))
			w.Pods.Done = append(w.Pods.Done, c.ID)
		}
		return w, err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	return got
}

// TestPodTriggers checks that each change of a pod is in the outbox of pods, and so is a cluster that
// another instance has.
func TestPodTriggers(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := open(t, index.DSN)
		install(t, db)
		pod := projectiontest.Object{Cluster: "m1", Version: "v1", Resource: "pods", Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "1", Text: "{}"}
		newer, other, another := pod, pod, pod
		newer.ResourceVersion, other.Group, another.Name = "2", "metrics.k8s.io", "api"
		joined := func(instance string, stale bool) func() {
			return func() {
				if err := db.SetCollections(t.Context(), []projection.Collection{{Cluster: "m1", Instance: instance, Stale: stale}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, step := range []struct {
			reason string
			do     func()
			want   []string
		}{
			{"a pod is collected", func() { index.Save(t, pod) }, []string{"m1/shop/web"}},
			{"it is collected again as it was", func() { index.Save(t, pod) }, nil},
			{"it changed", func() { index.Save(t, newer) }, []string{"m1/shop/web"}},
			{"pods of another group", func() { index.Save(t, other) }, nil},
			{"a workload", func() { index.Save(t, deployment("web")) }, nil},
			{"it is deleted", func() { index.Delete(t, newer) }, []string{"m1/shop/web"}},
			{"its cluster is joined", joined("alpha", false), []string{"m1//"}},
			{"and is not followed", joined("alpha", true), nil},
			{"and is joined to another instance", joined("beta", true), []string{"m1//"}},
			{"the cluster is removed", func() {
				index.Save(t, pod)
				index.Save(t, another)
				podChanges(t, db)
				index.Clean(t, "m1")
			}, []string{"m1/shop/api", "m1/shop/web"}},
		} {
			step.do()
			if got := podChanges(t, db); !slices.Equal(got, step.want) {
				t.Errorf("%s: the outbox has %q, want %q", step.reason, got, step.want)
			}
		}
	})
}

// TestPodsIncomplete checks that pods are read only when all have their rows, and that a trigger that was
// missing concerns either pods or workloads.
func TestPodsIncomplete(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := open(t, index.DSN)
		reads := func(why string, workloads, pods, scoped bool) {
			t.Helper()
			_, err := db.Select(t.Context(), &projection.Query{Instances: everywhere, Limit: 1})
			if workloads != (err == nil) || err != nil && !errors.Is(err, projection.ErrIncomplete) {
				t.Errorf("%s: workloads: got %v; want them read: %t", why, err, workloads)
			}
			for q, want := range map[*projection.PodQuery]bool{
				{Instances: everywhere, Limit: 1}:                                   pods,
				{Scopes: []projection.Scope{{"alpha", []string{"shop"}}}, Limit: 1}: scoped,
			} {
				_, err := db.SelectPods(t.Context(), q)
				_, facetsErr := db.PodFacets(t.Context(), q, podFields, 3)
				if want != (err == nil) || err != nil && !errors.Is(err, projection.ErrIncomplete) || want != (facetsErr == nil) {
					t.Errorf("%s: pods of %+v: got %v, %v; want them read: %t", why, q, err, facetsErr, want)
				}
			}
		}
		on := map[bool]string{true: " ON resources"}[index.Postgres]
		reads("there are no tables", false, false, false)
		db = filledPods(t, index, podRows())
		reads("all is there", true, true, true)
		index.Exec(t, "DROP TRIGGER kairship_pod_updated"+on)
		install(t, db)
		reads("a trigger of pods was missing", true, false, false)
		install(t, db)
		db = filledPods(t, index, podRows())
		reads("pods were built again", true, true, true)
		index.Exec(t, "UPDATE kairship.meta SET pods_version = 99")
		install(t, db)
		reads("a later release built pods", true, false, false)
		db = filledPods(t, index, podRows())
		index.Exec(t, "DROP TRIGGER kairship_updated"+on)
		install(t, db)
		reads("a trigger of workloads was missing", false, true, false)
	})
}

// TestConfinedPodsReadNothingHidden checks that a confined caller's lists of pods read as many rows
// whether or not there are others that match.
func TestConfinedPodsReadNothingHidden(t *testing.T) {
	index := projectiontest.Postgres(t)
	db := filledPods(t, index, nil)
	alike := func(instance, cluster, namespace string, n int) {
		t.Helper()
		all := make([]projection.PodRow, n)
		for i := range all {
			is := []string{"secret", "open"}[i%2]
			all[i] = projection.PodRow{
				IndexPodKey: projection.IndexPodKey{Cluster: cluster, Namespace: namespace, Name: fmt.Sprintf("web-%05d", i)}, Instance: instance, Phase: "RUNNING", Node: is, CreatedAt: 1000,
				LabelKV: []string{"tier=" + is}, Images: []string{is}, ImageKeys: []string{is}, Search: is + " word", Projection: projection.PodVersion,
			}
		}
		storePods(t, db, all, false)
	}
	reaches := map[string]projection.PodQuery{
		"an instance":    {Instances: []string{"alpha"}, Confined: true},
		"a namespace":    {Scopes: []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop"}}}},
		"one of each":    {Instances: []string{"alpha"}, Scopes: []projection.Scope{{Instance: "beta", Namespaces: []string{"shop"}}}, Confined: true},
		"two namespaces": {Scopes: []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop"}}, {Instance: "beta", Namespaces: []string{"shop"}}}},
	}
	filters := map[string]func(*projection.PodQuery){
		"a selector": func(q *projection.PodQuery) { q.Selector = selector(t, "tier in (secret,none)") },
		"a cluster":  func(q *projection.PodQuery) { q.Clusters = []string{"m1", "hidden"} },
		"a node":     func(q *projection.PodQuery) { q.Nodes = []string{"secret"} },
		"a name":     func(q *projection.PodQuery) { q.Names = []string{"web-00001", "web-00002"} },
		"an image":   func(q *projection.PodQuery) { q.Images = []string{"secret"} },
		"words":      func(q *projection.PodQuery) { q.Words = []string{"secret", "word"} },
	}
	measure := func() map[string]*node {
		t.Helper()
		all := map[string]*node{}
		for reach, q := range reaches {
			for filter, narrow := range filters {
				of := q
				narrow(&of)
				of.Limit, of.WithCount = 50, true
				plans, err := projection.ExplainPods(t.Context(), db, &of, []projection.PodFacetField{projection.PodFacetPhase, projection.PodFacetLabel})
				if err != nil {
					t.Fatal(err)
				}
				for statement, text := range plans {
					var plan []struct {
						Plan node `json:"Plan"`
					}
					if err := json.Unmarshal(text, &plan); err != nil {
						t.Fatal(err)
					}
					all[statement+" of "+filter+" in "+reach] = &plan[0].Plan
				}
			}
		}
		return all
	}
	const seen, hidden = 200, 5000
	alike("alpha", "m1", "shop", seen/2)
	alike("beta", "m3", "shop", seen/2)
	index.Exec(t, "VACUUM ANALYZE")
	before := measure()
	// Hidden are pods of other instances, and pods of the namespace where no workload was sent to.
	for i, instance := range []string{"aaa", "zzz"} {
		alike(instance, fmt.Sprint("hidden-", i), "shop", hidden/4)
		alike(instance, fmt.Sprint("hidden-", i), "a-namespace", hidden/4)
	}
	index.Exec(t, "VACUUM ANALYZE")
	is := measure()
	delete(reaches, "an instance")
	delete(reaches, "one of each")
	alike("alpha", "m2", "shop", hidden/2)
	index.Exec(t, "VACUUM ANALYZE")
	scoped := measure()
	for _, after := range []map[string]*node{is, scoped} {
		for what, plan := range after {
			if was, is := before[what].read(), plan.read(); is > 15*seen {
				t.Errorf("%s: %g rows were read of %d, and %g with hidden ones:\n%s\nbefore:\n%s", what, was, seen, is, plan.text(""), before[what].text(""))
			}
		}
	}
	if len(is) != 4*len(filters)*3 || len(scoped) != 2*len(filters)*3 {
		t.Errorf("%d and %d statements were explained", len(is), len(scoped))
	}
}
