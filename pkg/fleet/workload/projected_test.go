package workload_test

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	states "github.com/kairship-io/kairship/pkg/projection"
)

// projection is a Reader that selects deployments by name, whatever their state. Without
// bindings all are UNPROPAGATED.
type projection struct {
	index.Reader
	names []string
	lag   time.Duration
	// object is what lists have that are not projected; nil for nothing.
	object *index.Object
	// inMember is the object in m1; nil for none.
	inMember *index.Object
	// ofMembers are the kinds that are collected of m1; nil for those of every member.
	ofMembers []pediav1alpha2.ClusterGroupResources
	queries   []index.ListQuery
	t         *testing.T
}

func (p *projection) List(_ context.Context, q index.ListQuery) (*index.Page, error) {
	if p.object == nil || !slices.Contains(q.Types, index.Deployments) {
		return &index.Page{}, nil // The members of the instance.
	}
	page := &index.Page{Items: []*index.Object{p.object}}
	if p.lag > 0 {
		page.AsOf = now.Add(-p.lag)
	}
	return page, nil
}

func (p *projection) PageOf(_ context.Context, _ index.Part, q index.ListQuery) (*index.Page, error) {
	p.queries = append(p.queries, q)
	found := &index.Page{AsOf: now.Add(-p.lag)}
	if q.WithCount {
		found.Count = new(int64(len(p.names)))
	}
	for _, name := range p.names {
		if q.After != nil && name <= q.After.Name {
			continue
		}
		if found.HasNext = len(found.Items) == q.Limit; found.HasNext {
			break
		}
		found.End = &index.Position{Cluster: "k-alpha", Namespace: "shop", Name: name, Kind: "Deployment"}
		found.Items = append(found.Items, fleettest.Object(p.t, fleettest.Row(index.Deployments, "k-alpha", "shop", name), index.Whole))
	}
	return found, nil
}

func (p *projection) Get(_ context.Context, key index.Key, _ index.Detail) (*index.Object, error) {
	if p.inMember != nil && key.Cluster == "m1" {
		return p.inMember, nil
	}
	return nil, key.NotFound()
}

func (p *projection) Prefetch(context.Context, []index.Key, index.Detail, func(map[index.Key]*index.Object)) {
}

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func (p *projection) service(t *testing.T) *workload.Service {
	t.Helper()
	p.t = t
	clock := func() time.Time { return now }
	member := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: v1alpha1.ClusterSpec{Type: v1alpha1.ClusterTypePhysical, InstanceRef: &v1alpha1.InstanceReference{Name: "alpha"}}}
	collected := fleettest.Collected("m1", now.Add(-time.Hour))
	collected.Spec.SyncResources = p.ofMembers
	inventory := fleettest.Inventory(t, fleettest.Instance("alpha"), fleettest.Collected("k-alpha", now.Add(-time.Hour)),
		&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "k-alpha"}}, member, collected)
	beat := freshness.NewHeartbeat(clock)
	beat.Beat(now)
	tracker := &freshness.Tracker{Inventory: inventory, Now: clock, Collector: beat, Global: beat}
	lister := &listing.Lister{Reader: p, Freshness: tracker, Now: clock}
	return workload.NewService(lister, p, instance.NewService(inventory, tracker), cluster.NewService(inventory, tracker), membercluster.NewCache(p, clock))
}

