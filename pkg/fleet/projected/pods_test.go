package projected

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// rows are the pods that a projection has, whatever is asked for. It keeps the queries.
type rows struct {
	has   []projection.PodItem
	asked chan *projection.PodQuery
	parts []projection.Part
	// images is the last query of images.
	images *projection.ImageQuery
	err    error
}

func (r *rows) SelectPods(_ context.Context, q *projection.PodQuery) (*projection.PodSelection, error) {
	r.asked <- q
	if r.err != nil {
		return nil, r.err
	}
	return &projection.PodSelection{Moment: projection.Moment{Now: 100, Pending: 98}, Items: r.has, HasNext: true, Count: new(int64(7))}, nil
}

func (r *rows) SelectPodParts(ctx context.Context, q *projection.PodQuery, parts []projection.Part) ([]projection.PodSelection, projection.Moment, error) {
	r.parts = parts
	one, err := r.SelectPods(ctx, q)
	if err != nil {
		return nil, projection.Moment{}, err
	}
	return slices.Repeat([]projection.PodSelection{*one}, len(parts)), one.Moment, nil
}

func (r *rows) PodFacets(_ context.Context, q *projection.PodQuery, fields []projection.PodFacetField, values int) (*projection.CountedPods, error) {
	r.asked <- q
	found := &projection.CountedPods{Moment: projection.Moment{Now: 100}}
	for _, field := range fields {
		found.Facets = append(found.Facets, projection.PodFacet{Field: field, Values: []projection.FacetValue{{Value: "x", Count: values}}, TotalValues: 9})
	}
	return found, r.err
}

func (r *rows) SelectImages(_ context.Context, q *projection.ImageQuery) (*projection.ImageSelection, error) {
	r.images = q
	if r.err != nil {
		return nil, r.err
	}
	return &projection.ImageSelection{Moment: projection.Moment{Now: 100, Pending: 98}, Items: []projection.ImageItem{{ImagePosition: projection.ImagePosition{Reference: "web:1", Pods: 3}}}, HasNext: true, Count: new(int64(7))}, nil
}

func (r *rows) NodeRequests(_ context.Context, members []projection.MemberKey) (map[projection.NodeKey]projection.Requested, projection.Moment, error) {
	found := map[projection.NodeKey]projection.Requested{}
	for _, m := range members {
		found[projection.NodeKey{MemberKey: m, Node: "n1"}] = projection.Requested{CPU: 0.5, Memory: 64, Pods: 2}
	}
	return found, projection.Moment{Now: 100}, r.err
}

func podRow(name string) projection.PodItem {
	key := projection.PodKey{Instance: "alpha", Cluster: "m1", Namespace: "shop", Name: name}
	return projection.PodItem{PodPosition: projection.PodPosition{PodKey: key, CreatedAt: 1000, Restarts: 3}, UID: "uid-" + name, ResourceVersion: "5", Phase: "RUNNING", Labels: map[string]string{"app": name}}
}

var podsNow = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func podSource(names ...string) (*Source, *rows, *objects) {
	r, o := &rows{asked: make(chan *projection.PodQuery, 10)}, &objects{has: map[index.Key]*index.Object{}}
	for _, name := range names {
		r.has = append(r.has, podRow(name))
	}
	return &Source{Index: o, Pods: r, Timeout: time.Minute, Now: func() time.Time { return podsNow }}, r, o
}

func podsOf(of index.PodFilter) index.ListQuery {
	return index.ListQuery{Types: []index.Type{index.Pods}, Clusters: []string{"k-alpha"}, Projected: &index.Projected{Pods: &of}, Limit: 2, WithCount: true, Detail: index.Metadata}
}

