// Package pod answers queries about the pods that run in the member clusters of instances.
package pod

import (
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
		observed, err := index.Decode[Observed](o)
		if err != nil {
			return nil, err
		}
		p.row = observed.row()
	}
	return p, nil
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
