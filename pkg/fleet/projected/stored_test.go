package projected

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// TestGetMany: workloads of instances come from the projection with their states, all of
// them with one statement, and anything else from the index.
func TestGetMany(t *testing.T) {
	w := built(t)
	pod := index.Key{Cluster: "k-alpha", Type: index.Pods, Namespace: "shop", Name: "a"}
	member := of("a")
	member.Cluster = "m1"
	w.objects.has[pod] = &index.Object{Cluster: pod.Cluster, Kind: pod.Type.Kind}
	there := stored("a", "uid", "7")
	there.Cluster = "m1"
	w.index.Save(t, there)
	w.index.Delete(t, stored("b", "uid", "7"))
	ctx, used := requeststats.With(t.Context())
	found, err := w.GetMany(ctx, []index.Key{of("b"), of("a"), of("none"), pod, member}, index.Known)
	w.do(t, err)
	if len(found) != 4 || found[of("b")].State.Health != "DEGRADED" || found[of("b")].Meta.Name != "b" || found[of("a")].State.Health != "HEALTHY" {
		t.Fatalf("got %+v", found)
	}
	if found[pod].State != nil || found[member].State != nil {
		t.Errorf("what is no workload of an instance has the states %v and %v", found[pod].State, found[member].State)
	}
	if at := found[of("a")].AsOf; at.IsZero() || at.After(time.Now()) {
		t.Errorf("it is as of %s", at)
	}
	if n := used.Uses()[0].Requests; n != 2 {
		t.Errorf("%d statements were sent, want 2", n)
	}
	for _, detail := range []index.Detail{index.Whole, index.Known, index.Metadata} {
		found, err := w.GetMany(t.Context(), []index.Key{member}, detail)
		o := found[member]
		if err != nil || o == nil || o.Cluster != "m1" || o.Kind != "Deployment" || o.APIVersion != "apps/v1" || o.MetadataOnly() != (detail == index.Metadata) {
			t.Fatalf("in detail %d: got %+v, %v", detail, o, err)
		}
		if diff := cmp.Diff(map[string]string{"its": "own"}, o.Meta.Annotations); diff != "" || string(o.Meta.UID) != "uid" {
			t.Errorf("in detail %d (-want +got):\n%s", detail, diff)
		}
		if d, err := index.Decode[appsv1.Deployment](o); err != nil || detail != index.Metadata && *d.Spec.Replicas != 3 {
			t.Errorf("in detail %d: it is decoded as %+v, %v", detail, d, err)
		}
	}
}

// TestStatesOfWholeObjects: a whole object comes from the index, and has the state that the
// projection has of the same version of it.
func TestStatesOfWholeObjects(t *testing.T) {
	for _, tt := range []struct {
		reason       string
		uid, version string
		known        bool
	}{
		{"the same version", "uid", "7", true},
		{"another version", "uid", "8", false},
		{"another object of the name", "other", "7", false},
	} {
		w := built(t)
		known := row("a", "DEGRADED")
		known.UID, known.ResourceVersion = "uid", "7"
		w.index.Save(t, stored("a", tt.uid, tt.version))
		w.round(t, &projection.Writes{Workloads: []projection.Workload{known}})
		check := func(how string, got *index.Object, err error) {
			t.Helper()
			if err != nil || got == nil || (got.State != nil) != tt.known || tt.known && got.State.Health != "DEGRADED" {
				t.Errorf("%s, %s: got %+v, %v", tt.reason, how, got, err)
			}
		}
		found, err := w.GetMany(t.Context(), []index.Key{of("a")}, index.Whole)
		check("by its key", found[of("a")], err)
		listed := func() []*index.Object {
			o := &index.Object{Cluster: "k-alpha", Kind: "Deployment"}
			o.Meta.Namespace, o.Meta.Name, o.Meta.UID, o.Meta.ResourceVersion = "shop", "a", types.UID(tt.uid), tt.version
			return []*index.Object{o}
		}
		w.objects.page = listed()
		page, err := w.List(t.Context(), index.ListQuery{Types: []index.Type{index.Deployments}, Clusters: []string{"k-alpha"}, Limit: 1})
		check("in a list", page.Items[0], err)
		w.objects.page = listed()
		part := index.Part{Cluster: "k-alpha"}
		pages, err := w.ListParts(t.Context(), index.ListQuery{Types: []index.Type{index.Deployments}, Limit: 1}, []index.Part{part})
		check("in a part of a list", pages[part].Items[0], err)
	}
}