// TestPods checks that every part of a query arrives, and that a page has what the rows have.
func TestPods(t *testing.T) {
	s, r, _ := podSource("a", "b")
	ready := true
	q := podsOf(index.PodFilter{Clusters: []string{"m1"}, Phases: []string{"FAILED"}, Nodes: []string{"n1"}, Ready: &ready})
	q.Scopes = []index.Scope{{Cluster: "k-beta", Namespaces: []string{"billing"}}, {Cluster: "k-gamma", EveryNamespace: true}}
	q.Namespaces, q.Names, q.NameContains, q.Confined = []string{"shop"}, []string{"x"}, "y", true
	q.Projected.Images, q.Projected.Words = []string{"i"}, []string{"w"}
	q.Order = index.Order{Field: index.OrderByRestarts, Desc: true}
	q.After = &index.Position{Instance: "alpha", Cluster: "m1", Namespace: "shop", Name: "x", CreatedAt: time.Unix(7, 0), Restarts: 4}
	ctx, used := requeststats.With(t.Context())
	page, err := s.List(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	want := &projection.PodQuery{
		Instances: []string{"alpha", "gamma"}, Scopes: []projection.Scope{{Instance: "beta", Namespaces: []string{"billing"}}},
		Clusters: []string{"m1"}, Namespaces: []string{"shop"}, Names: []string{"x"}, Nodes: []string{"n1"}, Phases: []string{"FAILED"}, NameContains: "y", Ready: &ready,
		Images: []string{"i"}, Words: []string{"w"}, Confined: true, Order: projection.PodOrder{Field: projection.PodsByRestarts, Desc: true}, Limit: 2, WithCount: true,
		After: &projection.PodPosition{PodKey: projection.PodKey{Instance: "alpha", Cluster: "m1", Namespace: "shop", Name: "x"}, CreatedAt: 7, Restarts: 4},
	}
	if diff := cmp.Diff(want, <-r.asked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	o := page.Items[1]
	if namesOf(page) != "a b" || !page.HasNext || *page.Count != 7 || page.End.Name != "b" || page.End.Instance != "alpha" || page.End.Restarts != 3 || !page.AsOf.Equal(podsNow.Add(-2*time.Second)) {
		t.Errorf("the page is %s, %+v", namesOf(page), page)
	}
	if o.Cluster != "m1" || o.Kind != "Pod" || o.Pod.Phase != "RUNNING" || o.Meta.UID != "uid-b" || o.Meta.Labels["app"] != "b" || o.Meta.CreationTimestamp.Unix() != 1000 || !o.MetadataOnly() {
		t.Errorf("a pod is %+v", o)
	}
	if n := used.Uses()[0].Requests; n != 1 {
		t.Errorf("%d requests were sent, want one statement", n)
	}
}

// TestWholePods checks that manifests are read in one request, and that pods which were deleted since
// are left out.
func TestWholePods(t *testing.T) {
	s, _, o := podSource("a", "b", "c")
	for name, uid := range map[string]string{"a": "uid-a", "c": "that of another pod"} {
		key := index.Key{Cluster: "m1", Type: index.Pods, Namespace: "shop", Name: name}
		stored, err := index.NewStored(key, fmt.Appendf(nil, `{"metadata": {"namespace": "shop", "name": %q, "uid": %q}, "spec": {"nodeName": "n1"}}`, name, uid), index.Whole)
		if err != nil {
			t.Fatal(err)
		}
		o.has[key] = stored
	}
	q := podsOf(index.PodFilter{})
	q.Detail = index.Whole
	page, err := s.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if namesOf(page) != "a" || page.End.Name != "c" || page.Items[0].Pod.Restarts != 3 {
		t.Errorf("the page is %s, %+v", namesOf(page), page)
	}
	if text, err := page.Items[0].Text(); err != nil || len(text) == 0 {
		t.Errorf("the manifest is %s, %v", text, err)
	}
	part := index.Part{Cluster: "k-alpha"}
	pages, err := s.ListParts(t.Context(), q, []index.Part{part})
	if err != nil || namesOf(pages[part]) != "a" {
		t.Errorf("in one instance: %+v, %v", pages, err)
	}
}

// TestPodParts checks that the page of each instance is confined to what may be read of it.
func TestPodParts(t *testing.T) {
	s, r, _ := podSource("a")
	q := podsOf(index.PodFilter{})
	q.Clusters, q.Scopes = nil, []index.Scope{{Cluster: "k-beta", Namespaces: []string{"billing"}}}
	parts := []index.Part{{Cluster: "k-alpha"}, {Cluster: "k-beta"}}
	pages, err := s.ListParts(t.Context(), q, parts)
	if err != nil || len(pages) != 2 || namesOf(pages[parts[1]]) != "a" {
		t.Fatalf("got %+v, %v", pages, err)
	}
	want := []projection.Part{{Instance: "alpha"}, {Instance: "beta", Namespaces: []string{"billing"}}}
	if diff := cmp.Diff(want, r.parts); diff != "" || len(r.asked) != 1 {
		t.Errorf("%d statements (-want +got):\n%s", len(r.asked), diff)
	}
}

func TestPodFacets(t *testing.T) {
	s, _, _ := podSource()
	q := podsOf(index.PodFilter{})
	q.Projected.Facets, q.Projected.FacetValues = []projection.FacetField{"PHASE", "NODE"}, 5
	page, err := s.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	value := []projection.FacetValue{{Value: "x", Count: 5}}
	want := []projection.Facet{{Field: "PHASE", Values: value, TotalValues: 9}, {Field: "NODE", Values: value, TotalValues: 9}}
	if diff := cmp.Diff(want, page.Facets); diff != "" || !page.AsOf.Equal(podsNow) {
		t.Errorf("as of %s (-want +got):\n%s", page.AsOf, diff)
	}
}

// TestPodsThatCannotBeRead checks that nothing else answers in the place of the projection.
func TestPodsThatCannotBeRead(t *testing.T) {
	for name, change := range map[string]func(*Source, *rows){
		"no projection": func(s *Source, _ *rows) { s.Pods = nil },
		"it is built":   func(_ *Source, r *rows) { r.err = projection.ErrIncomplete },
		"an error":      func(_ *Source, r *rows) { r.err = context.DeadlineExceeded },
	} {
		s, r, o := podSource("a")
		change(s, r)
		facets := podsOf(index.PodFilter{})
		facets.Projected.Facets = []projection.FacetField{"PHASE"}
		images := podsOf(index.PodFilter{})
		images.Projected.ImageList = &index.ImageList{}
		for _, q := range []index.ListQuery{podsOf(index.PodFilter{}), facets, images} {
			if _, err := s.List(t.Context(), q); !apierror.Is(err, apierror.CodeIndexUnavailable) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if _, err := s.ListParts(t.Context(), podsOf(index.PodFilter{}), []index.Part{{Cluster: "k-alpha"}}); !apierror.Is(err, apierror.CodeIndexUnavailable) || o.listed != 0 {
			t.Errorf("%s: got %v, and the index was asked %d times", name, err, o.listed)
		}
	}
}

// TestPodsAreNotWaitedFor checks that a consistency token, which is of objects in instances, delays no
// list of pods.
func TestPodsAreNotWaitedFor(t *testing.T) {
	s, r, _ := podSource("a")
	ctx := consistency.With(t.Context(), []consistency.Version{{Instance: "alpha"}})
	if page, err := s.List(ctx, podsOf(index.PodFilter{})); err != nil || namesOf(page) != "a" || len(r.asked) != 1 {
		t.Errorf("%d reads: %+v, %v", len(r.asked), page, err)
	}
}

// TestNodeRequests reads what pods request from the projection alone, and says so where there is none.
func TestNodeRequests(t *testing.T) {
	m1 := projection.MemberKey{Instance: "alpha", Name: "m1"}
	s, r, _ := podSource()
	got, err := s.NodeRequests(t.Context(), []projection.MemberKey{m1})
	if err != nil || got[projection.NodeKey{MemberKey: m1, Node: "n1"}].Pods != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	r.err = projection.ErrIncomplete
	if _, err := s.NodeRequests(t.Context(), []projection.MemberKey{m1}); !apierror.Is(err, apierror.CodeIndexUnavailable) {
		t.Errorf("while the rows are made: %v", err)
	}
	s.Pods = nil
	if _, err := s.NodeRequests(t.Context(), []projection.MemberKey{m1}); !apierror.Is(err, apierror.CodeIndexUnavailable) {
		t.Errorf("without a projection: %v", err)
	}
}
