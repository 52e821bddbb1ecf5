package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// MemberObject is a workload's object in a member cluster.
type MemberObject struct {
	object.Object
}

func newMemberObject(instance string, o *index.Object, fresh freshness.Freshness) *MemberObject {
	return &MemberObject{Object: object.New(instance, o, fresh)}
}

// Images of its containers, after overrides.
func (m *MemberObject) Images() ([]string, error) {
	o, err := index.Decode[Object](m.Indexed)
	if err != nil {
		return nil, err
	}
	return o.Images(), nil
}

// Pod is a pod in a member cluster.
type Pod struct {
	object.Object
	pod *corev1.Pod
}

func newPod(instance string, o *index.Object, fresh freshness.Freshness) (*Pod, error) {
	p, err := index.Decode[corev1.Pod](o)
	if err != nil {
		return nil, err
	}
	return &Pod{Object: object.New(instance, o, fresh), pod: p}, nil
}

// Phase is where it is in its life.
func (p *Pod) Phase() corev1.PodPhase {
	if p.pod.Status.Phase == "" {
		return corev1.PodPending
	}
	return p.pod.Status.Phase
}

// Ready reports whether all containers are ready.
func (p *Pod) Ready() bool {
	return slices.ContainsFunc(p.pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Restarts of all containers.
func (p *Pod) Restarts() int {
	n := 0
	for i := range p.pod.Status.ContainerStatuses {
		n += int(p.pod.Status.ContainerStatuses[i].RestartCount)
	}
	return n
}

// NodeName is the node it runs on.
func (p *Pod) NodeName() *string { return object.Optional(p.pod.Spec.NodeName) }

// PodIP is its address.
func (p *Pod) PodIP() *string { return object.Optional(p.pod.Status.PodIP) }

// Message says why it is not as it should be: the pod's own message, then the
// first container that waits or ended badly, then the scheduler's reason.
func (p *Pod) Message() *string {
	if p.pod.Status.Message != "" {
		return &p.pod.Status.Message
	}
	for i := range p.pod.Status.ContainerStatuses {
		c := &p.pod.Status.ContainerStatuses[i]
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			return said(c.Name, joinReason(c.State.Waiting.Reason, c.State.Waiting.Message))
		case c.State.Terminated != nil && c.State.Terminated.ExitCode != 0:
			return said(c.Name, joinReason(c.State.Terminated.Reason, c.State.Terminated.Message))
		}
	}
	for _, c := range p.pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			text := joinReason(c.Reason, c.Message)
			return &text
		}
	}
	return nil
}

func said(container, what string) *string {
	text := fmt.Sprintf("container %s: %s", container, what)
	return &text
}

// Images of its containers.
func (p *Pod) Images() []string {
	var images []string
	for _, list := range [][]corev1.Container{p.pod.Spec.Containers, p.pod.Spec.InitContainers} {
		for i := range list {
			if !slices.Contains(images, list[i].Image) {
				images = append(images, list[i].Image)
			}
		}
	}
	return images
}