func (p *projection) list(t *testing.T, args page.Args, health ...workload.Health) *workload.Connection {
	t.Helper()
	c, err := p.service(t).ListInstance(t.Context(), "alpha", workload.ListArgs{Args: args, Filter: &workload.Filter{Health: health}}, workload.Needs{Count: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func names(c *workload.Connection) []string {
	var all []string
	for _, w := range c.Nodes {
		all = append(all, w.Base().Name())
	}
	return all
}

// TestByHealth asks the projection once for each page.
func TestByHealth(t *testing.T) {
	p := &projection{names: []string{"a", "b", "c", "d"}}
	first := p.list(t, page.Args{First: new(3)}, workload.HealthUnpropagated)
	if got := names(first); !slices.Equal(got, []string{"a", "b", "c"}) || !first.PageInfo.HasNextPage || *first.TotalCount != 4 {
		t.Errorf("the first page is %q, next %v, of %d", got, first.PageInfo.HasNextPage, *first.TotalCount)
	}
	if len(p.queries) != 1 || !slices.Equal(p.queries[0].Projected.Health, []string{"UNPROPAGATED"}) {
		t.Errorf("the queries are %+v", p.queries)
	}
	last := p.list(t, page.Args{First: new(3), After: first.PageInfo.EndCursor}, workload.HealthUnpropagated)
	if got := names(last); !slices.Equal(got, []string{"d"}) || last.PageInfo.HasNextPage {
		t.Errorf("the last page is %q, next %v", got, last.PageInfo.HasNextPage)
	}
}

// TestByHealthThatChanged: a workload that is in another state by now is not shown as one
// of those that were asked for; the page says where to go on.
func TestByHealthThatChanged(t *testing.T) {
	p := &projection{names: []string{"a", "b"}}
	c := p.list(t, page.Args{First: new(1)}, workload.HealthHealthy)
	if len(c.Nodes) != 0 || !c.PageInfo.HasNextPage || c.PageInfo.EndCursor == nil {
		t.Fatalf("got %q, %+v; want none, and where to go on", names(c), c.PageInfo)
	}
	c = p.list(t, page.Args{First: new(1), After: c.PageInfo.EndCursor}, workload.HealthHealthy)
	if len(p.queries) != 2 || p.queries[1].After.Name != "a" || c.PageInfo.HasNextPage {
		t.Errorf("the next page begins after %+v", p.queries[1].After)
	}
}

// TestByNoHealth: an empty list of states selects nothing, without a request.
func TestByNoHealth(t *testing.T) {
	p := &projection{names: []string{"a"}}
	c := p.list(t, page.Args{}, []workload.Health{}...)
	if len(c.Nodes) != 0 || *c.TotalCount != 0 || len(p.queries) != 0 {
		t.Errorf("got %q of %d with %d queries, want nothing", names(c), *c.TotalCount, len(p.queries))
	}
}

// TestByHealthIsAsFresh as the projection, where that is later than the index.
func TestByHealthIsAsFresh(t *testing.T) {
	fresh := func(lag time.Duration) freshness.Freshness {
		p := &projection{names: []string{"a"}, lag: lag}
		return p.list(t, page.Args{}, workload.HealthUnpropagated).Freshness
	}
	index := fresh(0)
	if index.ObservedAt == nil || index.Stale {
		t.Fatalf("the index is not fresh: %+v", index)
	}
	for lag, stale := range map[time.Duration]bool{time.Second: false, 25 * time.Second: false, time.Minute: true} {
		want := now.Add(-lag)
		if index.ObservedAt.Before(want) {
			want = *index.ObservedAt
		}
		if f := fresh(lag); !f.ObservedAt.Equal(want) || *f.Lag != now.Sub(want).Seconds() || f.Stale != stale || (f.Message != nil) != stale {
			t.Errorf("the projection is %s late: got %+v, observed at %s", lag, f, f.ObservedAt)
		}
	}
}

// TestObjectOfAPlacement: an object in a member is shown when it carries the ID of the
// binding, which the projection has, and is as fresh as its member.
func TestObjectOfAPlacement(t *testing.T) {
	for id, shown := range map[string]bool{"binding-1": true, "binding-2": false} {
		row := fleettest.Row(index.Deployments, "k-alpha", "shop", "a")
		there := fleettest.Row(index.Deployments, "m1", "shop", "a")
		there.Labels = map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: id}
		p := &projection{object: fleettest.Object(t, row, index.Whole), inMember: fleettest.Object(t, there, index.Whole)}
		state := &states.State{}
		state.BindingID, state.Placements = "binding-1", []states.Placement{{Cluster: "m1", Scheduled: true}}
		p.object.State = state
		service := p.service(t)
		c, err := service.List(t.Context(), workload.ListArgs{}, workload.Needs{Status: true, Objects: true})
		if err != nil || len(c.Nodes) != 1 {
			t.Fatalf("%v, %v", c, err)
		}
		placements, err := service.Placements(t.Context(), c.Nodes[0].Base())
		if err != nil || len(placements) != 1 {
			t.Fatalf("%+v, %v", placements, err)
		}
		o, err := service.Object(t.Context(), &placements[0], index.Known)
		if err != nil || (o != nil) != shown {
			t.Errorf("%s: got %+v, %v; want shown %t", id, o, err, shown)
		}
		if o != nil && (o.Fresh.ObservedAt == nil || o.Fresh.Stale) {
			t.Errorf("%s: it is as fresh as %+v", id, o.Fresh)
		}
	}
}

// TestObjectOfACustomPlacement: the object of a custom workload is shown where its kind is collected of the member.
func TestObjectOfACustomPlacement(t *testing.T) {
	of := index.Type{Group: "media.example.com", Version: "v1", Resource: "transcoders", Kind: "Transcoder"}
	for _, tt := range []struct {
		why       string
		collected []pediav1alpha2.ClusterGroupResources
		id        string
		shown     bool
	}{
		{"its kind is collected", []pediav1alpha2.ClusterGroupResources{{Group: of.Group, Versions: []string{"v1"}, Resources: []string{of.Resource}}}, "binding-1", true},
		{"it is of another binding", []pediav1alpha2.ClusterGroupResources{{Group: of.Group, Versions: []string{"v1"}, Resources: []string{of.Resource}}}, "binding-2", false},
		{"another version is collected", []pediav1alpha2.ClusterGroupResources{{Group: of.Group, Versions: []string{"v2"}, Resources: []string{of.Resource}}}, "binding-1", false},
		{"its kind is not collected", []pediav1alpha2.ClusterGroupResources{{Group: "apps", Versions: []string{"v1"}, Resources: []string{"deployments"}}}, "binding-1", false},
	} {
		there := fleettest.Row(of, "m1", "media", "a")
		there.Labels = map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: tt.id}
		p := &projection{
			object: fleettest.Object(t, fleettest.Row(of, "k-alpha", "media", "a"), index.Whole), inMember: fleettest.Object(t, there, index.Whole), ofMembers: tt.collected,
		}
		p.object.State = &states.State{}
		p.object.State.BindingID, p.object.State.Placements = "binding-1", []states.Placement{{Cluster: "m1", Scheduled: true}}
		service := p.service(t)
		c, err := service.List(t.Context(), workload.ListArgs{}, workload.Needs{Status: true, Objects: true})
		if err != nil || len(c.Nodes) != 1 {
			t.Fatalf("%v, %v", c, err)
		}
		placements, err := service.Placements(t.Context(), c.Nodes[0].Base())
		if err != nil || len(placements) != 1 {
			t.Fatalf("%+v, %v", placements, err)
		}
		o, err := service.Object(t.Context(), &placements[0], index.Whole)
		if err != nil || (o != nil) != tt.shown {
			t.Errorf("%s: got %+v, %v", tt.why, o, err)
		}
		if o != nil && o.Name() != "a" {
			t.Errorf("%s: it is %s", tt.why, o.Name())
		}
		if d, err := service.Drift(t.Context(), &placements[0]); d != nil || err != nil {
			t.Errorf("%s: a drift %+v, %v", tt.why, d, err)
		}
	}
}

// TestStateOfWhatWasWritten: a dry run has the version of what is stored, and another content.
func TestStateOfWhatWasWritten(t *testing.T) {
	manifest := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "shop", "name": "a", "uid": "uid-a", "resourceVersion": "7"}}
	tried, err := index.NewLive("k-alpha", manifest, now)
	if err != nil {
		t.Fatal(err)
	}
	p := &projection{}
	service := p.service(t)
	status, err := service.Status(t.Context(), service.Written(t.Context(), "alpha", tried).Base())
	if err != nil || status.Health != workload.HealthUnpropagated {
		t.Errorf("got %+v, %v; want the state to be computed", status, err)
	}
}

