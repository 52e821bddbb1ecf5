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
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// rows are workloads of two instances that differ in everything that a Query names.
func rows() []projection.Workload {
	var all []projection.Workload
	names := []string{"web", "web-2", "api", "Üben", "a_b", "a%b"}
	for i := range 36 {
		w := projection.Workload{
			WorkloadKey: projection.WorkloadKey{
				Instance: []string{"alpha", "beta"}[i%2], Namespace: []string{"shop", "shop2", "other"}[i%3],
				Name: fmt.Sprintf("%s-%d", names[i%len(names)], i/6), Kind: []string{"DEPLOYMENT", "JOB", "CRON_JOB", "STATEFUL_SET"}[i%4],
			},
			WorkloadState: projection.WorkloadState{
				Health: []string{"HEALTHY", "DEGRADED", "PROGRESSING"}[i%3], UID: fmt.Sprintf("uid-%d", i), ResourceVersion: strconv.Itoa(i), CreatedAt: int64(1000 + i/4), LabelKV: []string{fmt.Sprintf("app=app%d", i%5)}, Clusters: []string{}, Scheduled: [][]string{{}, {"m1"}, {"m1", "m2"}}[i%3], Projection: projection.Version, Drifted: i%7 == 0,
			},
			WorkloadDoc: projection.WorkloadDoc{
				Labels: map[string]string{"app": fmt.Sprintf("app%d", i%5)}, Images: []string{}, Placements: []projection.Placement{}, Ready: int32(i % 3),
			},
			WorkloadSearch: projection.WorkloadSearch{
				ImageKeys: []string{"image", fmt.Sprintf("image:%d", i%4)}, Search: fmt.Sprintf("word%d über%% o'clock", i%4),
			},
			WorkloadObject: projection.WorkloadObject{
				Object: json.RawMessage("{}"),
			},
		}
		if i%4 == 0 {
			w.Labels["tier"], w.LabelKV = "", append(w.LabelKV, "tier=")
		}
		if i%5 == 0 {
			w.PolicyNamespace, w.PolicyName = "shop", "policy"
		}
		all = append(all, w)
	}
	return all
}

