// Package cluster answers queries about the inventory, the clusters that are registered with Kairship.
package cluster

import (
	"slices"
	"time"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
)

// TypeName is the noun's name in the schema and in IDs.
const TypeName = "Cluster"

// Connection is a page of them.
type Connection = page.Connection[*Cluster]

// Edge is one of them with its place in the list.
type Edge = page.Edge[*Cluster]

// Cluster is a cluster of the inventory.
type Cluster struct {
	*v1alpha1.Cluster
	fresh freshness.Freshness
}

// New makes a Cluster of its resource.
func New(c *v1alpha1.Cluster, fresh freshness.Freshness) *Cluster {
	return &Cluster{Cluster: c, fresh: fresh}
}

// IsNode marks it as a Node.
func (*Cluster) IsNode() {}

// ID is its global ID.
func (c *Cluster) ID() string { return nodeid.New(TypeName, c.Name) }

// Alias is a name for people.
func (c *Cluster) Alias() *string { return object.Optional(c.Spec.Alias) }

// Type is what it is.
func (c *Cluster) Type() v1alpha1.ClusterType { return c.Spec.Type }

// Hidden keeps it out of lists.
func (c *Cluster) Hidden() bool { return c.Spec.Hidden }

// APIEndpoint is the URL of its API server.
func (c *Cluster) APIEndpoint() string { return c.Spec.APIEndpoint }

// Provider is the provider of the cluster.
func (c *Cluster) Provider() *string { return object.Optional(c.Spec.Provider) }

// Region it is in.
func (c *Cluster) Region() *string { return object.Optional(c.Spec.Region) }

// Zone it is in.
func (c *Cluster) Zone() *string { return object.Optional(c.Spec.Zone) }

// InstanceName is the instance it is joined to; empty when it is free.
func (c *Cluster) InstanceName() string {
	if c.Spec.InstanceRef == nil {
		return ""
	}
	return c.Spec.InstanceRef.Name
}

// Conditions are its state in detail. A user who sees the cluster sees the instance that it is to
// be joined to, but need not see another one: what the condition Joined reports about another
// instance is left out.
func (c *Cluster) Conditions() []object.Condition {
	shown := slices.Clone(c.Status.Conditions)
	for i := range shown {
		if shown[i].Type == v1alpha1.ConditionJoined && c.elsewhere(shown[i].Reason) {
			shown[i].Message = "It is a member of another instance, of which nothing is told here. The Cluster in the global cluster has the details."
		}
	}
	return object.Conditions(shown)
}

// elsewhere reports whether the condition Joined is about another instance than the one that the
// cluster is to be joined to. Only users who see all instances see a free cluster.
func (c *Cluster) elsewhere(reason string) bool {
	if c.InstanceName() == "" {
		return false
	}
	member := c.Status.Membership
	return reason == v1alpha1.ReasonJoinedElsewhere || member != nil && member.Instance != c.InstanceName()
}

// KubernetesVersion is the version of its API server.
func (c *Cluster) KubernetesVersion() *string { return object.Optional(c.Status.KubernetesVersion) }

// KubeSystemID identifies it independently of its name.
func (c *Cluster) KubeSystemID() *string { return object.Optional(c.Status.KubeSystemID) }

// CredentialsExpireTime is when the credentials for it expire.
func (c *Cluster) CredentialsExpireTime() *time.Time {
	if c.Status.CredentialsExpireTime == nil {
		return nil
	}
	return object.Time(*c.Status.CredentialsExpireTime)
}

// Summary are figures of a member, as its instance reports them.
type Summary struct {
	// StaleSince is since when they are old; nil while they are not.
	StaleSince        *time.Time
	Nodes             object.ReadyCount
	CPU, Memory, Pods object.Capacity
}

// Summary are its figures; nil for a cluster that is no member of an instance. What another
// instance than the one that it is to be joined to reports about it is left out, as in Conditions.
func (c *Cluster) Summary() *Summary {
	in := c.Status.Summary
	if in == nil || c.elsewhere("") {
		return nil
	}
	s := &Summary{
		Nodes: object.ReadyCountOf(in.Nodes),
		CPU:   object.CapacityOf(in.CPU), Memory: object.CapacityOf(in.Memory), Pods: object.CapacityOf(in.Pods),
	}
	if in.StaleSince != nil {
		s.StaleSince = object.Time(*in.StaleSince)
	}
	return s
}

// LabelPairs are its labels.
func (c *Cluster) LabelPairs() []object.Pair { return object.Pairs(c.Labels) }

// CreatedAt is when it was registered.
func (c *Cluster) CreatedAt() time.Time { return c.CreationTimestamp.UTC() }

// Freshness returns how old its fields may be: they are watched.
func (c *Cluster) Freshness() freshness.Freshness { return c.fresh }
