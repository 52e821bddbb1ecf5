// Package clusternode answers queries about the nodes of member clusters.
package clusternode

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// TypeName is the noun's name in the schema.
const TypeName = "ClusterNode"

// Connection is a page of nodes.
type Connection = page.Connection[*Node]

// Edge is a node with its place in the list.
type Edge = page.Edge[*Node]

// roleLabel is what the labels begin with by which a node has roles.
const roleLabel = "node-role.kubernetes.io/"

// Node is a node of a member cluster.
type Node struct {
	object.Object
	node *corev1.Node
}

// Resources are what a node has; nil until its kubelet reported.
type Resources struct {
	object.ComputeResources
	Pods             *int
	EphemeralStorage *float64
}

// New makes a Node of the object in the member cluster.
func New(instance string, o *index.Object, fresh freshness.Freshness) (*Node, error) {
	n, err := index.Decode[corev1.Node](o)
	if err != nil {
		return nil, err
	}
	return &Node{Object: object.New(instance, o, fresh), node: n}, nil
}

// ClusterName is the name of its member cluster in the instance, under which the index has it.
func (n *Node) ClusterName() string { return n.Indexed.Cluster }

// Roles are what it is for.
func (n *Node) Roles() []string {
	roles := []string{}
	for key := range n.node.Labels {
		if role, is := strings.CutPrefix(key, roleLabel); is && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return roles
}

// Ready reports whether its kubelet finds it ready.
func (n *Node) Ready() bool {
	return slices.ContainsFunc(n.node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// Unschedulable reports whether it takes no new pods.
func (n *Node) Unschedulable() bool { return n.node.Spec.Unschedulable }

// Conditions are its state in detail.
func (n *Node) Conditions() []object.Condition {
	conditions := make([]metav1.Condition, len(n.node.Status.Conditions))
	for i, c := range n.node.Status.Conditions {
		conditions[i] = metav1.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime}
	}
	return object.Conditions(conditions)
}

// Taints keep pods away.
func (n *Node) Taints() []membercluster.Taint { return membercluster.TaintsOf(n.node.Spec.Taints) }

// Capacity is all that it has.
func (n *Node) Capacity() Resources { return resourcesOf(n.node.Status.Capacity) }

// Allocatable is what pods may have of that.
func (n *Node) Allocatable() Resources { return resourcesOf(n.node.Status.Allocatable) }

func resourcesOf(in corev1.ResourceList) Resources {
	out := Resources{ComputeResources: object.ComputeResourcesOf(in)}
	if q, given := in[corev1.ResourcePods]; given {
		out.Pods = new(int(q.Value()))
	}
	if q, given := in[corev1.ResourceEphemeralStorage]; given {
		out.EphemeralStorage = new(q.AsApproximateFloat64())
	}
	return out
}

// KubeletVersion is that of its kubelet.
func (n *Node) KubeletVersion() *string {
	return object.Optional(n.node.Status.NodeInfo.KubeletVersion)
}

// OsImage is its operating system.
func (n *Node) OsImage() *string { return object.Optional(n.node.Status.NodeInfo.OSImage) }

// KernelVersion is that of its kernel.
func (n *Node) KernelVersion() *string { return object.Optional(n.node.Status.NodeInfo.KernelVersion) }

// ContainerRuntimeVersion is what runs its containers.
func (n *Node) ContainerRuntimeVersion() *string {
	return object.Optional(n.node.Status.NodeInfo.ContainerRuntimeVersion)
}

// Architecture is that of its processor.
func (n *Node) Architecture() *string { return object.Optional(n.node.Status.NodeInfo.Architecture) }

// InternalIP is its address inside the cluster.
func (n *Node) InternalIP() *string {
	for _, a := range n.node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return &a.Address
		}
	}
	return nil
}
