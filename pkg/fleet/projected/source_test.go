package projected

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
	"github.com/kairship-io/kairship/pkg/upstream"
)

// objects are what the index has.
type objects struct {
	Index
	has    map[index.Key]*index.Object
	listed int
}

func (o *objects) List(context.Context, index.ListQuery) (*index.Page, error) {
	o.listed++
	return &index.Page{}, nil
}

func (o *objects) GetMany(_ context.Context, keys []index.Key, _ index.Detail) (map[index.Key]*index.Object, error) {
	found := map[index.Key]*index.Object{}
	for _, key := range keys {
		if has := o.has[key]; has != nil {
			found[key] = has
		}
	}
	return found, nil
}

// world is an index with a projection of the deployments a to e of alpha, of which b, c
// and d are degraded.
type world struct {
	*Source
	index   *projectiontest.Database
	objects *objects
	writes  *projection.DB
}

func row(name, health string) projection.Workload {
	return projection.Workload{
		WorkloadKey: projection.WorkloadKey{Instance: "alpha", Namespace: "shop", Name: name, Kind: "DEPLOYMENT"}, Health: health, CreatedAt: 1000,
		Labels: map[string]string{}, LabelKV: []string{"permanent=" + name}, Clusters: []string{}, Scheduled: []string{}, Images: []string{},
		Placements: []projection.Placement{}, PolicyNamespace: "shop", PolicyName: "of-" + name, Projection: projection.Version,
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{index: projectiontest.SQLite(t), objects: &objects{has: map[index.Key]*index.Object{}}}
	var err error
	if w.writes, err = projection.Open(w.index.DSN); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.writes.Close() })
	w.Source = &Source{Index: w.objects, Projection: w.writes, Timeout: time.Minute, Now: time.Now}
	return w
}

// built is a world whose projection is complete.
func built(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	all := []projection.Workload{row("a", "HEALTHY"), row("b", "DEGRADED"), row("c", "DEGRADED"), row("d", "DEGRADED"), row("e", "HEALTHY")}
	for i := range all {
		key := keyOf(&all[i].WorkloadKey)
		w.objects.has[key] = &index.Object{Cluster: key.Cluster, Kind: key.Type.Kind}
		w.objects.has[key].Meta.Namespace, w.objects.has[key].Meta.Name = key.Namespace, key.Name
	}
	w.do(t, w.writes.Install(t.Context()))
	w.do(t, w.writes.Rebuild(t.Context()))
	w.round(t, &projection.Writes{Workloads: all, Complete: true})
	return w
}

func (w *world) do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) round(t *testing.T, writes *projection.Writes) {
	t.Helper()
	w.do(t, w.writes.Round(t.Context(), func(s *projection.Snapshot) (*projection.Writes, error) {
		pending, err := s.Pending(100)
		for _, c := range pending {
			writes.Done = append(writes.Done, c.ID)
		}
		return writes, err
	}))
}

func degraded(limit int) index.ListQuery {
	return index.ListQuery{
		Projected: true, Types: []index.Type{index.Deployments}, Clusters: []string{"k-alpha"}, Health: []string{"DEGRADED"}, Limit: limit, WithCount: true,
	}
}

func namesOf(page *index.Page) string {
	names := make([]string, len(page.Items))
	for i, o := range page.Items {
		names[i] = o.Meta.Name
	}
	return strings.Join(names, " ")
}

func TestList(t *testing.T) {
	w := built(t)
	ctx, used := upstream.With(t.Context())
	first, err := w.List(ctx, degraded(2))
	w.do(t, err)
	if namesOf(first) != "b c" || !first.HasNext || *first.Count != 3 || first.End == nil || first.End.Name != "c" {
		t.Errorf("the first page is %s, %+v", namesOf(first), first)
	}
	if n := used.Uses()[0].Requests; n != 1 {
		t.Errorf("%d statements were sent, want 1", n)
	}
	next := degraded(2)
	next.After = first.End
	last, err := w.List(ctx, next)
	w.do(t, err)
	if namesOf(last) != "d" || last.HasNext || *last.Count != 3 {
		t.Errorf("the last page is %s, %+v", namesOf(last), last)
	}
}

// TestListOfWhatIsGone: an object that was deleted after the projection was read is left
// out, and the list goes on after it.
func TestListOfWhatIsGone(t *testing.T) {
	w := built(t)
	gone := row("c", "DEGRADED")
	delete(w.objects.has, keyOf(&gone.WorkloadKey))
	page, err := w.List(t.Context(), degraded(2))
	w.do(t, err)
	if namesOf(page) != "b" || !page.HasNext || page.End.Name != "c" {
		t.Errorf("the page is %s, %+v", namesOf(page), page)
	}
}

