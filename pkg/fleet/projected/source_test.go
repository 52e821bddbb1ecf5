package projected

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// objects are what the index has.
type objects struct {
	Index
	has map[index.Key]*index.Object
	// page is what lists have.
	page   []*index.Object
	listed int
}

func (o *objects) List(context.Context, index.ListQuery) (*index.Page, error) {
	o.listed++
	return &index.Page{Items: o.page}, nil
}

func (o *objects) ListParts(_ context.Context, _ index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error) {
	o.listed++
	return map[index.Part]*index.Page{parts[0]: {Items: o.page}}, nil
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
		WorkloadKey: projection.WorkloadKey{Instance: "alpha", Namespace: "shop", Name: name, Kind: "DEPLOYMENT"},
		WorkloadState: projection.WorkloadState{
			Health: health, CreatedAt: 1000, LabelKV: []string{"permanent=" + name}, Clusters: []string{}, Scheduled: []string{"m-" + name}, PolicyNamespace: "shop", PolicyName: "of-" + name, Projection: projection.Version,
		},
		WorkloadDoc: projection.WorkloadDoc{
			Labels: map[string]string{}, Images: []string{}, Ready: int32(name[0]), Placements: []projection.Placement{},
		},
		WorkloadSearch: projection.WorkloadSearch{
			ImageKeys: []string{"image-" + name}, Search: "shop\nname-" + name,
		},
		WorkloadObject: projection.WorkloadObject{
			Object: json.RawMessage(fmt.Sprintf(`{"metadata": {"namespace": "shop", "name": %q, "creationTimestamp": "1970-01-01T00:16:40Z", "labels": {"permanent": %[1]q}}}`, name)),
		},
	}
}

