package pod

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/component-helpers/resource"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// ContainerType is what a container is for.
type ContainerType string

// The types.
const (
	ContainerInit      ContainerType = "INIT"
	ContainerSidecar   ContainerType = "SIDECAR"
	ContainerMain      ContainerType = "MAIN"
	ContainerEphemeral ContainerType = "EPHEMERAL"
)

// ContainerState is what a container is doing.
type ContainerState string

// The states.
const (
	ContainerWaiting    ContainerState = "WAITING"
	ContainerRunning    ContainerState = "RUNNING"
	ContainerTerminated ContainerState = "TERMINATED"
)

// Container is a container of a pod, with what the kubelet reports of it.
type Container struct {
	Name             string
	Type             ContainerType
	Image            string
	ImageID          *string
	Ready            bool
	Restarts         int
	State            ContainerState
	Reason, Message  *string
	StartedAt        *time.Time
	Termination      *Termination
	LastTermination  *Termination
	Requests, Limits object.ComputeResources
}

// Termination is how a container ended.
type Termination struct {
	ExitCode              int
	Signal                *int
	Reason, Message       *string
	StartedAt, FinishedAt *time.Time
}

// Conditions are the pod's state in detail.
func (p *Pod) Conditions() ([]object.Condition, error) {
	whole, err := index.Decode[corev1.Pod](p.Indexed)
	if err != nil {
		return nil, err
	}
	conditions := make([]metav1.Condition, len(whole.Status.Conditions))
	for i := range whole.Status.Conditions {
		c := &whole.Status.Conditions[i]
		conditions[i] = metav1.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime, ObservedGeneration: c.ObservedGeneration,
		}
	}
	return object.Conditions(conditions), nil
}

// Containers are the pod's containers, in the order in which they start.
func (p *Pod) Containers() ([]Container, error) {
	whole, err := index.Decode[corev1.Pod](p.Indexed)
	if err != nil {
		return nil, err
	}
	return containersOf(whole), nil
}

// Requests are what a node must have free for the pod.
func (p *Pod) Requests() (object.ComputeResources, error) {
	whole, err := index.Decode[corev1.Pod](p.Indexed)
	if err != nil {
		return object.ComputeResources{}, err
	}
	return object.ComputeResourcesOf(podresources.PodRequests(whole, podresources.PodResourcesOptions{})), nil
}

// Limits are what the pod may use at most. What one container may use without a limit, the pod may too.
func (p *Pod) Limits() (object.ComputeResources, error) {
	whole, err := index.Decode[corev1.Pod](p.Indexed)
	if err != nil {
		return object.ComputeResources{}, err
	}
	return object.ComputeResourcesOf(limitsOf(whole)), nil
}

func limitsOf(whole *corev1.Pod) corev1.ResourceList {
	limits := podresources.PodLimits(whole, podresources.PodResourcesOptions{})
	given := corev1.ResourceList{}
	if whole.Spec.Resources != nil {
		given = whole.Spec.Resources.Limits
	}
	for name := range limits {
		if _, ofPod := given[name]; ofPod {
			continue
		}
		for i := range whole.Spec.Containers {
			if _, limited := whole.Spec.Containers[i].Resources.Limits[name]; !limited {
				delete(limits, name)
			}
		}
	}
	return limits
}

func containersOf(whole *corev1.Pod) []Container {
	containers := []Container{}
	for i := range whole.Spec.InitContainers {
		c := &whole.Spec.InitContainers[i]
		of := ContainerInit
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			of = ContainerSidecar
		}
		containers = append(containers, containerOf(of, c, whole.Status.InitContainerStatuses))
	}
	for i := range whole.Spec.Containers {
		containers = append(containers, containerOf(ContainerMain, &whole.Spec.Containers[i], whole.Status.ContainerStatuses))
	}
	for i := range whole.Spec.EphemeralContainers {
		c := corev1.Container(whole.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		containers = append(containers, containerOf(ContainerEphemeral, &c, whole.Status.EphemeralContainerStatuses))
	}
	return containers
}

// containerOf is a container with its status among those that the kubelet reports.
func containerOf(of ContainerType, c *corev1.Container, reported []corev1.ContainerStatus) Container {
	out := Container{
		Name: c.Name, Type: of, Image: c.Image, State: ContainerWaiting,
		Requests: object.ComputeResourcesOf(c.Resources.Requests), Limits: object.ComputeResourcesOf(c.Resources.Limits),
	}
	for i := range reported {
		status := &reported[i]
		if status.Name != c.Name {
			continue
		}
		out.ImageID, out.Ready, out.Restarts = object.Optional(status.ImageID), status.Ready, int(status.RestartCount)
		out.LastTermination = terminationOf(status.LastTerminationState.Terminated)
		switch now := status.State; {
		case now.Running != nil:
			out.State, out.StartedAt = ContainerRunning, object.Time(now.Running.StartedAt)
		case now.Terminated != nil:
			out.State, out.Termination = ContainerTerminated, terminationOf(now.Terminated)
			out.Reason, out.Message, out.StartedAt = out.Termination.Reason, out.Termination.Message, out.Termination.StartedAt
		case now.Waiting != nil:
			out.Reason, out.Message = object.Optional(now.Waiting.Reason), object.Optional(now.Waiting.Message)
		}
	}
	return out
}

func terminationOf(in *corev1.ContainerStateTerminated) *Termination {
	if in == nil {
		return nil
	}
	out := &Termination{
		ExitCode: int(in.ExitCode), Reason: object.Optional(in.Reason), Message: object.Optional(in.Message),
		StartedAt: object.Time(in.StartedAt), FinishedAt: object.Time(in.FinishedAt),
	}
	if in.Signal != 0 {
		out.Signal = new(int(in.Signal))
	}
	return out
}
