package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/component-helpers/resource"

	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Observed is the part of a corev1.Pod that answers about a pod, and rows of the projection, are
// computed from.
type Observed struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		NodeName       string                       `json:"nodeName"`
		Containers     []container                  `json:"containers"`
		InitContainers []container                  `json:"initContainers"`
		Overhead       corev1.ResourceList          `json:"overhead"`
		Resources      *corev1.ResourceRequirements `json:"resources"`
	} `json:"spec"`
	Status struct {
		Phase             corev1.PodPhase   `json:"phase"`
		Message           string            `json:"message"`
		PodIP             string            `json:"podIP"`
		Conditions        []condition       `json:"conditions"`
		ContainerStatuses []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type container struct {
	Image         string                         `json:"image"`
	Resources     corev1.ResourceRequirements    `json:"resources"`
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy"`
}

type condition struct {
	Type    corev1.PodConditionType `json:"type"`
	Status  corev1.ConditionStatus  `json:"status"`
	Reason  string                  `json:"reason"`
	Message string                  `json:"message"`
}

type containerStatus struct {
	Name         string `json:"name"`
	RestartCount int32  `json:"restartCount"`
	State        struct {
		Waiting *struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"waiting"`
		Terminated *struct {
			ExitCode int32  `json:"exitCode"`
			Reason   string `json:"reason"`
			Message  string `json:"message"`
		} `json:"terminated"`
	} `json:"state"`
}

// Phase returns the phase; that of a pod without a status is PhasePending.
func (p *Observed) Phase() Phase {
	if phase, known := phases[p.Status.Phase]; known {
		return phase
	}
	return PhaseUnknown
}

// Requests returns what a node must have free for the pod, as Pod.Requests does: CPU in cores and memory in bytes.
func (p *Observed) Requests() (cpu, memory float64) {
	of := func(in []container) []corev1.Container {
		out := make([]corev1.Container, len(in))
		for i := range in {
			out[i] = corev1.Container{Resources: in[i].Resources, RestartPolicy: in[i].RestartPolicy}
		}
		return out
	}
	whole := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: of(p.Spec.Containers), InitContainers: of(p.Spec.InitContainers), Overhead: p.Spec.Overhead, Resources: p.Spec.Resources,
	}}
	requests := podresources.PodRequests(whole, podresources.PodResourcesOptions{})
	return requests.Cpu().AsApproximateFloat64(), requests.Memory().AsApproximateFloat64()
}

// Ready reports whether all containers are ready.
func (p *Observed) Ready() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c condition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Restarts returns the restarts of all containers.
func (p *Observed) Restarts() int32 {
	var n int32
	for i := range p.Status.ContainerStatuses {
		n += p.Status.ContainerStatuses[i].RestartCount
	}
	return n
}

// Message returns why the pod is not as it should be: its own message, then the first container
// that waits or ended badly, then the scheduler's reason; empty when it is.
func (p *Observed) Message() string {
	if p.Status.Message != "" {
		return p.Status.Message
	}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			return fmt.Sprintf("container %s: %s", c.Name, object.JoinReason(c.State.Waiting.Reason, c.State.Waiting.Message))
		case c.State.Terminated != nil && c.State.Terminated.ExitCode != 0:
			return fmt.Sprintf("container %s: %s", c.Name, object.JoinReason(c.State.Terminated.Reason, c.State.Terminated.Message))
		}
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return object.JoinReason(c.Reason, c.Message)
		}
	}
	return ""
}

// Images returns those of the containers, init containers last, each once.
func (p *Observed) Images() []string {
	images := []string{}
	for _, list := range [][]container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			if !slices.Contains(images, list[i].Image) {
				images = append(images, list[i].Image)
			}
		}
	}
	return images
}

// SearchText returns the text in which words are searched for, as that of a template.
func (p *Observed) SearchText() string { return listing.SearchText(&p.ObjectMeta, p.Images()) }

// row is what a row of the projection has of the pod, but for its names and metadata.
func (p *Observed) row() *projection.PodItem {
	row := &projection.PodItem{Phase: string(p.Phase()), Ready: p.Ready(), NodeName: p.Spec.NodeName, PodIP: p.Status.PodIP, Message: p.Message(), Images: p.Images()}
	row.Restarts = p.Restarts()
	return row
}