// stored is a deployment of alpha as the index has it.
func stored(name, uid, version string) projectiontest.Object {
	return projectiontest.Object{
		Cluster: "k-alpha", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: name, UID: uid, ResourceVersion: version,
		Text: fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "shop", "name": %q, "uid": %q, "resourceVersion": %q,
			"annotations": {"shadow.clusterpedia.io/cluster-name": "k-alpha", "its": "own"}}, "spec": {"replicas": 3}}`, name, uid, version),
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
		w.index.Save(t, stored(all[i].Name, "uid", "7"))
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
		Projected: &index.Projected{Health: []string{"DEGRADED"}}, Types: []index.Type{index.Deployments}, Clusters: []string{"k-alpha"}, Limit: limit, WithCount: true,
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
	ctx, used := requeststats.With(t.Context())
	first, err := w.List(ctx, degraded(2))
	w.do(t, err)
	if namesOf(first) != "b c" || !first.HasNext || *first.Count != 3 || first.End == nil || first.End.Name != "c" {
		t.Errorf("the first page is %s, %+v", namesOf(first), first)
	}
	if n := used.Uses()[0].Requests; n != 2 {
		t.Errorf("%d statements were sent, want one for the page and one for the whole objects", n)
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
	w.index.Delete(t, stored("c", "uid", "7"))
	page, err := w.List(t.Context(), degraded(2))
	w.do(t, err)
	if namesOf(page) != "b" || !page.HasNext || page.End.Name != "c" {
		t.Errorf("the page is %s, %+v", namesOf(page), page)
	}
}

// of is the key of a deployment of alpha.
func of(name string) index.Key {
	w := row(name, "")
	return keyOf(&w.WorkloadKey)
}

// passingBy are the reasons to ask the index.
var passingBy = map[string]func(*testing.T, *world) context.Context{
	"no projection": func(t *testing.T, w *world) context.Context {
		w.Projection = nil
		return t.Context()
	},
	"the rows are computed": func(t *testing.T, w *world) context.Context {
		w.index.Exec(t, "UPDATE kairship_meta SET state = ?", projection.Needed)
		return t.Context()
	},
	"it is late": func(t *testing.T, w *world) context.Context {
		w.index.Save(t, projectiontest.Object{Cluster: "k-alpha", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "f", UID: "u", ResourceVersion: "1", Text: "{}"})
		w.index.Exec(t, "UPDATE kairship_outbox SET at = at - 60")
		return t.Context()
	},
	"the operation has written": func(t *testing.T, _ *world) context.Context {
		return consistency.With(t.Context(), []consistency.Version{{Instance: "alpha"}})
	},
}

// TestPassedBy: where the projection cannot say what is asked for, the index is asked.
func TestPassedBy(t *testing.T) {
	for reason, pass := range passingBy {
		w := built(t)
		ctx := pass(t, w)
		w.objects.page = []*index.Object{{Cluster: "k-alpha", Kind: "Deployment"}}
		plain := index.ListQuery{Types: []index.Type{index.Deployments}, Clusters: []string{"k-alpha"}, Detail: index.Known, Limit: 50}
		if page, err := w.List(ctx, plain); err != nil || len(page.Items) != 1 || !page.AsOf.IsZero() {
			t.Errorf("%s: a list is %+v, %v", reason, page, err)
		}
		part := index.Part{Cluster: "k-alpha"}
		if pages, err := w.ListParts(ctx, plain, []index.Part{part}); err != nil || len(pages[part].Items) != 1 {
			t.Errorf("%s: a part of a list is %+v, %v", reason, pages, err)
		}
		w.objects.has[of("a")] = &index.Object{Cluster: "k-alpha", Kind: "Deployment"}
		if found, err := w.GetMany(ctx, []index.Key{of("a")}, index.Known); err != nil || found[of("a")] == nil || found[of("a")].State != nil {
			t.Errorf("%s: an object is %+v, %v", reason, found, err)
		}
		if found, err := w.GetMany(ctx, []index.Key{of("a")}, index.Whole); err != nil || found[of("a")].State != nil {
			t.Errorf("%s: a whole object is %+v, %v", reason, found, err)
		}
	}
}

// TestParts: a page of each part is read with one statement.
func TestParts(t *testing.T) {
	w := built(t)
	label := []string{"metadata", "labels", "permanent"}
	for _, tt := range []struct {
		reason string
		change func(*index.ListQuery)
		part   index.Part
		want   string
		count  int64
	}{
		{"all", func(*index.ListQuery) {}, index.Part{Cluster: "k-alpha"}, "a b", 5},
		{"a scope", func(q *index.ListQuery) {
			q.Scopes = []index.Scope{{Cluster: "k-alpha", Namespaces: []string{"shop"}}}
		}, index.Part{Cluster: "k-alpha"}, "a b", 5},
		{"every namespace", func(q *index.ListQuery) { q.Scopes = []index.Scope{{Cluster: "k-alpha", EveryNamespace: true}} }, index.Part{Cluster: "k-alpha"}, "a b", 5},
		{"another scope", func(q *index.ListQuery) {
			q.Scopes = []index.Scope{{Cluster: "k-alpha", Namespaces: []string{"ops"}}}
		}, index.Part{Cluster: "k-alpha"}, "", 0},
		{"a scope of nothing", func(q *index.ListQuery) { q.Scopes = []index.Scope{{Cluster: "k-alpha"}} }, index.Part{Cluster: "k-alpha"}, "", 0},
		{"a label", func(q *index.ListQuery) { q.PartField = label }, index.Part{Cluster: "k-alpha", Value: "d"}, "d", 1},
		{"another instance", func(*index.ListQuery) {}, index.Part{Cluster: "k-beta"}, "", 0},
	} {
		q := index.ListQuery{Types: []index.Type{index.Deployments}, Limit: 2, WithCount: true, Detail: index.Metadata}
		tt.change(&q)
		other := index.Part{Cluster: "k-gamma"}
		ctx, used := requeststats.With(t.Context())
		pages, err := w.ListParts(ctx, q, []index.Part{other, tt.part})
		w.do(t, err)
		page := pages[tt.part]
		if namesOf(page) != tt.want || *page.Count != tt.count || page.HasNext != (tt.count > 2) || page.AsOf.IsZero() || len(pages[other].Items) != 0 {
			t.Errorf("%s: got %s of %d, next %t", tt.reason, namesOf(page), *page.Count, page.HasNext)
		}
		if n := used.Uses()[0].Requests; n != 1 {
			t.Errorf("%s: %d statements were sent, want 1", tt.reason, n)
		}
	}
	if w.objects.listed != 0 {
		t.Errorf("the index was asked %d times", w.objects.listed)
	}
}

// TestProjectedParts checks that concurrent parts of a list that only the projection can make share
// a statement.
func TestProjectedParts(t *testing.T) {
	w := built(t)
	ctx, used := requeststats.With(t.Context())
	part, other := index.Part{Cluster: "k-alpha"}, index.Part{Cluster: "k-beta"}
	q := degraded(2)
	q.Clusters, q.Detail = nil, index.Known
	pages, err := w.ListParts(ctx, q, []index.Part{part, other})
	w.do(t, err)
	if page := pages[part]; namesOf(page) != "b c" || *page.Count != 3 || !page.HasNext || page.Items[0].State.Health != "DEGRADED" || *pages[other].Count != 0 {
		t.Errorf("got %s, %+v, and %+v", namesOf(page), page, pages[other])
	}
	if n := used.Uses()[0].Requests; n != 1 {
		t.Errorf("%d statements were sent, want 1", n)
	}
	w.index.Exec(t, "UPDATE kairship_meta SET state = ?", projection.Needed)
	if pages, err := w.ListParts(t.Context(), q, []index.Part{part}); !apierror.Is(err, apierror.CodeIndexUnavailable) {
		t.Errorf("while it is built: got %+v, %v", pages, err)
	}
}

// TestBriefList: a list of which little is shown says the same of that, and reads no template.
func TestBriefList(t *testing.T) {
	w := built(t)
	q := index.ListQuery{Types: []index.Type{index.Deployments}, Clusters: []string{"k-alpha"}, Detail: index.Metadata, Limit: 3, WithCount: true}
	all, err := w.List(t.Context(), q)
	w.do(t, err)
	w.index.Exec(t, "DELETE FROM kairship_workload_object")
	q.Brief = true
	brief, err := w.List(t.Context(), q)
	w.do(t, err)
	if len(brief.Items) != 3 || *brief.Count != *all.Count || brief.HasNext != all.HasNext || *brief.End != *all.End {
		t.Fatalf("got %+v, want %+v", brief, all)
	}
	for i, o := range brief.Items {
		of := all.Items[i]
		want := metav1.ObjectMeta{
			Namespace: of.Meta.Namespace, Name: of.Meta.Name, UID: of.Meta.UID, ResourceVersion: of.Meta.ResourceVersion, Labels: of.Meta.Labels,
			CreationTimestamp: of.Meta.CreationTimestamp,
		}
		if diff := cmp.Diff(want, o.Meta); diff != "" || len(want.Labels) == 0 || o.Cluster != of.Cluster || o.Kind != of.Kind || o.APIVersion != of.APIVersion || !o.MetadataOnly() {
			t.Errorf("%s differs from what is read at length (-want +got):\n%s", o.Meta.Name, diff)
		}
	}
}

// TestPlainList: any list of workloads of instances is read from the projection, with the states.
func TestPlainList(t *testing.T) {
	w := built(t)
	page, err := w.List(t.Context(), index.ListQuery{Types: []index.Type{index.Deployments}, Clusters: []string{"k-alpha"}, Detail: index.Known, Limit: 2, WithCount: true})
	w.do(t, err)
	if namesOf(page) != "a b" || *page.Count != 5 || !page.HasNext || page.Items[1].State.Health != "DEGRADED" || w.objects.listed != 0 {
		t.Errorf("got %s, %+v", namesOf(page), page)
	}
	for reason, q := range map[string]index.ListQuery{
		"pods":                      {Types: []index.Type{index.Pods}, Clusters: []string{"k-alpha"}},
		"workloads and others":      {Types: []index.Type{index.Deployments, index.Pods}, Clusters: []string{"k-alpha"}},
		"what is in a member":       {Types: []index.Type{index.Deployments}, Clusters: []string{"m1"}},
		"an instance and a member":  {Types: []index.Type{index.Deployments}, Clusters: []string{"k-alpha", "m1"}},
		"a field that it has not":   {Types: []index.Type{index.Deployments}, Clusters: []string{"k-alpha"}, Fields: []index.FieldEquals{{Path: []string{"spec", "x"}}}},
		"a part of a member":        {Types: []index.Type{index.Deployments}, Scopes: []index.Scope{{Cluster: "m1", EveryNamespace: true}}},
		"nothing":                   {Types: []index.Type{index.Deployments}},
		"a version that it has not": {Types: []index.Type{{Group: "apps", Version: "v1beta1", Resource: "deployments", Kind: "Deployment"}}, Clusters: []string{"k-alpha"}},
	} {
		w.objects.listed = 0
		q.Detail, q.Limit = index.Known, 2
		if _, err := w.List(t.Context(), q); err != nil || w.objects.listed != 1 {
			t.Errorf("%s: the index was asked %d times (%v), want once", reason, w.objects.listed, err)
		}
	}
}

// TestListCounts: the facets of a list are those of the workloads that the list selects.
func TestListCounts(t *testing.T) {
	w := built(t)
	ctx, used := requeststats.With(t.Context())
	q := degraded(1)
	q.Projected.Facets, q.Projected.FacetValues = []projection.FacetField{projection.FacetHealth, projection.FacetLabel}, 2
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
		{"any health", func(q *index.ListQuery) { q.Projected.Health = nil }, "a b c d e"},
		{"clusters", func(q *index.ListQuery) { q.Projected.ScheduledTo = []string{"m-b", "m-a"} }, "b"},
		{"drifted", func(q *index.ListQuery) { q.Projected.Drifted = new(true) }, ""},
		{"not drifted", func(q *index.ListQuery) { q.Projected.Drifted = new(false) }, "b c d"},
		{"images", func(q *index.ListQuery) { q.Projected.Images = []string{"image-b", "image-c"} }, "b c"},
		{"words", func(q *index.ListQuery) { q.Projected.Words = []string{"shop", "name-d"} }, "d"},
		{"an order", func(q *index.ListQuery) {
			q.Projected.Health, q.Order = nil, index.Order{Field: index.OrderByHealth, Desc: true}
		}, "d c b e a"},
		{"a place in an order", func(q *index.ListQuery) {
			q.Projected.Health, q.Order = nil, index.Order{Field: index.OrderByHealth, Desc: true}
			q.After = &index.Position{Severity: projection.Severity("DEGRADED"), Cluster: "k-alpha", Namespace: "shop", Name: "c", Kind: "Deployment"}
		}, "b e a"},
		{"ready replicas", func(q *index.ListQuery) { q.Order = index.Order{Field: index.OrderByReady, Desc: true} }, "d c b"},
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
	w.Now = func() time.Time { // A second goes by with each call.
		clock = clock.Add(time.Second)
		return clock
	}
	ctx := consistency.With(t.Context(), []consistency.Version{{Instance: "alpha"}})
	if page, err := w.List(ctx, q); !apierror.Is(err, apierror.CodeIndexUnavailable) || !strings.Contains(err.Error(), "behind your change") {
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
	page, err = w.List(ctx, q)
	w.do(t, err)
	if diff := cmp.Diff(int64(4), *page.Count); diff != "" || len(page.Items) != 4 {
		t.Errorf("the projection has caught up: got %s (-want +got):\n%s", namesOf(page), diff)
	}
}
