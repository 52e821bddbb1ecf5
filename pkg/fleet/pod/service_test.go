package pod

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// rows is an index.Reader that has some rows, and keeps what it is asked.
type rows struct {
	index.Reader
	has    []projection.PodItem
	scoped []string
	asked  []index.ListQuery
	ahead  []index.Part
	named  []index.Key
	err    error
}

func (r *rows) List(_ context.Context, q index.ListQuery) (*index.Page, error) {
	r.asked = append(r.asked, q)
	if r.err != nil {
		return nil, r.err
	}
	p := &index.Page{AsOf: now, Count: new(int64(len(r.has))), Scoped: r.scoped}
	for _, field := range q.Projected.Facets {
		p.Facets = append(p.Facets, projection.Facet{Field: field, Values: []projection.FacetValue{{Value: "x", Count: len(r.has)}}, TotalValues: 1})
	}
	for i := range r.has {
		p.Items = append(p.Items, index.NewPod(&r.has[i], now))
	}
	return p, nil
}

func (r *rows) PageOf(ctx context.Context, part index.Part, q index.ListQuery) (*index.Page, error) {
	q.Clusters = []string{part.Cluster}
	return r.List(ctx, q)
}

func (r *rows) PrefetchPages(_ context.Context, parts []index.Part, _ index.ListQuery, then func(map[index.Part]*index.Page)) {
	r.ahead = append(r.ahead, parts...)
	page, _ := r.List(context.Background(), index.ListQuery{Projected: &index.Projected{}})
	then(map[index.Part]*index.Page{parts[0]: page})
}

func (r *rows) Prefetch(_ context.Context, keys []index.Key, _ index.Detail, _ func(map[index.Key]*index.Object)) {
	r.named = append(r.named, keys...)
}

func row(instance, member, name string) projection.PodItem {
	return projection.PodItem{PodPosition: projection.PodPosition{PodKey: projection.PodKey{Instance: instance, Cluster: member, Namespace: "shop", Name: name}, Restarts: 2, CreatedAt: 7}, Phase: "RUNNING"}
}

func joined(name, instance string) client.Object {
	c := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Type: v1alpha1.ClusterTypePhysical, InstanceRef: &v1alpha1.InstanceReference{Name: instance}}}
	c.Name, c.UID = name, "u"
	return c
}

// collected is the record of a member, with the kinds that are collected.
func collected(name string, kinds ...string) client.Object {
	pc := fleettest.Collected(name, now.Add(-time.Hour))
	pc.Labels = map[string]string{v1alpha1.OwnerUIDLabel: "u"}
	pc.Status.SyncResources = nil
	for _, kind := range kinds {
		pc.Status.SyncResources = append(pc.Status.SyncResources, fleettest.Kind(kind, pediav1alpha2.ResourceSyncStatusSyncing, now.Add(-time.Hour)))
	}
	return pc
}

// service reads the pods of alpha, with the members m1 and m2, of beta with m3, and of empty, which
// has no member.
func service(t *testing.T, r *rows, more ...client.Object) *Service {
	t.Helper()
	objects := []client.Object{fleettest.Instance("alpha"), fleettest.Instance("beta"), fleettest.Instance("empty"), joined("m1", "alpha"), joined("m2", "alpha"), joined("m3", "beta")}
	watched := fleettest.Inventory(t, append(objects, more...)...)
	clock := func() time.Time { return now }
	beats := func() *freshness.Heartbeat {
		h := freshness.NewHeartbeat(clock)
		h.Beat(now)
		return h
	}
	tracker := &freshness.Tracker{Inventory: watched, Now: clock, Collector: beats(), Global: beats()}
	lister := &listing.Lister{Reader: r, Freshness: tracker, Now: clock}
	return NewService(lister, instance.NewService(watched, tracker), cluster.NewService(watched, tracker), membercluster.NewService(lister), watched)
}

