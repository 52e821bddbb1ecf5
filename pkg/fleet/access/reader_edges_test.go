package access_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/index"
)

// undecided are the answers to a user about whom nothing is known now.
func TestNothingIsReadUndecided(t *testing.T) {
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		want apierror.Code
	}{
		{"global cluster away", as(t, "alice"), errors.New("connection refused"), apierror.CodeTimeout},
		{"nobody asks", t.Context(), nil, apierror.CodeUnauthenticated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			below := newRecorder(t)
			r := access.NewReader(below, authz.NewResolver(&fakeRules{err: tt.err}, nil, standing, nil), joined)
			key, part, q := keys[0], index.Part{Cluster: "k-alpha"}, index.ListQuery{Types: []index.Type{configMaps}, Clusters: clusters, Limit: 1}
			_, list := r.List(tt.ctx, q)
			_, page := r.PageOf(tt.ctx, part, q)
			_, get := r.Get(tt.ctx, key, index.Whole)
			_, meta := r.Get(tt.ctx, key, index.Metadata)
			_, pods := r.PodsOf(tt.ctx, owner("m1", "shop"))
			for i, err := range []error{list, page, get, meta, pods} {
				if apierror.CodeOf(err) != tt.want || err == nil {
					t.Errorf("read %d: got %v, want %s", i, err, tt.want)
				}
			}
			r.Prefetch(tt.ctx, keys, index.Whole, func(map[index.Key]*index.Object) { t.Error("something was read ahead") })
			r.PrefetchPages(tt.ctx, []index.Part{part}, q, func(map[index.Part]*index.Page) { t.Error("a page was read ahead") })
			r.PrefetchPods(tt.ctx, []index.PodOwner{owner("m1", "shop")})
			if below.requested > 0 {
				t.Errorf("%d requests went down", below.requested)
			}
		})
	}
}

// An index that answers with more than it was asked for must not leak it.
func TestAnswersOutsideAreRefused(t *testing.T) {
	below := newRecorder(t)
	below.unfiltered = true
	r := access.NewReader(below, authz.NewResolver(&fakeRules{}, nil, standing, nil), joined)
	q := index.ListQuery{Types: []index.Type{configMaps}, Clusters: []string{"k-alpha"}, Limit: 10}
	for name, read := range map[string]func() (*index.Page, error){
		"List":   func() (*index.Page, error) { return r.List(as(t, "shop"), q) },
		"PageOf": func() (*index.Page, error) { return r.PageOf(as(t, "shop"), index.Part{Cluster: "k-alpha"}, q) },
	} {
		if page, err := read(); apierror.CodeOf(err) != apierror.CodeInternal || page != nil {
			t.Errorf("%s: got %v, %v", name, page, err)
		}
	}
	r.PrefetchPages(as(t, "shop"), []index.Part{{Cluster: "k-alpha"}}, q, func(pages map[index.Part]*index.Page) {
		if len(pages) > 0 {
			t.Errorf("read ahead: %v", pages)
		}
	})
}

// A scope that a caller asks for is not wider than what may be read.
func TestScopesOfTheCallerAreConfined(t *testing.T) {
	resolver := authz.NewResolver(&fakeRules{}, nil, standing, nil)
	for person, want := range map[string]int{"alice": 1, "shop": 0, "bob": 0} {
		below := newRecorder(t)
		page, err := access.NewReader(below, resolver, joined).List(as(t, person), index.ListQuery{
			Types: []index.Type{configMaps}, Scopes: []index.Scope{{Cluster: "k-alpha", Namespaces: []string{"ops"}}}, Limit: 10,
		})
		if err != nil || len(page.Items) != want {
			t.Errorf("%s: got %v, %v, want %d objects", person, page, err, want)
		}
	}
}

func TestPageOfFiftyInstancesCostsOneReview(t *testing.T) {
	rules := &fakeRules{}
	inv := inventory{}
	var parts []index.Part
	for i := range 50 {
		name := fmt.Sprintf("i-%d", i)
		inv["k-"+name] = name
		parts = append(parts, index.Part{Cluster: "k-" + name})
	}
	below := newRecorder(t)
	r := access.NewReader(below, authz.NewResolver(rules, nil, standing, nil), inv)
	ctx := as(t, "admin")
	q := index.ListQuery{Types: []index.Type{configMaps}, Limit: 10}
	r.PrefetchPages(ctx, parts, q, nil)
	for _, part := range parts {
		if _, err := r.PageOf(ctx, part, q); err != nil {
			t.Fatal(err)
		}
	}
	if rules.count != 1 {
		t.Errorf("got %d reviews, want 1", rules.count)
	}
}

