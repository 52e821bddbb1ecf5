package listing_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

func lister(r index.Reader) *listing.Lister {
	return &listing.Lister{Reader: r, Now: func() time.Time { return now }}
}

// request is a list with everything that a list can have.
func request() listing.Request {
	return listing.Request{
		Noun: "Workload", Types: []index.Type{index.Deployments}, Instances: []string{"alpha", "beta"},
		Args:   page.Args{First: new(20)},
		Filter: listing.Filter{Namespaces: []string{"shop"}, Name: []string{"web"}, NameContains: new("we"), LabelSelector: new("app=web")},
		Order:  index.Order{Field: index.OrderByName, Desc: true}, Fields: []index.FieldEquals{{Path: []string{"type"}, Value: "x"}},
		Projected: &index.Projected{ScheduledTo: []string{"m1"}}, WithCount: true, Detail: index.Known,
	}
}

var sameSelector = cmp.Comparer(func(a, b labels.Selector) bool {
	return (a == nil) == (b == nil) && (a == nil || a.String() == b.String())
})

func TestParse(t *testing.T) {
	selector, err := index.ParseSelector("app=web")
	if err != nil {
		t.Fatal(err)
	}
	full := index.ListQuery{
		Types: []index.Type{index.Deployments}, Clusters: []string{"k-alpha", "k-beta"}, Namespaces: []string{"shop"}, Names: []string{"web"},
		NameContains: "we", Selector: selector, Fields: []index.FieldEquals{{Path: []string{"type"}, Value: "x"}}, Projected: &index.Projected{ScheduledTo: []string{"m1"}},
		Order: index.Order{Field: index.OrderByName, Desc: true}, Limit: 20, WithCount: true, Detail: index.Known,
	}
	for _, tt := range []struct {
		name   string
		change func(*listing.Request)
		want   func(*index.ListQuery)
		why    string
	}{
		{"everything", func(*listing.Request) {}, func(*index.ListQuery) {}, "each argument has its place"},
		{"no page size", func(r *listing.Request) { r.Args.First = nil }, func(q *index.ListQuery) { q.Limit = page.DefaultSize }, "there is a default"},
		{"a part", func(r *listing.Request) { r.Part = &index.FieldEquals{Path: []string{"uid"}, Value: "v"} }, func(q *index.ListQuery) { q.PartField = []string{"uid"} }, "its value is that of the part"},
		{"an empty selector", func(r *listing.Request) { r.Filter.LabelSelector = new("") }, func(q *index.ListQuery) { q.Selector = nil }, "it selects everything"},
		{"no instances", func(r *listing.Request) { r.Instances = nil }, func(q *index.ListQuery) { q.Clusters = nil }, "no cluster is nothing"},
		{"no names", func(r *listing.Request) { r.Filter.Name = []string{} }, func(q *index.ListQuery) { q.Names, q.Clusters = []string{}, nil }, "a list of no names lists nothing, regardless of the user"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, want := request(), full
			tt.change(&r)
			tt.want(&want)
			got, _, err := lister(nil).Parse(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, sameSelector); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
		})
	}
}

// A cursor is a place in one list, and the list is everything that says what is in it.
func TestParseCursors(t *testing.T) {
	r := request()
	_, result, err := lister(nil).Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	at := index.Position{CreatedAt: now, Cluster: "k-alpha", Namespace: "shop", Name: "web", Kind: "Deployment"}
	o := &index.Object{Cluster: at.Cluster, Kind: at.Kind}
	o.Meta.Namespace, o.Meta.Name, o.Meta.CreationTimestamp = at.Namespace, at.Name, metav1.NewTime(at.CreatedAt)
	r.Args.After = new(result.Cursor(o))
	for _, tt := range []struct {
		name   string
		change func(*listing.Request)
		stale  bool
	}{
		{"the same list", func(*listing.Request) {}, false},
		{"another page size", func(r *listing.Request) { r.Args.First = new(3) }, false},
		{"another selection", func(r *listing.Request) { r.WithCount, r.Detail = false, index.Whole }, false},
		{"another noun", func(r *listing.Request) { r.Noun = "Resource" }, true},
		{"other types", func(r *listing.Request) { r.Types = []index.Type{index.Jobs} }, true},
		{"other instances", func(r *listing.Request) { r.Instances = r.Instances[:1] }, true},
		{"other namespaces", func(r *listing.Request) { r.Filter.Namespaces = nil }, true},
		{"another part of names", func(r *listing.Request) { r.Filter.NameContains = new("eb") }, true},
		{"another selector", func(r *listing.Request) { r.Filter.LabelSelector = nil }, true},
		{"other fields", func(r *listing.Request) { r.Fields = nil }, true},
		{"another part", func(r *listing.Request) { r.Part = &index.FieldEquals{Path: []string{"uid"}, Value: "v"} }, true},
		{"other clusters", func(r *listing.Request) { r.Projected = &index.Projected{ScheduledTo: []string{"m2"}} }, true},
		{"a state of health", func(r *listing.Request) {
			r.Projected = &index.Projected{ScheduledTo: []string{"m1"}, Health: []string{"HEALTHY"}}
		}, true},
		{"a word", func(r *listing.Request) {
			r.Projected = &index.Projected{ScheduledTo: []string{"m1"}, Words: []string{"web"}}
		}, true},
		{"another order", func(r *listing.Request) { r.Order.Desc = false }, true},
	} {
		changed := r
		tt.change(&changed)
		q, _, err := lister(nil).Parse(changed)
		if stale := apierror.Is(err, apierror.CodeStaleCursor); stale != tt.stale || (!stale && err != nil) {
			t.Errorf("%s: got %v; stale: want %v", tt.name, err, tt.stale)
			continue
		}
		if !tt.stale && !cmp.Equal(q.After, &at) {
			t.Errorf("%s: goes on after %+v", tt.name, q.After)
		}
	}
}

