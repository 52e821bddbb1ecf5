package workload

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodObject is so much of a corev1.Pod as an answer about a pod is computed from, of an answer of
// the index and of a row of the projection.
type PodObject struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		NodeName       string         `json:"nodeName"`
		Containers     []podContainer `json:"containers"`
		InitContainers []podContainer `json:"initContainers"`
	} `json:"spec"`
	Status struct {
		Phase             corev1.PodPhase      `json:"phase"`
		Message           string               `json:"message"`
		PodIP             string               `json:"podIP"`
		Conditions        []podCondition       `json:"conditions"`
		ContainerStatuses []podContainerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type podContainer struct {
	Image string `json:"image"`
}

type podCondition struct {
	Type    corev1.PodConditionType `json:"type"`
	Status  corev1.ConditionStatus  `json:"status"`
	Reason  string                  `json:"reason"`
	Message string                  `json:"message"`
}

type podContainerStatus struct {
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

// Phase returns the phase; that of a pod without a status is Pending.
func (p *PodObject) Phase() corev1.PodPhase {
	if p.Status.Phase == "" {
		return corev1.PodPending
	}
	return p.Status.Phase
}

// PodPhaseName returns the value of the GraphQL enum PodPhase.
func PodPhaseName(phase corev1.PodPhase) string { return strings.ToUpper(string(phase)) }

// Ready reports whether all containers are ready.
func (p *PodObject) Ready() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c podCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Restarts returns the restarts of all containers.
func (p *PodObject) Restarts() int32 {
	var n int32
	for i := range p.Status.ContainerStatuses {
		n += p.Status.ContainerStatuses[i].RestartCount
	}
	return n
}

// Message returns why the pod is not as it should be: its own message, then the first container
// that waits or ended badly, then the scheduler's reason; empty when it is.
func (p *PodObject) Message() string {
	if p.Status.Message != "" {
		return p.Status.Message
	}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			return fmt.Sprintf("container %s: %s", c.Name, joinReason(c.State.Waiting.Reason, c.State.Waiting.Message))
		case c.State.Terminated != nil && c.State.Terminated.ExitCode != 0:
			return fmt.Sprintf("container %s: %s", c.Name, joinReason(c.State.Terminated.Reason, c.State.Terminated.Message))
		}
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return joinReason(c.Reason, c.Message)
		}
	}
	return ""
}

// Images returns those of the containers, init containers last, each once.
func (p *PodObject) Images() []string {
	var images []string
	for _, list := range [][]podContainer{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			if !slices.Contains(images, list[i].Image) {
				images = append(images, list[i].Image)
			}
		}
	}
	return images
}

// SearchText returns the text in which words are searched for, as that of a template.
func (p *PodObject) SearchText() string { return searchText(&p.ObjectMeta, p.Images()) }