// A filter that excludes everything that the user may read is answered without a request, whether
// hidden objects match or not.
func TestListOutsideCostsNothing(t *testing.T) {
	resolver := authz.NewResolver(&fakeRules{}, nil, standing, nil)
	for _, tt := range []struct {
		person   string
		query    index.ListQuery
		requests int
	}{
		{"shop", index.ListQuery{Types: []index.Type{configMaps}, Namespaces: []string{"billing", "nowhere"}}, 0},
		{"shop", index.ListQuery{Types: []index.Type{configMaps}, Namespaces: []string{"billing", "shop"}}, 1},
		{"shop", index.ListQuery{Types: []index.Type{nodes}, Namespaces: []string{""}}, 0},
		{"shop", index.ListQuery{Types: []index.Type{secrets}}, 1},
		{"shop", index.ListQuery{Types: []index.Type{index.Namespaces}, Names: []string{"ops", "nowhere"}}, 0},
		{"shop", index.ListQuery{Types: []index.Type{index.Namespaces}, Names: []string{"ops", "shop"}}, 1},
		{"namespaces", index.ListQuery{Types: []index.Type{nodes}, Namespaces: []string{""}}, 0},
		{"namespaces", index.ListQuery{Types: []index.Type{configMaps}, Namespaces: []string{"", "ops"}}, 1},
		{"seen", index.ListQuery{Types: []index.Type{configMaps}}, 0},
		{"nobody", index.ListQuery{Types: []index.Type{configMaps}}, 0},
	} {
		for name, read := range map[string]func(*access.Reader) (*index.Page, error){
			"List": func(r *access.Reader) (*index.Page, error) {
				q := tt.query
				q.Clusters = clusters
				return r.List(as(t, tt.person), q)
			},
			"PageOf": func(r *access.Reader) (*index.Page, error) {
				return r.PageOf(as(t, tt.person), index.Part{Cluster: "k-alpha"}, tt.query)
			},
		} {
			below := newRecorder(t)
			if _, err := read(access.NewReader(below, resolver, joined)); err != nil {
				t.Fatal(err)
			}
			if below.requested != tt.requests {
				t.Errorf("%s of %s, %+v: %d requests, want %d", name, tt.person, tt.query, below.requested, tt.requests)
			}
		}
	}
}

// fixed answers every list with the same objects.
type fixed struct {
	index.Reader
	items []*index.Object
}

func (f fixed) List(context.Context, index.ListQuery) (*index.Page, error) {
	return &index.Page{Items: f.items}, nil
}

// A list of one kind need not state for its objects which kind they are of.
func TestObjectsWithoutKind(t *testing.T) {
	namespace := func(name string) *index.Object {
		o := &index.Object{Cluster: "k-alpha"}
		o.Meta.Name = name
		return o
	}
	inShop := &index.Object{Cluster: "k-alpha"}
	inShop.Meta.Namespace = "shop"
	resolver := authz.NewResolver(&fakeRules{}, nil, standing, nil)
	for _, tt := range []struct {
		name  string
		types []index.Type
		item  *index.Object
		want  apierror.Code
		why   string
	}{
		{"its namespace", []index.Type{{Version: "v1", Resource: "namespaces"}}, namespace("shop"), "", "it is a Namespace, because that was asked for"},
		{"another namespace", []index.Type{{Version: "v1", Resource: "namespaces"}}, namespace("ops"), apierror.CodeInternal, "it was not asked for"},
		{"an object", []index.Type{{Version: "v1", Resource: "configmaps"}}, inShop, "", "it is in the namespace"},
		{"one of several kinds", []index.Type{configMaps, index.Deployments}, inShop, apierror.CodeInternal, "it is unknown what it is"},
		{
			"another kind", []index.Type{configMaps}, func() *index.Object {
				o := &index.Object{Cluster: "k-alpha", APIVersion: "v1", Kind: "Secret"}
				o.Meta.Namespace = "shop"
				return o
			}(), apierror.CodeInternal, "what an object states about itself goes before what was asked for",
		},
	} {
		r := access.NewReader(fixed{items: []*index.Object{tt.item}}, resolver, joined)
		_, err := r.List(as(t, "shop"), index.ListQuery{Types: tt.types, Clusters: []string{"k-alpha"}, Limit: 1})
		if (err == nil) != (tt.want == "") || (err != nil && apierror.CodeOf(err) != tt.want) {
			t.Errorf("%s: got %v, want %q: %s", tt.name, err, tt.want, tt.why)
		}
	}
}