// TestStates: the states of workloads are read with one statement; what has no row has
// none, nor has anything while the rows are computed.
func TestStates(t *testing.T) {
	w := built(t)
	keys := []index.Key{}
	for _, name := range []string{"b", "a", "none"} {
		of := row(name, "")
		keys = append(keys, keyOf(&of.WorkloadKey))
	}
	pod := index.Key{Cluster: "k-alpha", Type: index.Pods, Namespace: "shop", Name: "a"}
	ctx, used := upstream.With(t.Context())
	found, err := w.States(ctx, append(keys, pod))
	w.do(t, err)
	if len(found) != 2 || found[keys[0]].Health != "DEGRADED" || found[keys[1]].Health != "HEALTHY" {
		t.Errorf("got %+v", found)
	}
	if at := found[keys[0]].AsOf; at.IsZero() || !at.Equal(found[keys[1]].AsOf) || at.After(time.Now()) {
		t.Errorf("they are as of %s and %s", at, found[keys[1]].AsOf)
	}
	if n := used.Uses()[0].Requests; n != 1 {
		t.Errorf("%d statements were sent, want 1", n)
	}
	w.do(t, w.writes.Rebuild(t.Context()))
	if found, err := w.States(t.Context(), keys); err != nil || len(found) != 0 {
		t.Errorf("while the rows are computed: got %+v, %v", found, err)
	}
	w.do(t, w.writes.Close())
	if found, err := w.States(t.Context(), keys); !apierror.Is(err, apierror.CodeIndexUnavailable) {
		t.Errorf("without an answer: got %+v, %v", found, err)
	}
	w.Projection = nil
	if found, err := w.States(t.Context(), keys); err != nil || len(found) != 0 {
		t.Errorf("without a projection: got %+v, %v", found, err)
	}
}

// TestListCounts: the facets of a list are those of the workloads that the list selects.
func TestListCounts(t *testing.T) {
	w := built(t)
	ctx, used := upstream.With(t.Context())
	q := degraded(1)
	q.Facets, q.FacetValues = []projection.FacetField{projection.FacetHealth, projection.FacetLabel}, 2
	page, err := w.List(ctx, q)
	w.do(t, err)
	want := []projection.Facet{
		{Field: projection.FacetHealth, Values: []projection.FacetValue{{Value: "DEGRADED", Count: 3}}, TotalValues: 1},
		{Field: projection.FacetLabel, Values: []projection.FacetValue{{Value: "permanent=b", Count: 1}, {Value: "permanent=c", Count: 1}}, TotalValues: 3},
	}
	if diff := cmp.Diff(want, page.Facets); diff != "" || page.AsOf.IsZero() {
		t.Errorf("as of %s (-want +got):\n%s", page.AsOf, diff)
	}
	if n := used.Uses()[0].Requests; n != 1 {
		t.Errorf("%d statements were sent, want 1", n)
	}
}

func TestListNarrows(t *testing.T) {
	annotation := func(key, value string) index.FieldEquals {
		return index.FieldEquals{Path: []string{"metadata", "annotations", key}, Value: value}
	}
	w := built(t)
	for _, tt := range []struct {
		name   string
		change func(*index.ListQuery)
		want   string
	}{
		{"nothing", func(*index.ListQuery) {}, "b c d"},
		{"a scope", func(q *index.ListQuery) {
			q.Clusters, q.Scopes = nil, []index.Scope{{Cluster: "k-alpha", Namespaces: []string{"shop"}}}
		}, "b c d"},
		{"every namespace", func(q *index.ListQuery) {
			q.Clusters, q.Scopes = nil, []index.Scope{{Cluster: "k-alpha", EveryNamespace: true}}
		}, "b c d"},
		{"another scope", func(q *index.ListQuery) {
			q.Clusters, q.Scopes = nil, []index.Scope{{Cluster: "k-alpha", Namespaces: []string{"ops"}}}
		}, ""},
		{"no cluster", func(q *index.ListQuery) { q.Clusters = nil }, ""},
		{"another kind", func(q *index.ListQuery) { q.Types = []index.Type{index.Jobs} }, ""},
		{"a policy", func(q *index.ListQuery) {
			q.Fields = []index.FieldEquals{annotation(policyv1alpha1.PropagationPolicyNamespaceAnnotation, "shop"), annotation(policyv1alpha1.PropagationPolicyNameAnnotation, "of-c")}
		}, "c"},
		{"a cluster policy", func(q *index.ListQuery) {
			q.Fields = []index.FieldEquals{annotation(policyv1alpha1.ClusterPropagationPolicyAnnotation, "of-c")}
		}, ""},
		{"a label", func(q *index.ListQuery) {
			q.Fields = []index.FieldEquals{{Path: []string{"metadata", "labels", "permanent"}, Value: "d"}}
		}, "d"},
	} {
		q := degraded(50)
		tt.change(&q)
		page, err := w.List(t.Context(), q)
		if err != nil || namesOf(page) != tt.want {
			t.Errorf("%s: got %+v, %v; want %q", tt.name, page, err, tt.want)
		}
	}
}