// TestStatesOfTheProjection: a state that the projection has is shown, any other is
// computed. The answer is as fresh as what it shows.
func TestStatesOfTheProjection(t *testing.T) {
	for _, known := range []bool{true, false} {
		want := workload.HealthUnpropagated
		p := &projection{object: fleettest.Object(t, fleettest.Row(index.Deployments, "k-alpha", "shop", "a"), index.Whole)}
		if known {
			want = workload.HealthDegraded
			state := &states.State{}
			state.Health, state.Message, state.Ready = "DEGRADED", "it fails", 3
			state.Placements = []states.Placement{{Cluster: "m1", Scheduled: true, Health: "DEGRADED", Ready: new(int32(3))}}
			p.object.State, p.object.AsOf, p.lag = state, now.Add(-time.Minute), time.Minute
		}
		service := p.service(t)
		c, err := service.List(t.Context(), workload.ListArgs{}, workload.Needs{Status: true})
		if err != nil || len(c.Nodes) != 1 {
			t.Fatalf("%v, %v", c, err)
		}
		w := c.Nodes[0].Base()
		status, err := service.Status(t.Context(), w)
		if err != nil || status.Health != want {
			t.Errorf("the state is %+v, %v; want %s", status, err, want)
		}
		if known {
			placements, err := service.Placements(t.Context(), w)
			if err != nil || len(placements) != 1 || placements[0].Cluster != "m1" || *placements[0].Ready != 3 || status.Replicas.Ready != 3 || status.Message != "it fails" {
				t.Errorf("got %+v in %+v, %v", status, placements, err)
			}
		}
		for _, f := range []freshness.Freshness{c.Freshness, w.Fresh} {
			if late := *f.Lag >= time.Minute.Seconds(); late != known || f.Stale != late {
				t.Errorf("known %t: got %+v", known, f)
			}
		}
	}
}
