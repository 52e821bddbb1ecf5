package cluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/projection"
)

func TestPropertyFilter(t *testing.T) {
	has := &cluster.Properties{Provider: "acme", Region: "north", Zones: []string{"z1", "z2"}, KubernetesVersion: "v1.36.2", Ready: true}
	bare := &cluster.Properties{}
	version := func(v string) cluster.PropertyFilter { return cluster.PropertyFilter{KubernetesVersion: []string{v}} }
	for _, tt := range []struct {
		reason         string
		filter         cluster.PropertyFilter
		matches, empty bool
	}{
		{"no filter", cluster.PropertyFilter{}, true, true},
		{"provider", cluster.PropertyFilter{Provider: []string{"other", "acme"}}, true, false},
		{"another provider", cluster.PropertyFilter{Provider: []string{"acm"}}, false, false},
		{"no value of a list", cluster.PropertyFilter{Provider: []string{}}, false, false},
		{"an empty text stands for none", cluster.PropertyFilter{Region: []string{""}}, false, true},
		{"region", cluster.PropertyFilter{Region: []string{"north"}}, true, false},
		{"one of its zones", cluster.PropertyFilter{Zone: []string{"z2"}}, true, false},
		{"no zone", cluster.PropertyFilter{Zone: []string{""}}, false, true},
		{"both have to hold", cluster.PropertyFilter{Zone: []string{"z2"}, Region: []string{"south"}}, false, false},
		{"a version", version("v1.36.2"), true, false},
		{"its beginning", version("v1.36"), true, false},
		{"without the letter", version("1."), true, false},
		{"in whole numbers", version("v1.3"), false, false},
		{"from the beginning", version("36"), false, false},
		{"no version", version(""), false, true},
		{"ready", cluster.PropertyFilter{Ready: new(true)}, true, false},
		{"not ready", cluster.PropertyFilter{Ready: new(false)}, false, true},
	} {
		if got := tt.filter.Matches(has); got != tt.matches {
			t.Errorf("%s: got %v", tt.reason, got)
		}
		if got := tt.filter.Matches(bare); got != tt.empty {
			t.Errorf("%s, of a cluster without any: got %v", tt.reason, got)
		}
	}
}

// Facets count the clusters of all pages that match, and no others.
func TestFacetsOfTheInventory(t *testing.T) {
	one := func(name, provider string, ready, hidden bool) *v1alpha1.Cluster {
		c := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Provider: provider, Hidden: hidden}}
		c.Name = name
		if ready {
			c.Status.Conditions = []metav1.Condition{v1alpha1.Ready("fine")}
		}
		return c
	}
	clock := func() time.Time { return time.Unix(0, 0) }
	inventory := fleettest.Inventory(t, one("a", "acme", true, false), one("b", "acme", false, false), one("c", "", true, false), one("d", "other", true, true))
	tracker := &freshness.Tracker{Inventory: inventory, Now: clock, Collector: freshness.NewHeartbeat(clock), Global: freshness.NewHeartbeat(clock)}
	facets := listing.Facets{Fields: []projection.FacetField{"PROVIDER", "READY", "ZONE"}, Values: 1}
	for _, tt := range []struct {
		reason string
		filter *cluster.Filter
		count  int
		want   []cluster.Facet
	}{
		{"all that are shown", nil, 3, []cluster.Facet{
			{Field: cluster.FacetProvider, Values: []projection.FacetValue{{Value: "acme", Count: 2}}, TotalValues: 1},
			{Field: cluster.FacetReady, Values: []projection.FacetValue{{Value: "true", Count: 2}}, TotalValues: 2}, {Field: cluster.FacetZone},
		}},
		{"under the filter of the list", &cluster.Filter{IncludeHidden: true, PropertyFilter: cluster.PropertyFilter{Provider: []string{"other"}}}, 1, []cluster.Facet{
			{Field: cluster.FacetProvider, Values: []projection.FacetValue{{Value: "other", Count: 1}}, TotalValues: 1},
			{Field: cluster.FacetReady, Values: []projection.FacetValue{{Value: "true", Count: 1}}, TotalValues: 1}, {Field: cluster.FacetZone},
		}},
	} {
		c, err := cluster.NewService(inventory, tracker).List(t.Context(), page.Args{First: new(1)}, tt.filter, nil, facets)
		if err != nil {
			t.Fatal(err)
		}
		got, err := listing.FacetsBy(c, []cluster.FacetField{cluster.FacetProvider, cluster.FacetReady, cluster.FacetZone}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || *c.TotalCount != tt.count {
			t.Errorf("%s: %d clusters (-want +got):\n%s", tt.reason, *c.TotalCount, diff)
		}
	}
}
