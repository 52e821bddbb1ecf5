package instancelifecycle

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestObstacles(t *testing.T) {
	waiting := func(name, reason string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "k-alpha", Name: name},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				{Image: "registry.example.com/etcd:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "words"}}},
			}},
		}
	}
	unscheduled := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "alpha-karmada-etcd-0"},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "unbound claims"}}},
	}
	refused := func(name, message string) corev1.Event {
		return corev1.Event{Reason: "FailedCreate", InvolvedObject: corev1.ObjectReference{Name: name}, Message: message}
	}
	for _, c := range []struct {
		reason string
		pods   []corev1.Pod
		events []corev1.Event
		want   string
	}{
		{"nothing is in the way", []corev1.Pod{waiting("alpha-karmada-etcd-0", "ContainerCreating")}, nil, ""},
		{
			"an image that is missing is named, with what to change", []corev1.Pod{waiting("alpha-karmada-etcd-0", "ImagePullBackOff")}, nil,
			"Not started: etcd-0 cannot have the image registry.example.com/etcd:1 (put it there, or change imageRegistry or karmadaVersion).",
		},
		{"a pod without a node", []corev1.Pod{unscheduled}, nil, "Not started: etcd-0 is on no node: unbound claims (give the host room or the volume that it asks for)."},
		{
			"a quota leaves no pod to look at", nil, []corev1.Event{refused("alpha-karmada-etcd", "exceeded quota")},
			"Not started: etcd has no pod: exceeded quota (change what refuses it on the host, such as a quota).",
		},
		{"an event of before is not an obstacle", []corev1.Pod{waiting("alpha-karmada-etcd-0", "ContainerCreating")}, []corev1.Event{refused("alpha-karmada-etcd", "exceeded quota")}, ""},
		{
			"a program that ends", []corev1.Pod{waiting("alpha-karmada-descheduler-x", "CrashLoopBackOff")}, nil,
			"Not started: descheduler-x ends again and again after its start (see the log of pod alpha-karmada-descheduler-x in namespace k-alpha of the host).",
		},
	} {
		if got := obstacles("alpha", c.pods, c.events); got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
	many := obstacles("alpha", []corev1.Pod{waiting("a", "ErrImagePull"), waiting("b", "ErrImagePull"), waiting("c", "ErrImagePull")}, nil)
	if !strings.HasSuffix(many, "; and 1 more.") {
		t.Errorf("three obstacles are told as %q", many)
	}
}