// TestListRefuses: what cannot be answered is refused, and not answered with too much.
func TestListRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*index.ListQuery)
	}{
		{"a field that the projection does not have", func(q *index.ListQuery) {
			q.Fields = []index.FieldEquals{{Path: []string{"spec", "replicas"}, Value: "1"}}
		}},
		{"another annotation", func(q *index.ListQuery) {
			q.Fields = []index.FieldEquals{{Path: []string{"metadata", "annotations", "x"}, Value: "1"}}
		}},
		{"what is no workload", func(q *index.ListQuery) { q.Types = []index.Type{index.Pods} }},
		{"a place of what is no workload", func(q *index.ListQuery) { q.After = &index.Position{Kind: "Pod"} }},
	} {
		q := degraded(50)
		tt.change(&q)
		if page, err := built(t).List(t.Context(), q); err == nil {
			t.Errorf("%s: got %+v, want an error", tt.name, page)
		}
	}
}

func TestListSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(*testing.T) *world
		want string
	}{
		{"no database", func(t *testing.T) *world {
			w := built(t)
			w.Projection = nil
			return w
		}, "--index-database-file"},
		{"no tables", newWorld, "try again in a minute"},
		{"no answer", func(t *testing.T) *world {
			w := built(t)
			w.do(t, w.writes.Close())
			return w
		}, "does not answer"},
	} {
		page, err := tt.make(t).List(t.Context(), degraded(50))
		if !apierror.Is(err, apierror.CodeIndexUnavailable) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %+v, %v; want INDEX_UNAVAILABLE with %q", tt.name, page, err, tt.want)
		}
	}
}

// TestOthersPassBy: any other list is the index's.
func TestOthersPassBy(t *testing.T) {
	w := built(t)
	if _, err := w.List(t.Context(), index.ListQuery{Types: []index.Type{index.Pods}}); err != nil || w.objects.listed != 1 {
		t.Errorf("the index was asked %d times (%v), want once", w.objects.listed, err)
	}
}

// TestCurrent: a list that has to be current waits until the projection has what the
// index had, and says so when that takes too long.
func TestCurrent(t *testing.T) {
	w := built(t)
	w.index.Save(t, projectiontest.Object{Cluster: "k-alpha", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "f", UID: "u", ResourceVersion: "1", Text: "{}"})
	q := degraded(50)
	page, err := w.List(t.Context(), q)
	if err != nil || !page.AsOf.Before(time.Now()) {
		t.Fatalf("a list that may be late: got %+v, %v", page, err)
	}
	clock, asked := time.Now(), 0
	w.Now = func() time.Time { // A second goes by whenever somebody looks.
		clock = clock.Add(time.Second)
		return clock
	}
	q.Current = true
	if page, err := w.List(t.Context(), q); !apierror.Is(err, apierror.CodeIndexUnavailable) || !strings.Contains(err.Error(), "behind your change") {
		t.Errorf("the projection is late: got %+v, %v", page, err)
	}
	clock = time.Now()
	w.Now = func() time.Time {
		asked++
		if asked == 3 { // At the end of the first attempt.
			w.round(t, &projection.Writes{Workloads: []projection.Workload{row("f", "DEGRADED")}})
		}
		return clock
	}
	added := row("f", "DEGRADED")
	w.objects.has[keyOf(&added.WorkloadKey)] = &index.Object{Cluster: "k-alpha", Kind: "Deployment"}
	page, err = w.List(t.Context(), q)
	w.do(t, err)
	if diff := cmp.Diff(int64(4), *page.Count); diff != "" || len(page.Items) != 4 {
		t.Errorf("the projection has caught up: got %s (-want +got):\n%s", namesOf(page), diff)
	}
}