// filled is a complete projection with rows.
func filled(t testing.TB, index *projectiontest.Database, all []projection.Workload) *projection.DB {
	t.Helper()
	db := open(t, index.DSN)
	install(t, db)
	if err := db.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := db.Round(t.Context(), func(*projection.Snapshot) (*projection.Writes, error) {
		return &projection.Writes{Workloads: all, Complete: true}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var everywhere = []string{"alpha", "beta"}

func TestSelect(t *testing.T) {
	type row = *projection.Workload
	has := func(list []string, values ...string) bool {
		return slices.ContainsFunc(list, func(v string) bool { return slices.Contains(values, v) })
	}
	tests := []struct {
		name  string
		query projection.Query
		match func(row) bool
	}{
		{"everything", projection.Query{Instances: everywhere}, func(row) bool { return true }},
		{"nowhere", projection.Query{Health: []string{"HEALTHY"}}, func(row) bool { return false }},
		{"an instance", projection.Query{Instances: []string{"beta"}}, func(w row) bool { return w.Instance == "beta" }},
		{"a scope", projection.Query{Scopes: []projection.Scope{{"alpha", []string{"shop"}}}}, func(w row) bool { return w.Instance == "alpha" && w.Namespace == "shop" }},
		{"a scope of nothing", projection.Query{Scopes: []projection.Scope{{"alpha", nil}}}, func(row) bool { return false }},
		{
			"an instance and a scope",
			projection.Query{Instances: []string{"beta"}, Scopes: []projection.Scope{{"alpha", []string{"shop", "other"}}}, Namespaces: []string{"shop", "shop2"}},
			func(w row) bool {
				return (w.Instance == "beta" || w.Namespace == "shop" || w.Namespace == "other") && w.Namespace != "other"
			},
		},
		{"health", projection.Query{Instances: everywhere, Health: []string{"DEGRADED", "PROGRESSING"}}, func(w row) bool { return w.Health != "HEALTHY" }},
		{"kinds", projection.Query{Instances: everywhere, Kinds: []string{"JOB"}}, func(w row) bool { return w.Kind == "JOB" }},
		{"a namespace", projection.Query{Instances: everywhere, Namespaces: []string{"shop"}}, func(w row) bool { return w.Namespace == "shop" }},
		{
			"some namespaces", projection.Query{Instances: everywhere, Namespaces: []string{"shop2", "nowhere", "shop"}},
			func(w row) bool { return w.Namespace != "other" },
		},
		{"names", projection.Query{Instances: everywhere, Names: []string{"web-0", "a%b-1"}}, func(w row) bool { return w.Name == "web-0" || w.Name == "a%b-1" }},
		{"a part of names", projection.Query{Instances: everywhere, NameContains: "b-"}, func(w row) bool { return strings.Contains(w.Name, "b-") }},
		{"a part of names is no pattern", projection.Query{Instances: everywhere, NameContains: "a%"}, func(w row) bool { return strings.Contains(w.Name, "a%") }},
		{"scheduled to one", projection.Query{Instances: everywhere, ScheduledTo: []string{"m2", "m9"}}, func(w row) bool { return has(w.Scheduled, "m2") }},
		{"drifted", projection.Query{Instances: everywhere, Drifted: new(true)}, func(w row) bool { return w.Drifted }},
		{"not drifted", projection.Query{Scopes: []projection.Scope{{"alpha", []string{"shop"}}}, Drifted: new(false)}, func(w row) bool {
			return w.Instance == "alpha" && w.Namespace == "shop" && !w.Drifted
		}},
		{"an image", projection.Query{Instances: everywhere, Images: []string{"image:1", "image:2", "ima"}}, func(w row) bool { return has(w.ImageKeys, "image:1", "image:2") }},
		{"words", projection.Query{Instances: everywhere, Words: []string{"word1", "o'c"}}, func(w row) bool { return strings.HasPrefix(w.Search, "word1") }},
		{"a word is no pattern", projection.Query{Instances: everywhere, Words: []string{"word%"}}, func(row) bool { return false }},
		{"a word with letters of its own", projection.Query{Instances: everywhere, Words: []string{"über%"}}, func(row) bool { return true }},
		{
			"images and words", projection.Query{Instances: everywhere, Images: []string{"image:1"}, Words: []string{"word2"}},
			func(row) bool { return false },
		},
		{"a label", projection.Query{Instances: everywhere, Labels: []string{"app=app1"}}, func(w row) bool { return w.Labels["app"] == "app1" }},
		{"a policy", projection.Query{Instances: everywhere, Policy: &projection.Policy{Namespace: "shop", Name: "policy"}}, func(w row) bool { return w.PolicyName != "" }},
		{"a cluster policy", projection.Query{Instances: everywhere, Policy: &projection.Policy{Name: "policy"}}, func(row) bool { return false }},
		{
			"all together",
			projection.Query{Instances: everywhere, Namespaces: []string{"shop2"}, Health: []string{"DEGRADED"}, ScheduledTo: []string{"m1"}, Kinds: []string{"JOB", "DEPLOYMENT"}},
			func(w row) bool { return w.Namespace == "shop2" && (w.Kind == "JOB" || w.Kind == "DEPLOYMENT") },
		},
	}
	for _, text := range []string{"app=app1", "app!=app1", "app in (app1, app2)", "app notin (app1, app2)", "tier", "!tier", "tier=", "tier!=", "ier", "app=app1,!tier", "missing notin (a)"} {
		s := selector(t, text)
		tests = append(tests, struct {
			name  string
			query projection.Query
			match func(row) bool
		}{"selector " + text, projection.Query{Instances: everywhere, Selector: s}, func(w row) bool { return s.Matches(labels.Set(w.Labels)) }})
	}
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		all := rows()
		db := filled(t, index, all)
		for _, tt := range tests {
			confined := tt.query
			confined.Confined = true
			for _, order := range []projection.Order{{}, {Desc: true}, {Field: projection.ByName}, {Field: projection.ByCreation, Desc: true}, {Field: projection.ByHealth, Desc: true}, {Field: projection.ByReady}} {
				var want []projection.Position
				for i := range all {
					if tt.match(&all[i]) {
						want = append(want, place(&all[i]))
					}
				}
				slices.SortFunc(want, func(a, b projection.Position) int { return compare(order, &a, &b) })
				if diff := gocmp.Diff(want, walk(t, db, tt.query, order, int64(len(want)))); diff != "" {
					t.Errorf("%s in order %+v (-want +got):\n%s", tt.name, order, diff)
				}
				if diff := gocmp.Diff(want, walk(t, db, confined, order, int64(len(want)))); diff != "" {
					t.Errorf("%s, confined, in order %+v (-want +got):\n%s", tt.name, order, diff)
				}
				if !slices.Equal(tt.query.Instances, everywhere) {
					continue // What is read of parts is in them, whatever else the query would reach.
				}
				for at, part := range parts {
					inPart := slices.DeleteFunc(slices.Clone(all), func(w projection.Workload) bool { return !tt.match(&w) || !part.match(&w) })
					checkPart(t, db, &tt.query, order, at, inPart)
				}
			}
		}
	})
}

func place(w *projection.Workload) projection.Position {
	return projection.Position{WorkloadKey: w.WorkloadKey, CreatedAt: w.CreatedAt, Severity: projection.Severity(w.Health), Ready: w.Ready}
}

// walk reads a list to its end, in pages of five, and counts it with every other page.
func walk(t *testing.T, db *projection.DB, q projection.Query, order projection.Order, count int64) []projection.Position {
	t.Helper()
	q.Order, q.Limit, q.Show.States = order, 5, true
	var all []projection.Position
	for i := range 20 {
		q.WithCount = i%2 == 0
		page, err := db.Select(t.Context(), &q)
		if err != nil {
			t.Fatal(err)
		}
		if (page.Count != nil) != q.WithCount || q.WithCount && *page.Count != count {
			t.Errorf("the page after %v counts %v, want %d", q.After, page.Count, count)
		}
		for i := range page.Items {
			all = append(all, page.Items[i].Position)
		}
		if !page.HasNext {
			return all
		}
		q.After = &page.Items[len(page.Items)-1].Position
	}
	t.Fatal("the list has no end")
	return nil
}

func compare(o projection.Order, a, b *projection.Position) int {
	namespace, name := cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)
	rest := cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Kind, b.Kind))
	c := cmp.Or(namespace, name, rest)
	switch o.Field {
	case projection.ByName:
		c = cmp.Or(name, namespace, rest)
	case projection.ByCreation:
		c = cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), c)
	case projection.ByHealth:
		c = cmp.Or(cmp.Compare(a.Severity, b.Severity), c)
	case projection.ByReady:
		c = cmp.Or(cmp.Compare(a.Ready, b.Ready), c)
	case projection.ByNamespace, projection.ByRelevance:
	}
	if o.Desc {
		return -c
	}
	return c
}