func TestRequest(t *testing.T) {
	r := &rows{}
	s := service(t, r)
	args := ListArgs{
		Args: page.Args{First: new(3)}, Order: &Order{Field: OrderFieldRestarts, Direction: object.Descending},
		Filter: &Filter{
			Cluster: []string{"m1"}, Namespaces: []string{"shop"}, Name: []string{"web"}, NameContains: new("we"), Phase: []Phase{PhaseFailed}, Ready: new(false), Node: []string{"n1"},
			LabelSelector: new("app=web"), Images: []string{"i"}, Text: new("Web I"),
		},
	}
	if _, err := s.List(t.Context(), args, Needs{Count: true, Detail: index.Metadata}); err != nil {
		t.Fatal(err)
	}
	selector, err := index.ParseSelector("app=web")
	if err != nil {
		t.Fatal(err)
	}
	want := index.ListQuery{
		Types: []index.Type{index.Pods}, Clusters: []string{"k-alpha", "k-beta", "k-empty"}, Namespaces: []string{"shop"}, Names: []string{"web"}, NameContains: "we", Selector: selector,
		Projected: &index.Projected{Pods: &index.PodFilter{Clusters: []string{"m1"}, Phases: []string{"FAILED"}, Nodes: []string{"n1"}, Ready: new(false)}, Images: []string{"i"}, Words: []string{"web", "i"}},
		Order:     index.Order{Field: index.OrderByRestarts, Desc: true}, Limit: 3, WithCount: true, Detail: index.Metadata,
	}
	if diff := cmp.Diff([]index.ListQuery{want}, r.asked, cmp.Comparer(func(a, b labels.Selector) bool {
		return a == nil && b == nil || a != nil && b != nil && a.String() == b.String()
	})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNothingToRead checks that what no pod can be in costs no read.
func TestNothingToRead(t *testing.T) {
	for name, f := range map[string]*Filter{
		"no instance": {Instances: []string{}}, "an instance that is missing": {Instances: []string{"gone"}}, "an instance without members": {Instances: []string{"empty"}},
		"no member": {Cluster: []string{}}, "a member that is missing": {Cluster: []string{"m9"}}, "another instance's member": {Instances: []string{"alpha"}, Cluster: []string{"m3"}},
		"no namespace": {Namespaces: []string{}}, "no name": {Name: []string{}}, "no phase": {Phase: []Phase{}}, "no node": {Node: []string{}}, "no image": {Images: []string{}},
	} {
		r := &rows{has: []projection.PodItem{row("alpha", "m1", "a")}}
		c, err := service(t, r).List(t.Context(), ListArgs{Filter: f}, Needs{Count: true})
		if err != nil || len(r.asked) != 0 || len(c.Nodes) != 0 || *c.TotalCount != 0 {
			t.Errorf("%s: %d reads, got %+v, %v", name, len(r.asked), c, err)
		}
	}
	r := &rows{}
	if c, err := service(t, r).ListInstance(t.Context(), "empty", ListArgs{}, Needs{}); err != nil || len(r.asked) != 0 || len(c.Nodes) != 0 {
		t.Errorf("in an instance without members: %d reads, got %+v, %v", len(r.asked), c, err)
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		argument string
		args     ListArgs
	}{
		{"first", ListArgs{Args: page.Args{First: new(0)}}},
		{"after", ListArgs{Args: page.Args{After: new("x")}}},
		{"filter.text", ListArgs{Filter: &Filter{Text: new(" ")}}},
		{"filter.text", ListArgs{Filter: &Filter{Text: new(strings.Repeat("a ", 11))}}},
		{"filter.nameContains", ListArgs{Filter: &Filter{NameContains: new("")}}},
		{"filter.labelSelector", ListArgs{Filter: &Filter{LabelSelector: new("a b")}}},
		{"filter.instances", ListArgs{Filter: &Filter{Instances: []string{"beta"}}}},
	} {
		_, err := service(t, &rows{}).ListInstance(t.Context(), "alpha", tt.args, Needs{})
		if e, ok := errors.AsType[*apierror.Error](err); !ok || e.Code != apierror.CodeInvalid || e.Argument != tt.argument {
			t.Errorf("%s: got %v", tt.argument, err)
		}
	}
}

// TestPage checks what a page shows of its pods, its end and its facets.
func TestPage(t *testing.T) {
	r := &rows{has: []projection.PodItem{row("alpha", "m1", "a"), row("alpha", "m1", "b"), row("beta", "m3", "a")}}
	s := service(t, r)
	needs := Needs{Count: true, MemberClusters: true, Facets: listing.Facets{Fields: []projection.FacetField{"PHASE"}, Values: 20}}
	c, err := s.List(t.Context(), ListArgs{}, needs)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range c.Nodes {
		names = append(names, fmt.Sprint(p.InstanceName(), "/", p.ClusterName(), "/", p.Name()))
	}
	if diff := cmp.Diff([]string{"alpha/m1/a", "alpha/m1/b", "beta/m3/a"}, names); diff != "" || *c.TotalCount != 3 {
		t.Errorf("%d (-want +got):\n%s", *c.TotalCount, diff)
	}
	member := func(instance, name string) index.Key {
		return index.Key{Cluster: v1alpha1.VirtualClusterName(instance), Type: index.MemberClusters, Name: name}
	}
	if diff := cmp.Diff([]index.Key{member("alpha", "m1"), member("beta", "m3")}, r.named); diff != "" {
		t.Errorf("read ahead (-want +got):\n%s", diff)
	}
	facets, err := FacetsOf(c, []projection.PodFacetField{projection.PodFacetPhase}, nil)
	if diff := cmp.Diff([]projection.PodFacet{{Field: projection.PodFacetPhase, Values: []projection.FacetValue{{Value: "x", Count: 3}}, TotalValues: 1}}, facets); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// The cursor of a pod leads to it, in this list alone.
	if _, err := s.List(t.Context(), ListArgs{Args: page.Args{After: c.PageInfo.EndCursor}}, needs); err != nil {
		t.Fatal(err)
	}
	want := &index.Position{CreatedAt: time.Unix(7, 0).UTC(), Cluster: "m3", Instance: "beta", Namespace: "shop", Name: "a", Kind: "Pod", Restarts: 2}
	if diff := cmp.Diff(want, r.asked[2].After); diff != "" {
		t.Errorf("goes on after (-want +got):\n%s", diff)
	}
	_, err = s.List(t.Context(), ListArgs{Args: page.Args{After: c.PageInfo.EndCursor}, Filter: &Filter{Phase: []Phase{PhaseFailed}}}, needs)
	if !apierror.Is(err, apierror.CodeStaleCursor) {
		t.Errorf("in another list: %v", err)
	}
}

// TestFacetsThatFail checks that a list stays when it cannot be counted.
func TestFacetsThatFail(t *testing.T) {
	c := &Connection{FacetsErr: apierror.New(apierror.CodeIndexUnavailable, "away")}
	if _, err := FacetsOf(c, []projection.PodFacetField{projection.PodFacetPhase}, nil); !apierror.Is(err, apierror.CodeIndexUnavailable) {
		t.Errorf("got %v", err)
	}
	if _, err := FacetsOf(&Connection{}, nil, new(101)); !apierror.Is(err, apierror.CodeInvalid) {
		t.Errorf("got %v", err)
	}
}

// TestFreshness checks of which clusters a list says how old it is.
func TestFreshness(t *testing.T) {
	whole := []client.Object{collected("m1", "pods"), collected("m2", "pods"), collected("m3", "pods")}
	for _, tt := range []struct {
		name    string
		records []client.Object
		scoped  []string
		filter  *Filter
		message string
		why     string
	}{
		{"all", whole, nil, nil, "", "each is collected"},
		{"one is not", []client.Object{collected("m1", "pods"), collected("m3", "pods")}, nil, nil, "m2 is not registered in the index", "its pods may be missing"},
		{"one that is not asked for", []client.Object{collected("m1", "pods"), collected("m3", "pods")}, nil, &Filter{Cluster: []string{"m1", "m3"}}, "", "the list cannot have its pods"},
		{"one without pods", []client.Object{collected("m1", "pods"), collected("m2", "nodes"), collected("m3", "pods")}, nil, nil, "pods of m2 are not collected", "its pods are missing"},
		{"a part of an instance", whole, []string{"k-alpha"}, nil, "k-alpha is not registered in the index", "which part it is depends on what the instance has"},
		{"no member", nil, nil, &Filter{Instances: []string{"empty"}}, "", "there can be no pods"},
	} {
		c, err := service(t, &rows{scoped: tt.scoped}, tt.records...).List(t.Context(), ListArgs{Filter: tt.filter}, Needs{})
		if err != nil {
			t.Fatal(err)
		}
		message := ""
		if c.Freshness.Message != nil {
			message = *c.Freshness.Message
		}
		if message != tt.message || c.Freshness.Stale != (tt.message != "") || c.Freshness.Source != freshness.SourceIndex {
			t.Errorf("%s: got %+v %q, want %q: %s", tt.name, c.Freshness, message, tt.message, tt.why)
		}
	}
}

// TestPrefetch checks that the lists of instances are read ahead where there can be pods.
func TestPrefetch(t *testing.T) {
	r := &rows{has: []projection.PodItem{row("alpha", "m1", "a")}}
	service(t, r).Prefetch(t.Context(), []string{"alpha", "beta", "empty"}, ListArgs{}, Needs{MemberClusters: true})
	if diff := cmp.Diff([]index.Part{{Cluster: "k-alpha"}, {Cluster: "k-beta"}}, r.ahead); diff != "" || len(r.named) != 1 {
		t.Errorf("%d member clusters (-want +got):\n%s", len(r.named), diff)
	}
	for _, a := range []ListArgs{{Filter: &Filter{Instances: []string{"alpha"}}}, {Filter: &Filter{Text: new("")}}, {Args: page.Args{First: new(0)}}} {
		r := &rows{}
		service(t, r).Prefetch(t.Context(), []string{"alpha", "beta"}, a, Needs{})
		if len(r.ahead) != 0 {
			t.Errorf("%+v: %v are read ahead", a, r.ahead)
		}
	}
}
