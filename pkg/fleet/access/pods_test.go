package access_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// podRows is an index.Reader with the pods of a projection: in each member of each instance one in
// each namespace. It answers as the projection does, or with everything.
type podRows struct {
	index.Reader
	has        []projection.PodItem
	queries    []index.ListQuery
	unfiltered bool
}

func newPodRows() *podRows {
	r := &podRows{}
	for _, of := range [][2]string{{"alpha", "m1"}, {"beta", "m3"}, {"alpha", "left"}} {
		for _, namespace := range []string{"shop", "ops", "billing"} {
			key := projection.PodKey{Instance: of[0], Cluster: of[1], Namespace: namespace, Name: "x"}
			r.has = append(r.has, projection.PodItem{PodPosition: projection.PodPosition{PodKey: key}})
		}
	}
	return r
}

func (r *podRows) List(_ context.Context, q index.ListQuery) (*index.Page, error) {
	r.queries = append(r.queries, q)
	page := &index.Page{}
	for i := range r.has {
		row := &r.has[i]
		cluster := v1alpha1.VirtualClusterName(row.Instance)
		in := slices.Contains(q.Clusters, cluster) && (len(q.Namespaces) == 0 || slices.Contains(q.Namespaces, row.Namespace))
		for _, s := range q.Scopes {
			in = in || s.Cluster == cluster && slices.Contains(s.Namespaces, row.Namespace)
		}
		if in || r.unfiltered {
			page.Items = append(page.Items, index.NewPod(row, time.Time{}))
		}
	}
	return page, nil
}

func (r *podRows) PageOf(ctx context.Context, _ index.Part, q index.ListQuery) (*index.Page, error) {
	return r.List(ctx, q)
}

func (r *podRows) PrefetchPages(ctx context.Context, parts []index.Part, q index.ListQuery, then func(map[index.Part]*index.Page)) {
	pages := map[index.Part]*index.Page{}
	for _, part := range parts {
		one := q
		one.Clusters = slices.DeleteFunc(slices.Clone(q.Clusters), func(c string) bool { return c != part.Cluster })
		one.Scopes = slices.DeleteFunc(slices.Clone(q.Scopes), func(s index.Scope) bool { return s.Cluster != part.Cluster })
		pages[part], _ = r.List(ctx, one)
	}
	then(pages)
}

func podsIn(clusters ...string) index.ListQuery {
	return index.ListQuery{Types: []index.Type{index.Pods}, Clusters: clusters, Projected: &index.Projected{Pods: &index.PodFilter{}}, Limit: 500}
}

func podNames(page *index.Page) string {
	var names []string
	for _, o := range page.Items {
		names = append(names, fmt.Sprintf("%s/%s/%s", o.Pod.Instance, o.Cluster, o.Meta.Namespace))
	}
	return strings.Join(names, " ")
}

// TestPodsAreConfined lists the pods of both instances as each person, in every way. The pods of a
// cluster that has left its instance are not shown to any user.
func TestPodsAreConfined(t *testing.T) {
	const alpha, beta = "alpha/m1/shop alpha/m1/ops alpha/m1/billing", "beta/m3/shop beta/m3/ops beta/m3/billing"
	resolver := authz.NewResolver(&fakeRules{}, nil, standing, nil)
	for person, want := range map[string]struct {
		pods   string
		scoped []string
	}{
		"stranger": {}, "admin": {pods: alpha + " " + beta}, "alice": {pods: alpha}, "bob": {pods: beta}, "both": {pods: alpha + " " + beta},
		"shop": {"alpha/m1/shop", []string{"k-alpha"}}, "shopper": {"alpha/m1/shop", []string{"k-alpha"}},
		"mixed":      {"alpha/m1/shop alpha/m1/ops " + beta, []string{"k-alpha"}},
		"namespaces": {pods: alpha}, "seen": {},
	} {
		ctx := as(t, person)
		below := newPodRows()
		r := access.NewReader(below, resolver, joined)
		page, err := r.List(ctx, podsIn("k-alpha", "k-beta"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.pods, podNames(page)) + cmp.Diff(want.scoped, page.Scoped); diff != "" {
			t.Errorf("%s sees (-want +got):\n%s", person, diff)
		}
		if asked := len(below.queries) > 0; asked != (want.pods != "") || asked && below.queries[0].Confined == (person == "admin") {
			t.Errorf("%s: asked with %+v", person, below.queries)
		}
		var parts []string
		r.PrefetchPages(ctx, []index.Part{{Cluster: "k-alpha"}, {Cluster: "k-beta"}}, podsIn(), func(pages map[index.Part]*index.Page) {
			for _, cluster := range []string{"k-alpha", "k-beta"} {
				if page := pages[index.Part{Cluster: cluster}]; page != nil && len(page.Items) > 0 {
					parts = append(parts, podNames(page))
				}
			}
		})
		var pages []string
		for _, cluster := range []string{"k-alpha", "k-beta"} {
			page, err := r.PageOf(ctx, index.Part{Cluster: cluster}, podsIn())
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Items) > 0 {
				pages = append(pages, podNames(page))
			}
		}
		for what, got := range map[string][]string{"ahead": parts, "in each instance": pages} {
			if diff := cmp.Diff(want.pods, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s sees %s (-want +got):\n%s", person, what, diff)
			}
		}
	}
}

// TestPodsOfNamespaces checks that a filter by namespace does not make a part of what is seen as a whole.
func TestPodsOfNamespaces(t *testing.T) {
	below := newPodRows()
	q := podsIn("k-alpha")
	q.Namespaces = []string{"shop"}
	r := access.NewReader(below, authz.NewResolver(&fakeRules{}, nil, standing, nil), joined)
	page, err := r.List(as(t, "namespaces"), q)
	if err != nil || podNames(page) != "alpha/m1/shop" || len(below.queries[0].Scopes) != 0 {
		t.Errorf("got %s, %v; asked with %+v", podNames(page), err, below.queries)
	}
}

// TestPodsOutsideAreRefused: a page with a pod that was not to be read is refused as a whole.
func TestPodsOutsideAreRefused(t *testing.T) {
	resolver := authz.NewResolver(&fakeRules{}, nil, standing, nil)
	for _, person := range []string{"alice", "bob", "shop", "mixed"} {
		below := newPodRows()
		below.unfiltered = true
		if page, err := access.NewReader(below, resolver, joined).List(as(t, person), podsIn("k-alpha", "k-beta")); !apierror.Is(err, apierror.CodeInternal) {
			t.Errorf("%s: got %+v, %v", person, page, err)
		}
	}
	// A pod that says another instance than its own is in none.
	below := newPodRows()
	below.has = []projection.PodItem{{PodPosition: projection.PodPosition{PodKey: projection.PodKey{Instance: "alpha", Cluster: "m3", Namespace: "billing", Name: "x"}}}}
	if page, err := access.NewReader(below, resolver, joined).List(as(t, "alice"), podsIn("k-alpha")); err != nil || len(page.Items) != 0 {
		t.Errorf("got %+v, %v", page, err)
	}
}