// TestSelectWithoutCount: counting costs, and is done only when it is asked for.
func TestSelectWithoutCount(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := filled(t, index, rows())
		if page, err := db.Select(t.Context(), &projection.Query{Instances: everywhere, Limit: 3}); err != nil || page.Count != nil || len(page.Items) != 3 {
			t.Errorf("got %+v, %v; want three workloads and no count", page, err)
		}
	})
}

// TestSelectWithoutStates: what is not shown is not read.
func TestSelectWithoutStates(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := filled(t, index, rows())
		for _, show := range []projection.Show{{}, {States: true}, {Objects: true}, {States: true, Objects: true}} {
			page, err := db.Select(t.Context(), &projection.Query{Instances: everywhere, Limit: 3, Show: show})
			if err != nil || len(page.Items) != 3 {
				t.Fatalf("%+v: got %+v, %v", show, page, err)
			}
			for _, item := range page.Items {
				if (item.State != nil) != show.States || (item.Object != nil) != show.Objects || item.Name == "" || item.CreatedAt == 0 {
					t.Errorf("%+v: got %+v", show, item)
				}
			}
		}
	})
}

// TestSelectIdentities: labels and versions are read without states and templates, in each order and with parts.
func TestSelectIdentities(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		all := rows()
		db := filled(t, index, all)
		check := func(name string, items []projection.Item, show projection.Show) {
			t.Helper()
			if len(items) == 0 {
				t.Fatalf("%s: no items", name)
			}
			for _, item := range items {
				of := all[slices.IndexFunc(all, func(w projection.Workload) bool { return w.WorkloadKey == item.WorkloadKey })]
				want := &projection.Identity{UID: of.UID, ResourceVersion: of.ResourceVersion, Labels: map[string]string{}}
				for _, pair := range of.LabelKV {
					key, value, _ := strings.Cut(pair, "=")
					want.Labels[key] = value
				}
				if diff := gocmp.Diff(want, item.Identity); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", name, item.Name, diff)
				}
				if custom := strings.Contains(item.Kind, "."); (item.State != nil) != show.States || (item.Object != nil) != (show.Objects && custom) {
					t.Errorf("%s: got %+v", name, item)
				}
			}
		}
		for _, show := range []projection.Show{{Identities: true}, {Identities: true, States: true}, {Identities: true, Objects: true}} {
			for field := projection.ByNamespace; field <= projection.ByRelevance; field++ {
				for _, confined := range []bool{false, true} {
					page, err := db.Select(t.Context(), &projection.Query{Instances: everywhere, Limit: 100, Order: projection.Order{Field: field}, Relevant: "a", Confined: confined, Show: show})
					if err != nil {
						t.Fatal(err)
					}
					check(fmt.Sprintf("order %d, confined %t, %+v", field, confined, show), page.Items, show)
				}
			}
			parts, _, err := db.SelectParts(t.Context(), &projection.Query{Limit: 100, Show: show}, []projection.Part{{Instance: everywhere[0]}})
			if err != nil {
				t.Fatal(err)
			}
			check("parts", parts[0].Items, show)
			found, err := db.Find(t.Context(), []projection.WorkloadKey{all[0].WorkloadKey}, show)
			if err != nil {
				t.Fatal(err)
			}
			check("find", found.Items, show)
		}
	})
}

