package projected

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
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

// TestPodsOf: pods are read with one statement, each for its own owner.
func TestPodsOf(t *testing.T) {
	w := built(t)
	for _, o := range []projectiontest.Object{
		{Cluster: "m1", Group: "apps", Version: "v1", Resource: "replicasets", Namespace: "shop", Name: "a-1", UID: "rs", OwnerUID: "uid-a", Text: "{}"},
		{Cluster: "m1", Version: "v1", Resource: "pods", Namespace: "shop", Name: "a-1-y", UID: "y", OwnerUID: "rs", Text: `{"metadata": {"name": "a-1-y"}, "spec": {"nodeName": "n"}}`},
		{Cluster: "m1", Version: "v1", Resource: "pods", Namespace: "shop", Name: "a-1-x", UID: "x", OwnerUID: "rs", Text: `{"metadata": {"name": "a-1-x"}}`},
		{Cluster: "m2", Version: "v1", Resource: "pods", Namespace: "shop", Name: "not-a", UID: "z", OwnerUID: "uid-a", Text: `{"metadata": {"name": "not-a"}}`},
		{Cluster: "m2", Version: "v1", Resource: "pods", Namespace: "shop", Name: "b-0", UID: "b", OwnerUID: "uid-b", Text: `{"metadata": {"name": "b-0"}}`},
	} {
		o.ResourceVersion = "1"
		w.index.Save(t, o)
	}
	owner := func(cluster string, uid types.UID) index.PodOwner {
		return index.PodOwner{Owner: index.Owner{Cluster: cluster, UID: uid}, Namespace: "shop"}
	}
	ctx, used := requeststats.With(t.Context())
	pods, err := w.PodsOf(ctx, []index.PodOwner{owner("m1", "uid-a"), owner("m2", "uid-b"), owner("m1", "none")})
	w.do(t, err)
	got := map[index.PodOwner]string{}
	for o, all := range pods {
		got[o] = namesOf(&index.Page{Items: all})
	}
	if diff := cmp.Diff(map[index.PodOwner]string{owner("m1", "uid-a"): "a-1-x a-1-y", owner("m2", "uid-b"): "b-0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := used.Uses()[0].Requests; n != 1 {
		t.Errorf("%d statements were sent, want 1", n)
	}
	pod := pods[owner("m1", "uid-a")][1]
	if decoded, err := index.Decode[corev1.Pod](pod); err != nil || pod.Cluster != "m1" || pod.Kind != "Pod" || decoded.Spec.NodeName != "n" {
		t.Errorf("the pod is %+v, decoded %+v, %v", pod, decoded, err)
	}
}
