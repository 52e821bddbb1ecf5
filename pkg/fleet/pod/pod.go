// Package pod answers queries about the pods that run in the member clusters of instances.
package pod

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// TypeName is the noun's name in the schema.
const TypeName = "Pod"

// Connection is a page of pods.
type Connection = page.Connection[*Pod]

// Edge is a pod with its place in the list.
type Edge = page.Edge[*Pod]

// Phase is where a pod is in its life.
type Phase string

// The phases.
const (
	PhasePending   Phase = "PENDING"
	PhaseRunning   Phase = "RUNNING"
	PhaseSucceeded Phase = "SUCCEEDED"
	PhaseFailed    Phase = "FAILED"
	PhaseUnknown   Phase = "UNKNOWN"
)

// phases are the phases by Kubernetes' name.
var phases = map[corev1.PodPhase]Phase{
	"": PhasePending, corev1.PodPending: PhasePending, corev1.PodRunning: PhaseRunning, corev1.PodSucceeded: PhaseSucceeded,
	corev1.PodFailed: PhaseFailed, corev1.PodUnknown: PhaseUnknown,
}

// Pod is a pod in a member cluster.
type Pod struct {
	object.Object
	row *projection.PodItem
}

// New makes a Pod of an instance: of the row of the projection that the object has, otherwise of the
// object itself.
func New(instance string, o *index.Object, fresh freshness.Freshness) (*Pod, error) {
	p := &Pod{Object: object.New(instance, o, fresh), row: o.Pod}
	if p.row == nil {
		decoded, err := index.Decode[corev1.Pod](o)
		if err != nil {
			return nil, err
		}
		p.row = rowOf(decoded)
	}
	return p, nil
}

// rowOf is what a row of the projection has of a pod, but for its names and metadata.
func rowOf(p *corev1.Pod) *projection.PodItem {
	row := &projection.PodItem{NodeName: p.Spec.NodeName, PodIP: p.Status.PodIP, Message: messageOf(p), Images: imagesOf(p)}
	phase, known := phases[p.Status.Phase]
	if !known {
		phase = PhaseUnknown
	}
	row.Phase = string(phase)
	row.Ready = slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	for i := range p.Status.ContainerStatuses {
		row.Restarts += p.Status.ContainerStatuses[i].RestartCount
	}
	return row
}

// messageOf is the pod's own message, otherwise that of the first container that waits or ended
// badly, otherwise the scheduler's reason.
func messageOf(p *corev1.Pod) string {
	if p.Status.Message != "" {
		return p.Status.Message
	}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			return ofContainer(c.Name, joinReason(c.State.Waiting.Reason, c.State.Waiting.Message))
		case c.State.Terminated != nil && c.State.Terminated.ExitCode != 0:
			return ofContainer(c.Name, joinReason(c.State.Terminated.Reason, c.State.Terminated.Message))
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return joinReason(c.Reason, c.Message)
		}
	}
	return ""
}

func ofContainer(name, message string) string { return fmt.Sprintf("container %s: %s", name, message) }

func joinReason(reason, message string) string {
	message = strings.TrimSpace(message)
	switch {
	case message == "":
		return reason
	case reason == "":
		return message
	}
	return reason + ": " + message
}

// imagesOf are the images of the containers, those of init containers last, each once.
func imagesOf(p *corev1.Pod) []string {
	images := []string{}
	for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			if !slices.Contains(images, list[i].Image) {
				images = append(images, list[i].Image)
			}
		}
	}
	return images
}

// ClusterName is the name of its member cluster in the instance. The rows of a member are under this
// name in the index.
func (p *Pod) ClusterName() string { return p.Indexed.Cluster }

// Phase is where it is in its life.
func (p *Pod) Phase() Phase { return Phase(p.row.Phase) }

// Ready reports whether all containers are ready.
func (p *Pod) Ready() bool { return p.row.Ready }

// Restarts of all containers.
func (p *Pod) Restarts() int { return int(p.row.Restarts) }

// NodeName is the node it runs on.
func (p *Pod) NodeName() *string { return object.Optional(p.row.NodeName) }

// PodIP is its address.
func (p *Pod) PodIP() *string { return object.Optional(p.row.PodIP) }

// Message says why it is not as it should be.
func (p *Pod) Message() *string { return object.Optional(p.row.Message) }

// Images of its containers.
func (p *Pod) Images() []string {
	if p.row.Images == nil {
		return []string{}
	}
	return p.row.Images
}
