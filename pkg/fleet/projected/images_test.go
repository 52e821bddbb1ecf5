package projected

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// TestImages checks that every part of a query arrives, with one reach for pods and for workloads.
func TestImages(t *testing.T) {
	s, r, _ := podSource()
	q := podsOf(index.PodFilter{Clusters: []string{"m1"}})
	q.Scopes = []index.Scope{{Cluster: "k-beta", Namespaces: []string{"billing"}}}
	q.Namespaces, q.Confined, q.Order.Desc, q.After = []string{"shop"}, true, true, &index.Position{Name: "web:0", Pods: 9}
	filter := projection.ImageFilter{Registry: "r", Repository: "p", Tag: "t", Digest: "d", Words: []string{"w"}}
	q.Projected.ImageList = &index.ImageList{ImageFilter: filter, ByPods: true, Workloads: 3, Clusters: 4}
	page, err := s.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	in := []projection.Scope{{Instance: "beta", Namespaces: []string{"billing"}}}
	want := &projection.ImageQuery{
		Pods:        &projection.PodQuery{Instances: []string{"alpha"}, Scopes: in, Clusters: []string{"m1"}, Namespaces: []string{"shop"}, Confined: true, Order: projection.PodOrder{Desc: true}, After: &projection.PodPosition{PodKey: projection.PodKey{Name: "web:0"}, CreatedAt: time.Time{}.Unix()}, Limit: 2, WithCount: true},
		Workloads:   &projection.Query{Instances: []string{"alpha"}, Scopes: in, Namespaces: []string{"shop"}, ScheduledTo: []string{"m1"}, Confined: true},
		ImageFilter: filter, Order: projection.ImageOrder{ByPods: true, Desc: true}, After: &projection.ImagePosition{Reference: "web:0", Pods: 9}, Limit: 2, WithCount: true, MostWorkloads: 3, MostClusters: 4,
	}
	if diff := cmp.Diff(want, r.images); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(page.Images) != 1 || page.Images[0].Pods != 3 || !page.HasNext || *page.Count != 7 || !page.AsOf.Equal(podsNow.Add(-2*time.Second)) {
		t.Errorf("got %+v", page)
	}
}
