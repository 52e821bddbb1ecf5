package pod

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

func status(s corev1.PodStatus) *corev1.Pod { return &corev1.Pod{Status: s} }

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "web", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func restarts(n int32) projection.PodPosition { return projection.PodPosition{Restarts: n} }

func TestRowOf(t *testing.T) {
	ended := func(code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "main", RestartCount: 2, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}}}
	}
	condition := func(typ corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: typ, Status: status, Reason: "Unschedulable", Message: "no node fits"}
	}
	for _, tt := range []struct {
		name string
		pod  *corev1.Pod
		want projection.PodItem
		why  string
	}{
		{"nothing", status(corev1.PodStatus{}), projection.PodItem{Phase: "PENDING"}, "a pod without a phase was just accepted"},
		{"running", status(corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue)}}), projection.PodItem{Phase: "RUNNING", Ready: true, PodIP: "10.0.0.1"}, "its condition is True"},
		{"not ready", status(corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionFalse)}}), projection.PodItem{Phase: "RUNNING"}, "its condition is False"},
		{"another phase", status(corev1.PodStatus{Phase: "Paused"}), projection.PodItem{Phase: "UNKNOWN"}, "the enum has no other value"},
		{"waiting", status(corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waiting("ImagePullBackOff", " no such image\n")}}), projection.PodItem{PodPosition: restarts(3), Phase: "PENDING", Message: "container web: ImagePullBackOff: no such image"}, "the container's reason"},
		{"failed", status(corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{ended(0), ended(1)}}), projection.PodItem{PodPosition: restarts(4), Phase: "FAILED", Message: "container main: Error"}, "the first container that ended badly"},
		{"a sidecar", &corev1.Pod{
			Spec:   corev1.PodSpec{InitContainers: []corev1.Container{{Image: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{waiting("CrashLoopBackOff", "")}},
		}, projection.PodItem{Phase: "PENDING", Images: []string{"sidecar"}}, "restarts and reasons are those of its containers"},
		{"deleted", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}, projection.PodItem{Phase: "RUNNING"}, "it goes on running until its containers ended"},
		{"evicted", status(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory.", ContainerStatuses: []corev1.ContainerStatus{ended(137)}}), projection.PodItem{PodPosition: restarts(2), Phase: "FAILED", Message: "The node was low on resource: memory."}, "the kubelet says why"},
		{"its node does not answer", status(corev1.PodStatus{Phase: corev1.PodUnknown}), projection.PodItem{Phase: "UNKNOWN"}, "Kubernetes does not know either"},
		{"its own message", status(corev1.PodStatus{Phase: corev1.PodFailed, Message: "evicted", ContainerStatuses: []corev1.ContainerStatus{waiting("x", "")}}), projection.PodItem{PodPosition: restarts(3), Phase: "FAILED", Message: "evicted"}, "the pod's own message is first"},
		{"not scheduled", status(corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{condition(corev1.PodScheduled, corev1.ConditionFalse)}}), projection.PodItem{Phase: "PENDING", Message: "Unschedulable: no node fits"}, "the scheduler's reason"},
		{
			"images", &corev1.Pod{Spec: corev1.PodSpec{
				NodeName: "n1", Containers: []corev1.Container{{Image: "b"}, {Image: "a"}, {Image: "b"}}, InitContainers: []corev1.Container{{Image: "a"}, {Image: "i"}},
			}}, projection.PodItem{Phase: "PENDING", NodeName: "n1", Images: []string{"b", "a", "i"}}, "each once, init containers last",
		},
	} {
		if tt.want.Images == nil {
			tt.want.Images = []string{}
		}
		if diff := cmp.Diff(&tt.want, rowOf(t, tt.pod)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.why, diff)
		}
	}
}

// TestOfBoth checks that a pod that was read whole and the row of the same pod show the same.
func TestOfBoth(t *testing.T) {
	p := status(corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{waiting("Error", "")}})
	p.Namespace, p.Name, p.UID, p.Labels, p.Spec.NodeName, p.Spec.Containers = "shop", "web-1", "u", map[string]string{"app": "web"}, "n1", []corev1.Container{{Image: "i"}}
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := index.NewStored(index.Key{Cluster: "m1", Type: index.Pods, Namespace: "shop", Name: "web-1"}, raw, index.Whole)
	if err != nil {
		t.Fatal(err)
	}
	row := rowOf(t, p)
	row.PodKey, row.UID, row.Labels = projection.PodKey{Instance: "alpha", Cluster: "m1", Namespace: "shop", Name: "web-1"}, "u", p.Labels
	var shown [2]map[string]any
	for i, o := range []*index.Object{stored, index.NewPod(row, now)} {
		pod, err := New("alpha", o, freshness.Freshness{})
		if err != nil {
			t.Fatal(err)
		}
		shown[i] = map[string]any{
			"instance": pod.InstanceName(), "cluster": pod.ClusterName(), "namespace": pod.Namespace(), "name": pod.Name(), "uid": pod.UID(), "labels": pod.Labels(),
			"phase": pod.Phase(), "ready": pod.Ready(), "restarts": pod.Restarts(), "node": *pod.NodeName(), "ip": *pod.PodIP(), "message": *pod.Message(), "images": pod.Images(),
		}
	}
	if diff := cmp.Diff(shown[0], shown[1]); diff != "" {
		t.Errorf("-whole +row:\n%s", diff)
	}
	if got := shown[1]; got["cluster"] != "m1" || got["phase"] != PhaseRunning || got["message"] != "container web: Error" {
		t.Errorf("the row shows %v", got)
	}
}

// rowOf returns what a row has of a pod that is stored.
func rowOf(t *testing.T, p *corev1.Pod) *projection.PodItem {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	observed := &Observed{}
	if err := json.Unmarshal(raw, observed); err != nil {
		t.Fatal(err)
	}
	return observed.row()
}
