package projected

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// owning is a world with pods that owners in two member clusters have.
func owning(t *testing.T) *world {
	t.Helper()
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
	return w
}

// addRows stores the rows of the pods, but for the one that is named.
func (w *world) addRows(t *testing.T, but string) {
	t.Helper()
	w.do(t, w.writes.RebuildPods(t.Context()))
	writes := &projection.Writes{Pods: projection.PodWrites{Complete: true}}
	for _, p := range []projection.IndexPodKey{{Cluster: "m1", Namespace: "shop", Name: "a-1-x"}, {Cluster: "m1", Namespace: "shop", Name: "a-1-y"}, {Cluster: "m2", Namespace: "shop", Name: "not-a"}, {Cluster: "m2", Namespace: "shop", Name: "b-0"}} {
		if p.Name != but {
			row := projection.PodRow{IndexPodKey: p, Instance: "alpha", UID: p.Name, Phase: "RUNNING", LabelKV: []string{}, Images: []string{}, ImageKeys: []string{}, Projection: projection.PodVersion}
			writes.Pods.Rows = append(writes.Pods.Rows, row)
		}
	}
	w.round(t, writes)
}

func ownerOf(cluster string, uid types.UID, detail index.Detail) index.PodOwner {
	return index.PodOwner{Owner: index.Owner{Cluster: cluster, UID: uid}, Namespace: "shop", Detail: detail}
}

// podsOf returns the names of the pods of some owners, of all details, and how many statements read them.
func (w *world) podsOf(t *testing.T, owners ...index.PodOwner) (names map[index.PodOwner]string, pods map[index.PodOwner][]*index.Object, statements int) {
	t.Helper()
	ctx, used := requeststats.With(t.Context())
	pods, err := w.PodsOf(ctx, owners)
	w.do(t, err)
	names = map[index.PodOwner]string{}
	for o, all := range pods {
		names[o] = namesOf(&index.Page{Items: all})
	}
	for _, use := range used.Uses() {
		statements += use.Requests
	}
	return names, pods, statements
}

// TestPodsOf: pods are read with one statement, each for its own owner; from their rows where these suffice.
func TestPodsOf(t *testing.T) {
	for _, detail := range []index.Detail{index.Whole, index.Metadata} {
		w := owning(t)
		w.addRows(t, "")
		got, pods, statements := w.podsOf(t, ownerOf("m1", "uid-a", detail), ownerOf("m2", "uid-b", detail), ownerOf("m1", "none", detail))
		if diff := cmp.Diff(map[index.PodOwner]string{ownerOf("m1", "uid-a", detail): "a-1-x a-1-y", ownerOf("m2", "uid-b", detail): "b-0"}, got); diff != "" {
			t.Errorf("in detail %d (-want +got):\n%s", detail, diff)
		}
		if statements != 1 {
			t.Errorf("in detail %d: %d statements were sent, want 1", detail, statements)
		}
		pod := pods[ownerOf("m1", "uid-a", detail)][1]
		if pod.Cluster != "m1" || pod.Kind != "Pod" || (pod.Pod != nil) != (detail == index.Metadata) {
			t.Errorf("in detail %d: the pod is %+v", detail, pod)
		}
		if detail == index.Metadata {
			continue
		}
		if decoded, err := index.Decode[corev1.Pod](pod); err != nil || decoded.Spec.NodeName != "n" {
			t.Errorf("the pod is decoded as %+v, %v", decoded, err)
		}
	}
}

// TestPodsOfBothDetails: of one owner, rows and whole objects can be wanted at the same time.
func TestPodsOfBothDetails(t *testing.T) {
	for _, built := range []bool{true, false} {
		w := owning(t)
		if built {
			w.addRows(t, "")
		}
		rows, whole := ownerOf("m2", "uid-b", index.Metadata), ownerOf("m2", "uid-b", index.Whole)
		got, pods, _ := w.podsOf(t, rows, whole)
		if diff := cmp.Diff(map[index.PodOwner]string{rows: "b-0", whole: "b-0"}, got); diff != "" {
			t.Fatalf("with rows %t (-want +got):\n%s", built, diff)
		}
		if (pods[rows][0].Pod != nil) != built || pods[whole][0].Pod != nil {
			t.Errorf("with rows %t: the pods are %+v and %+v", built, pods[rows][0], pods[whole][0])
		}
	}
}

// TestPodsOfLateRows: pods are read as they are stored where their rows are late.
func TestPodsOfLateRows(t *testing.T) {
	w := owning(t)
	w.addRows(t, "b-0")
	rows := ownerOf("m2", "uid-b", index.Metadata)
	if got, _, _ := w.podsOf(t, rows); got[rows] != "" {
		t.Fatalf("a pod without a row is not shown yet: got %v", got)
	}
	w.index.Exec(t, "INSERT INTO kairship.pod_outbox (cluster, namespace, name, at) VALUES ('m2', 'shop', 'b-0', 1)")
	if got, pods, _ := w.podsOf(t, rows); got[rows] != "b-0" || pods[rows][0].Pod != nil {
		t.Errorf("got %v", got)
	}
}