func TestPageOfSQLiteIsReadInItsOrder(t *testing.T) {
	db := filled(t, projectiontest.SQLite(t), nil)
	for field := projection.ByNamespace; field <= projection.ByReady; field++ {
		for _, desc := range []bool{false, true} {
			for _, after := range []*projection.Position{nil, {WorkloadKey: projection.WorkloadKey{Namespace: "n"}}} {
				q := &projection.Query{Instances: everywhere, Limit: 50, Order: projection.Order{Field: field, Desc: desc}, After: after, Show: projection.Show{States: true}}
				plan, err := projection.PlanOfPage(t.Context(), db, q)
				rows, _, _ := strings.Cut(plan, "SEARCH m ") // What follows is done with the rows of the page.
				if err != nil || !strings.Contains(rows, "w USING INDEX kairship_workload_by_") || strings.Contains(rows, "USE TEMP B-TREE") {
					t.Errorf("order %d, desc %t, after %v: everything is read and sorted: %v\n%s", field, desc, after, err, plan)
				}
			}
		}
	}
}

func TestPageOfPodsOfSQLiteIsReadInItsOrder(t *testing.T) {
	db := filled(t, projectiontest.SQLite(t), nil)
	for field := projection.PodsByNamespace; field <= projection.PodsByRestarts; field++ {
		for _, desc := range []bool{false, true} {
			q := &projection.PodQuery{Instances: everywhere, Limit: 50, Order: projection.PodOrder{Field: field, Desc: desc}}
			plan, err := projection.PlanOfPodPage(t.Context(), db, q)
			rows, _, _ := strings.Cut(plan, "SEARCH m ")
			if err != nil || !strings.Contains(rows, "w USING INDEX kairship_pod_by_") || strings.Contains(rows, "USE TEMP B-TREE") {
				t.Errorf("order %d, desc %t: everything is read and sorted: %v\n%s", field, desc, err, plan)
			}
		}
	}
}

// TestSelectSaysHowLate: a page says how old the oldest change is that it may lack.
func TestSelectSaysHowLate(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := filled(t, index, rows())
		q := &projection.Query{Instances: everywhere, Limit: 1}
		if page, err := db.Select(t.Context(), q); err != nil || page.Lag() != 0 {
			t.Fatalf("nothing is pending: got %+v, %v", page, err)
		}
		index.Save(t, deployment("late"))
		index.Exec(t, "UPDATE kairship.outbox SET at = at - 7")
		index.Save(t, deployment("later"))
		page, err := db.Select(t.Context(), q)
		if err != nil || page.Lag() < 7*time.Second || page.Lag() > 20*time.Second {
			t.Errorf("a change of 7 s ago is pending: got %+v, %v", page, err)
		}
	})
}

