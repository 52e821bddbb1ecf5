// Package instance answers queries about instances, the Karmada control planes.
package instance

import (
	"cmp"
	"time"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
)

// TypeName is the noun's name in the schema and in IDs.
const TypeName = "Instance"

// Connection is a page of them.
type Connection = page.Connection[*Instance]

// Edge is one of them with its place in the list.
type Edge = page.Edge[*Instance]

// Instance is one Karmada control plane.
type Instance struct {
	*v1alpha1.Instance
	fresh freshness.Freshness
}

// New makes an Instance of its resource.
func New(i *v1alpha1.Instance, fresh freshness.Freshness) *Instance {
	return &Instance{Instance: i, fresh: fresh}
}

// IsNode marks it as a Node.
func (*Instance) IsNode() {}

// ID is its global ID.
func (i *Instance) ID() string { return nodeid.New(TypeName, i.Name) }

// Alias is a name for people.
func (i *Instance) Alias() *string { return object.Optional(i.Spec.Alias) }

// Mode is how it came to be.
func (i *Instance) Mode() v1alpha1.InstanceMode { return i.Spec.Mode }

// HostName is the cluster that a Managed instance is installed on.
func (i *Instance) HostName() string { return i.Spec.HostCluster }

// DeletionPolicy says what becomes of a Managed one's Karmada when it is deleted.
func (i *Instance) DeletionPolicy() v1alpha1.DeletionPolicy {
	return cmp.Or(i.Spec.DeletionPolicy, v1alpha1.DeletionPolicyRetain)
}

// Components are the settings of a Managed one.
func (i *Instance) Components() *Components { return ComponentsOf(i.Spec.Components) }

// Collect are the kinds that are collected of it besides those of every instance.
func (i *Instance) Collect() *v1alpha1.CollectedKinds { return i.Spec.Collect }

// State is what it is doing.
func (i *Instance) State() v1alpha1.InstanceState {
	switch {
	case i.DeletionTimestamp != nil:
		return v1alpha1.InstanceStateTerminating
	case i.Status.State == "":
		return v1alpha1.InstanceStateUnknown
	}
	return i.Status.State
}

// Conditions are its state in detail.
func (i *Instance) Conditions() []object.Condition { return object.Conditions(i.Status.Conditions) }

// KarmadaVersion is the version of Karmada.
func (i *Instance) KarmadaVersion() *string { return object.Optional(i.Status.KarmadaVersion) }

// KubernetesVersion is the version of its API server.
func (i *Instance) KubernetesVersion() *string { return object.Optional(i.Status.KubernetesVersion) }

// KubeSystemID identifies its control plane whatever it is called.
func (i *Instance) KubeSystemID() *string {
	if i.Status.ControlPlane == nil {
		return nil
	}
	return object.Optional(i.Status.ControlPlane.KubeSystemID)
}

// LabelPairs are its labels.
func (i *Instance) LabelPairs() []object.Pair { return object.Pairs(i.Labels) }

// CreatedAt is when it was registered.
func (i *Instance) CreatedAt() time.Time { return i.CreationTimestamp.UTC() }

// Freshness returns how old its fields may be: they are watched.
func (i *Instance) Freshness() freshness.Freshness { return i.fresh }

// Summary are its figures.
func (i *Instance) Summary() *Summary { return summaryOf(i.Status.Summary) }
