package membercluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// rows is an index.Reader with the members of alpha.
type rows struct {
	index.Reader
	has   []*index.Object
	asked []index.ListQuery
}

func (r *rows) PageOf(_ context.Context, part index.Part, q index.ListQuery) (*index.Page, error) {
	r.asked = append(r.asked, q)
	q.Clusters = []string{part.Cluster}
	return q.Pick(r.has), nil
}

func TestListByProperties(t *testing.T) {
	r := &rows{}
	for _, m := range []struct{ name, provider, taint, effect string }{{"a", "acme", "x", "NoSchedule"}, {"b", "other", "x", "NoExecute"}, {"c", "acme", "", ""}} {
		row := member("k-alpha", m.name)
		row.Body = map[string]any{"spec": map[string]any{"provider": m.provider, "taints": []any{map[string]any{"key": "suite", "value": m.taint, "effect": m.effect}}}}
		r.has = append(r.has, fleettest.Object(t, row, index.Whole))
	}
	clock := func() time.Time { return time.Unix(0, 0) }
	tracker := &freshness.Tracker{Inventory: fleettest.Inventory(t), Now: clock, Collector: freshness.NewHeartbeat(clock), Global: freshness.NewHeartbeat(clock)}
	members := membercluster.NewService(&listing.Lister{Reader: r, Freshness: tracker, Now: clock})
	facets := listing.Facets{Fields: []projection.FacetField{"PROVIDER"}, Values: 10}
	for _, tt := range []struct {
		reason string
		filter *membercluster.Filter
		want   string
		facet  []projection.FacetValue
	}{
		{"none", nil, "a b c", []projection.FacetValue{{Value: "acme", Count: 2}, {Value: "other", Count: 1}}},
		{"provider", &membercluster.Filter{PropertyFilter: cluster.PropertyFilter{Provider: []string{"acme"}}}, "a c", []projection.FacetValue{{Value: "acme", Count: 2}}},
		{"a taint", &membercluster.Filter{Taint: &membercluster.TaintFilter{Key: "suite"}}, "a b c", []projection.FacetValue{{Value: "acme", Count: 2}, {Value: "other", Count: 1}}},
		{"another taint", &membercluster.Filter{Taint: &membercluster.TaintFilter{Key: "none"}}, "", nil},
		{"the value of a taint", &membercluster.Filter{Taint: &membercluster.TaintFilter{Key: "suite", Value: new("")}}, "c", []projection.FacetValue{{Value: "acme", Count: 1}}},
		{"the effect of a taint", &membercluster.Filter{Taint: &membercluster.TaintFilter{Key: "suite", Value: new("x"), Effect: new("NoExecute")}}, "b", []projection.FacetValue{{Value: "other", Count: 1}}},
		{"names too", &membercluster.Filter{Name: []string{"b", "c"}, PropertyFilter: cluster.PropertyFilter{Provider: []string{"acme"}}}, "c", []projection.FacetValue{{Value: "acme", Count: 1}}},
	} {
		r.asked = nil
		c, err := members.List(t.Context(), "alpha", page.Args{First: new(1)}, tt.filter, nil, listing.Needs{Count: true, Facets: facets}, func([]*index.Object) {})
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(tt.want)
		if *c.TotalCount != len(want) || len(c.Nodes) != min(1, len(want)) || len(want) > 0 && c.Nodes[0].Name() != want[0] {
			t.Errorf("%s: got %d of %d", tt.reason, len(c.Nodes), *c.TotalCount)
		}
		got, err := listing.FacetsBy(c, []cluster.FacetField{cluster.FacetProvider}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]cluster.Facet{{Field: cluster.FacetProvider, Values: tt.facet, TotalValues: len(tt.facet)}}, got); diff != "" {
			t.Errorf("%s: facets (-want +got):\n%s", tt.reason, diff)
		}
		if len(r.asked) != 1 {
			t.Errorf("%s: it costs %d requests", tt.reason, len(r.asked))
		}
	}
}