// TestLagIsReadAtTheEndsOfAnIndex: every request says how late the projection is, during a rebuild too.
func TestLagIsReadAtTheEndsOfAnIndex(t *testing.T) {
	const waiting = 20_000
	fill := func(index *projectiontest.Database) {
		index.Exec(t, `INSERT INTO kairship.outbox (cluster, grp, resource, namespace, name, lane) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
			SELECT 'c', 'g', 'r', 'n', CAST(i AS text), i % 3 FROM n`, waiting)
	}
	t.Run("sqlite", func(t *testing.T) {
		index := projectiontest.SQLite(t)
		db := filled(t, index, nil)
		fill(index)
		plan, err := projection.PlanOfLag(t.Context(), db)
		if err != nil || strings.Contains(plan, "SCAN kairship_outbox") || strings.Count(plan, "SEARCH kairship_outbox USING COVERING INDEX kairship_outbox_oldest (lane=?)") != 2 {
			t.Errorf("the outbox is read: %v\n%s", err, plan)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		index := projectiontest.Postgres(t)
		db := filled(t, index, nil)
		fill(index) // The table has not been analyzed.
		text, err := projection.ExplainLag(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		var plan []struct {
			Plan node `json:"Plan"`
		}
		if err := json.Unmarshal(text, &plan); err != nil {
			t.Fatal(err)
		}
		if read := plan[0].Plan.read(); read > 20 {
			t.Errorf("%g rows are read of %d:\n%s", read, waiting, plan[0].Plan.text(""))
		}
	})
}

// TestSelectFromTooLittle: a list that may lack rows is refused instead of shown.
func TestSelectFromTooLittle(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db, q := open(t, index.DSN), &projection.Query{Instances: everywhere, Limit: 1}
		refused := func(why string) {
			t.Helper()
			if page, err := db.Select(t.Context(), q); !errors.Is(err, projection.ErrIncomplete) {
				t.Errorf("%s: got %+v, %v; want %v", why, page, err, projection.ErrIncomplete)
			}
		}
		refused("nobody made the tables")
		install(t, db)
		refused("nothing was computed yet")
		if err := db.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		refused("rows are on their way")
		filled(t, index, nil)
		if _, err := db.Select(t.Context(), q); err != nil {
			t.Errorf("the projection is complete: %v", err)
		}
		index.Exec(t, "UPDATE kairship.meta SET version = 2")
		refused("an earlier release computed it, whose rows mean something else")
	})
}

// TestSelectByMany: a user with roles in very many namespaces, or who names very many
// workloads, is answered too.
func TestSelectByMany(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := filled(t, index, rows())
		q := &projection.Query{Limit: 50}
		for i := range 3000 {
			q.Scopes = append(q.Scopes, projection.Scope{Instance: fmt.Sprintf("instance-%d", i), Namespaces: []string{"shop", "other"}})
		}
		for i := range 70_000 {
			q.Names = append(q.Names, fmt.Sprintf("name-%d", i))
		}
		q.Scopes, q.Names = append(q.Scopes, projection.Scope{Instance: "alpha", Namespaces: []string{"shop"}}), append(q.Names, "web-0")
		if page, err := db.Select(t.Context(), q); err != nil || len(page.Items) != 1 {
			t.Errorf("got %+v, %v; want one workload", page, err)
		}
	})
}

// TestReader: a reader reads, and writes nothing.
func TestReader(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		filled(t, index, rows())
		db, err := projection.OpenReader(func() (string, error) { return index.DSN, nil }, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if page, err := db.Select(t.Context(), &projection.Query{Instances: everywhere, Limit: 2}); err != nil || len(page.Items) != 2 {
			t.Errorf("got %+v, %v; want two workloads", page, err)
		}
		if err := db.Rebuild(t.Context()); err == nil {
			t.Error("a reader can write")
		}
	})
}
