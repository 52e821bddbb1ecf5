package pod

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

func amounts(cpu, memory string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, amount := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
		if amount != "" {
			list[name] = resource.MustParse(amount)
		}
	}
	return list
}

func of(cpu, memory float64) object.ComputeResources {
	return object.ComputeResources{CPU: &cpu, Memory: &memory}
}

// crashing is a pod with a container of each type, of which one crashes again and again.
func crashing() *corev1.Pod {
	began, ended := metav1.Unix(1000, 0), metav1.Unix(1010, 0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{
				{Name: "schema", Image: "schema:1", Resources: corev1.ResourceRequirements{Requests: amounts("2", "64Mi")}},
				{Name: "proxy", Image: "proxy:1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Resources: corev1.ResourceRequirements{Requests: amounts("100m", "")}},
			},
			Containers: []corev1.Container{
				{Name: "web", Image: "web:1", Resources: corev1.ResourceRequirements{Requests: amounts("500m", "128Mi"), Limits: amounts("1", "256Mi")}},
				{Name: "metrics", Image: "metrics:1", Resources: corev1.ResourceRequirements{Requests: amounts("", "32Mi"), Limits: amounts("", "32Mi")}},
			},
			EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "shell", Image: "busybox"}}},
		},
		Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", Message: "web", LastTransitionTime: ended, ObservedGeneration: 2}},
			InitContainerStatuses: []corev1.ContainerStatus{
				{Name: "proxy", Ready: true, ImageID: "proxy@sha256:1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}},
				{Name: "schema", Ready: true, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: began, FinishedAt: ended}}},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "web", RestartCount: 4, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Signal: 9, Reason: "OOMKilled", StartedAt: began, FinishedAt: ended}},
			}},
		},
	}
}

// TestContainers has a status of one container of each state, in another order than the containers, and
// two of which nothing is reported.
func TestContainers(t *testing.T) {
	began, ended := time.Unix(1000, 0).UTC(), time.Unix(1010, 0).UTC()
	want := []Container{
		{
			Name: "schema", Type: ContainerInit, Image: "schema:1", Ready: true, State: ContainerTerminated, Reason: new("Completed"), StartedAt: &began,
			Termination: &Termination{Reason: new("Completed"), StartedAt: &began, FinishedAt: &ended}, Requests: of(2, 64<<20),
		},
		{Name: "proxy", Type: ContainerSidecar, Image: "proxy:1", ImageID: new("proxy@sha256:1"), Ready: true, State: ContainerRunning, StartedAt: &began, Requests: object.ComputeResources{CPU: new(0.1)}},
		{
			Name: "web", Type: ContainerMain, Image: "web:1", Restarts: 4, State: ContainerWaiting, Reason: new("CrashLoopBackOff"), Message: new("back-off 40s"),
			LastTermination: &Termination{ExitCode: 137, Signal: new(9), Reason: new("OOMKilled"), StartedAt: &began, FinishedAt: &ended},
			Requests:        of(0.5, 128<<20), Limits: of(1, 256<<20),
		},
		{Name: "metrics", Type: ContainerMain, Image: "metrics:1", State: ContainerWaiting, Requests: object.ComputeResources{Memory: new(32.0 * (1 << 20))}, Limits: object.ComputeResources{Memory: new(32.0 * (1 << 20))}},
		{Name: "shell", Type: ContainerEphemeral, Image: "busybox", State: ContainerWaiting},
	}
	p := whole(t, crashing())
	got, err := p.Containers()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	conditions, err := p.Conditions()
	if diff := cmp.Diff([]object.Condition{{Type: "Ready", Status: "False", Reason: "ContainersNotReady", Message: "web", LastTransitionTime: &ended, ObservedGeneration: new(int64(2))}}, conditions); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestRequestsAndLimitsOfAPod(t *testing.T) {
	p := whole(t, crashing())
	requests, err := p.Requests()
	if diff := cmp.Diff(of(2, 160<<20), requests); err != nil || diff != "" {
		t.Errorf("the init container asks for most CPU, the others together for most memory: %v (-want +got):\n%s", err, diff)
	}
	limits, err := p.Limits()
	if diff := cmp.Diff(object.ComputeResources{Memory: new(288.0 * (1 << 20))}, limits); err != nil || diff != "" {
		t.Errorf("one container may use all CPU there is: %v (-want +got):\n%s", err, diff)
	}
	given := crashing()
	given.Spec.Resources = &corev1.ResourceRequirements{Limits: amounts("3", "")}
	limits, err = whole(t, given).Limits()
	if err != nil || limits.CPU == nil || *limits.CPU != 3 {
		t.Errorf("the pod has a limit of its own: %+v, %v", limits, err)
	}
	raw, err := json.Marshal(crashing())
	if err != nil {
		t.Fatal(err)
	}
	observed := &Observed{}
	if err := json.Unmarshal(raw, observed); err != nil {
		t.Fatal(err)
	}
	if cpu, memory := observed.Requests(); cpu != 2 || memory != 160<<20 {
		t.Errorf("the projection has %v cores and %v bytes of it", cpu, memory)
	}
	nothing, err := whole(t, &corev1.Pod{}).Requests()
	if err != nil || nothing.CPU != nil || nothing.Memory != nil {
		t.Errorf("a pod that asks for nothing: %+v, %v", nothing, err)
	}
}

// whole is a pod as the index has stored it.
func whole(t *testing.T, p *corev1.Pod) *Pod {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := index.NewStored(index.Key{Cluster: "m1", Type: index.Pods, Namespace: p.Namespace, Name: p.Name}, raw, index.Whole)
	if err != nil {
		t.Fatal(err)
	}
	out, err := New("alpha", stored, freshness.Freshness{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
