package workload

import (
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
	pod *PodObject
}

func newPod(instance string, o *index.Object, fresh freshness.Freshness) (*Pod, error) {
	p, err := index.Decode[PodObject](o)
	if err != nil {
		return nil, err
	}
	return &Pod{Object: object.New(instance, o, fresh), pod: p}, nil
}

// Phase is where it is in its life.
func (p *Pod) Phase() corev1.PodPhase { return p.pod.Phase() }

// Ready reports whether all containers are ready.
func (p *Pod) Ready() bool { return p.pod.Ready() }

// Restarts of all containers.
func (p *Pod) Restarts() int { return int(p.pod.Restarts()) }

// NodeName is the node it runs on.
func (p *Pod) NodeName() *string { return object.Optional(p.pod.Spec.NodeName) }

// PodIP is its address.
func (p *Pod) PodIP() *string { return object.Optional(p.pod.Status.PodIP) }

// Message says why it is not as it should be.
func (p *Pod) Message() *string { return object.Optional(p.pod.Message()) }

// Images of its containers.
func (p *Pod) Images() []string { return p.pod.Images() }
