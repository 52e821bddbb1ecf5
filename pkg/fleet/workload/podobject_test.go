package workload

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPodObject checks what is read of pods, also of odd ones, against the whole pods.
func TestPodObject(t *testing.T) {
	type want struct {
		phase    string
		ready    bool
		restarts int32
		message  string
		images   []string
	}
	always, deleted := corev1.ContainerRestartPolicyAlways, metav1.Now()
	ready := func(status corev1.ConditionStatus) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: status}}
	}
	waits := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
	}
	for name, tt := range map[string]struct {
		pod  corev1.Pod
		want want
	}{
		"no status": {corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "a"}}}}, want{phase: "PENDING", images: []string{"a"}}},
		"running": {
			corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: ready(corev1.ConditionTrue), ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 2}, {RestartCount: 3}}}},
			want{phase: "RUNNING", ready: true, restarts: 5},
		},
		"init containers and a sidecar": {
			corev1.Pod{
				Spec: corev1.PodSpec{
					Containers:     []corev1.Container{{Image: "b"}, {Image: "a"}, {Image: "b"}},
					InitContainers: []corev1.Container{{Image: "a"}, {Image: "sidecar", RestartPolicy: &always}},
				},
				Status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{{RestartCount: 9, State: waits("CrashLoopBackOff", "")}}},
			},
			want{phase: "PENDING", images: []string{"b", "a", "sidecar"}},
		},
		"deleted": {
			corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: ready(corev1.ConditionFalse)}},
			want{phase: "RUNNING"},
		},
		"evicted": {
			corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory.", ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: ended(137, "Error")}}}},
			want{phase: "FAILED", message: "The node was low on resource: memory."},
		},
		"a container crashes": {
			corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "well", State: ended(0, "Completed")}, {Name: "main", RestartCount: 7, State: waits("CrashLoopBackOff", "back-off")}}}},
			want{phase: "RUNNING", restarts: 7, message: "container main: CrashLoopBackOff: back-off"},
		},
		"a container ended badly": {
			corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: ended(1, "Error")}}}},
			want{phase: "FAILED", message: "container main: Error"},
		},
		"not scheduled": {
			corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}}}},
			want{phase: "PENDING", message: "Unschedulable: 0/3 nodes"},
		},
		"its node does not answer": {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodUnknown}}, want{phase: "UNKNOWN"}},
	} {
		text, err := json.Marshal(&tt.pod)
		if err != nil {
			t.Fatal(err)
		}
		var p PodObject
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatal(err)
		}
		got := want{PodPhaseName(p.Phase()), p.Ready(), p.Restarts(), p.Message(), p.Images()}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
