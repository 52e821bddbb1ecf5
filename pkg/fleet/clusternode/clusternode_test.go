package clusternode

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// stored is a node as the index has stored it.
func stored(t *testing.T, n *corev1.Node) *index.Object {
	t.Helper()
	raw, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	o, err := index.NewStored(index.Key{Cluster: "m1", Type: index.Type{Version: "v1", Resource: "nodes"}, Name: n.Name}, raw, index.Whole)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func busy() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/edge": "", "node-role.kubernetes.io/": ""}},
		Spec:       corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity:    corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("1Ki")},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3500m")},
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n1"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.Unix(1000, 0)}},
			NodeInfo:    corev1.NodeSystemInfo{KubeletVersion: "v1.36.0", OSImage: "Debian", KernelVersion: "6.1", ContainerRuntimeVersion: "containerd://2.1.4", Architecture: "amd64"},
		},
	}
}

func TestNode(t *testing.T) {
	n, err := New("alpha", stored(t, busy()), freshness.Freshness{})
	if err != nil {
		t.Fatal(err)
	}
	since := time.Unix(1000, 0).UTC()
	got := []any{n.ClusterName(), n.Name(), n.Roles(), n.Ready(), n.Unschedulable(), n.Conditions(), n.Taints(), n.Capacity(), n.Allocatable(), *n.KubeletVersion(), *n.OsImage(), *n.KernelVersion(), *n.ContainerRuntimeVersion(), *n.Architecture(), *n.InternalIP()}
	want := []any{
		"m1", "n1", []string{"edge", "worker"}, true, true,
		[]object.Condition{{Type: "Ready", Status: "True", Reason: "KubeletReady", LastTransitionTime: &since}},
		[]membercluster.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}},
		Resources{ComputeResources: object.ComputeResources{CPU: new(4.0), Memory: new(8.0 * (1 << 30))}, Pods: new(110), EphemeralStorage: new(1024.0)},
		Resources{ComputeResources: object.ComputeResources{CPU: new(3.5)}},
		"v1.36.0", "Debian", "6.1", "containerd://2.1.4", "amd64", "10.0.0.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	bare, err := New("alpha", stored(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}), freshness.Freshness{})
	if err != nil {
		t.Fatal(err)
	}
	if bare.Ready() || bare.KubeletVersion() != nil || bare.InternalIP() != nil || bare.Capacity() != (Resources{}) || bare.Roles() == nil || bare.Taints() == nil || bare.Conditions() == nil {
		t.Errorf("a node that never reported: %+v", bare)
	}
}

func TestFilter(t *testing.T) {
	lost := busy()
	lost.Spec, lost.Status.Conditions[0].Status = corev1.NodeSpec{}, corev1.ConditionUnknown
	lost.Status.NodeInfo.KubeletVersion = "v1.3.5"
	for _, tt := range []struct {
		name       string
		filter     Filter
		busy, lost bool
	}{
		{"everything", Filter{}, true, true},
		{"ready", Filter{Ready: new(true)}, true, false},
		{"not ready, as when nothing was heard", Filter{Ready: new(false)}, false, true},
		{"takes no pods", Filter{Unschedulable: new(true)}, true, false},
		{"takes pods", Filter{Unschedulable: new(false)}, false, true},
		{"a taint", Filter{Taint: &membercluster.TaintFilter{Key: "gpu", Effect: new("NoSchedule")}}, true, false},
		{"a taint of another effect", Filter{Taint: &membercluster.TaintFilter{Key: "gpu", Effect: new("NoExecute")}}, false, false},
		{"a version, in whole numbers", Filter{KubeletVersion: []string{"v1.3"}}, false, true},
		{"no version at all", Filter{KubeletVersion: []string{}}, false, false},
		{"both", Filter{Ready: new(true), Unschedulable: new(false)}, false, false},
	} {
		for of, want := range map[*corev1.Node]bool{busy(): tt.busy, lost: tt.lost} {
			got, err := tt.filter.selects(t.Context(), stored(t, of))
			if err != nil || got != want {
				t.Errorf("%s: got %v, %v of kubelet %s", tt.name, got, err, of.Status.NodeInfo.KubeletVersion)
			}
		}
	}
}