func TestParseNamesTheArgument(t *testing.T) {
	for _, tt := range []struct {
		name     string
		change   func(*listing.Request)
		argument string
		message  string
	}{
		{"none", func(r *listing.Request) { r.Args.First = new(0) }, "first", "0 is out of range; ask for 1 to 500"},
		{"too many", func(r *listing.Request) { r.Args.First = new(501) }, "first", "501 is out of range"},
		{"an empty part of names", func(r *listing.Request) { r.Filter.NameContains = new("") }, "filter.nameContains", "1 to 253 characters"},
		{"more than a name holds", func(r *listing.Request) { r.Filter.NameContains = new(strings.Repeat("x", 254)) }, "filter.nameContains", "1 to 253 characters"},
		{"selector", func(r *listing.Request) { r.Filter.LabelSelector = new("app in web") }, "filter.labelSelector", "not a Kubernetes label selector"},
		{"selector that compares", func(r *listing.Request) { r.Filter.LabelSelector = new("size>3") }, "filter.labelSelector", "> and < are not supported"},
		{"cursor", func(r *listing.Request) { r.Args.After = new("x") }, "after", "This is not a cursor"},
	} {
		r := request()
		tt.change(&r)
		_, _, err := lister(nil).Parse(r)
		var e *apierror.Error
		if !errors.As(err, &e) || e.Code != apierror.CodeInvalid || e.Argument != tt.argument || !strings.Contains(e.Message, tt.message) {
			t.Errorf("%s: got %v, want %s: %s", tt.name, err, tt.argument, tt.message)
		}
	}
}

// prefetched keeps what was asked for ahead.
type prefetched struct {
	index.Reader
	parts []index.Part
	query index.ListQuery
	then  func(map[index.Part]*index.Page)
}

func (p *prefetched) PrefetchPages(_ context.Context, parts []index.Part, q index.ListQuery, then func(map[index.Part]*index.Page)) {
	p.parts, p.query, p.then = parts, q, then
}

// What is read ahead is what each instance's list will ask for, so that the list
// finds it.
func TestPrefetch(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*listing.Request)
		want   []index.Part
		why    string
	}{
		{"instances", func(*listing.Request) {}, []index.Part{{Cluster: "k-alpha"}, {Cluster: "k-beta"}}, "a page of each"},
		{"a part", func(r *listing.Request) { r.Part = &index.FieldEquals{Path: []string{"uid"}, Value: "v"} }, []index.Part{{Cluster: "k-alpha", Value: "v"}, {Cluster: "k-beta", Value: "v"}}, "the part of each"},
		{"a mistake", func(r *listing.Request) { r.Args.First = new(0) }, nil, "the list itself says what is wrong"},
		{"a cursor", func(r *listing.Request) { r.Args.After = new("x") }, nil, "the list itself says what is wrong"},
		{"no instances", func(r *listing.Request) { r.Instances = nil }, nil, "nothing to read"},
		{"no names", func(r *listing.Request) { r.Filter.Name = []string{} }, nil, "nothing to read"},
		{"no namespaces", func(r *listing.Request) { r.Filter.Namespaces = []string{} }, nil, "nothing to read"},
		{"no clusters", func(r *listing.Request) { r.Projected = &index.Projected{ScheduledTo: []string{}} }, nil, "nothing to read"},
	} {
		r := request()
		tt.change(&r)
		reader := &prefetched{}
		l := lister(reader)
		var reported []string
		l.Prefetch(t.Context(), r, func(objects []*index.Object) {
			for _, o := range objects {
				reported = append(reported, o.Cluster)
			}
		})
		if diff := cmp.Diff(tt.want, reader.parts); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.why, diff)
		}
		if tt.want == nil {
			continue
		}
		// A list of one instance asks with the same query but for its clusters.
		one := r
		one.Instances = r.Instances[:1]
		q, _, err := l.Parse(one)
		if err != nil {
			t.Fatal(err)
		}
		q.Clusters, reader.query.Clusters = nil, nil
		if diff := cmp.Diff(q, reader.query, sameSelector); diff != "" {
			t.Errorf("%s: the list itself asks for something else (-list +prefetched):\n%s", tt.name, diff)
		}
		reader.then(map[index.Part]*index.Page{
			tt.want[0]: {Items: []*index.Object{{Cluster: "k-alpha"}, {Cluster: "k-alpha"}}}, tt.want[1]: {Items: []*index.Object{{Cluster: "k-beta"}}},
		})
		slices.Sort(reported)
		if diff := cmp.Diff([]string{"k-alpha", "k-alpha", "k-beta"}, reported); diff != "" {
			t.Errorf("%s: told of (-want +got):\n%s", tt.name, diff)
		}
	}
}
