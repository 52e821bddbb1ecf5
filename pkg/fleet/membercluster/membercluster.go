// Package membercluster answers queries about member clusters: the clusters that are joined to an
// instance, as Karmada sees them.
package membercluster

import (
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// TypeName is the noun's name in the schema and in IDs.
const TypeName = "MemberCluster"

// Connection is a page of them.
type Connection = page.Connection[*MemberCluster]

// Edge is one of them with its place in the list.
type Edge = page.Edge[*MemberCluster]

// Taint keeps workloads away.
type Taint struct {
	Key, Value, Effect string
	TimeAdded          *time.Time
}

// MemberCluster is a cluster that is joined to an instance.
type MemberCluster struct {
	object.Object
	cluster *clusterv1alpha1.Cluster
}

// New makes a MemberCluster of Karmada's Cluster object.
func New(instance string, o *index.Object, fresh freshness.Freshness) (*MemberCluster, error) {
	c, err := index.Decode[clusterv1alpha1.Cluster](o)
	if err != nil {
		return nil, err
	}
	return &MemberCluster{Object: object.New(instance, o, fresh), cluster: c}, nil
}

// IsNode marks it as a Node.
func (*MemberCluster) IsNode() {}

// ID is its global ID.
func (m *MemberCluster) ID() string { return nodeid.New(TypeName, m.Instance, m.Name()) }

// Karmada is Karmada's own object.
func (m *MemberCluster) Karmada() *clusterv1alpha1.Cluster { return m.cluster }

// Managed reports whether Kairship joined it, by the owner labels that it then has.
func (m *MemberCluster) Managed() bool {
	return m.cluster.Labels[v1alpha1.ManagedByLabel] == v1alpha1.ManagedByValue && m.cluster.Labels[v1alpha1.OwnerUIDLabel] != ""
}

// SyncMode is how Karmada reaches it.
func (m *MemberCluster) SyncMode() clusterv1alpha1.ClusterSyncMode { return m.cluster.Spec.SyncMode }

// APIEndpoint is the URL of its API server.
func (m *MemberCluster) APIEndpoint() *string { return object.Optional(m.cluster.Spec.APIEndpoint) }

// Provider is the provider of the cluster.
func (m *MemberCluster) Provider() *string { return object.Optional(m.cluster.Spec.Provider) }

// Region it is in.
func (m *MemberCluster) Region() *string { return object.Optional(m.cluster.Spec.Region) }

// Zones it spans.
func (m *MemberCluster) Zones() []string {
	if len(m.cluster.Spec.Zones) > 0 {
		return m.cluster.Spec.Zones
	}
	if m.cluster.Spec.Zone != "" {
		return []string{m.cluster.Spec.Zone}
	}
	return []string{}
}

// Ready reports whether Karmada finds it ready.
func (m *MemberCluster) Ready() bool {
	return meta.IsStatusConditionTrue(m.cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
}

// properties are what it is selected and counted by.
func (m *MemberCluster) properties() *cluster.Properties {
	return &cluster.Properties{
		Provider: m.cluster.Spec.Provider, Region: m.cluster.Spec.Region, Zones: m.Zones(), KubernetesVersion: m.cluster.Status.KubernetesVersion, Ready: m.Ready(),
	}
}

// Conditions are its state in detail.
func (m *MemberCluster) Conditions() []object.Condition {
	return object.Conditions(m.cluster.Status.Conditions)
}

// KubernetesVersion is the version of its API server.
func (m *MemberCluster) KubernetesVersion() *string {
	return object.Optional(m.cluster.Status.KubernetesVersion)
}

// Taints keep workloads away.
func (m *MemberCluster) Taints() []Taint { return TaintsOf(m.cluster.Spec.Taints) }

// TaintsOf are taints as Kubernetes has them, of a cluster or of a node.
func TaintsOf(in []corev1.Taint) []Taint {
	taints := make([]Taint, len(in))
	for i, t := range in {
		taints[i] = Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)}
		if t.TimeAdded != nil {
			taints[i].TimeAdded = object.Time(*t.TimeAdded)
		}
	}
	return taints
}

// Nodes that Karmada counted.
func (m *MemberCluster) Nodes() *object.ReadyCount {
	s := m.cluster.Status.NodeSummary
	if s == nil {
		return nil
	}
	return &object.ReadyCount{Total: int(s.TotalNum), Ready: int(s.ReadyNum)}
}

// CPU in cores.
func (m *MemberCluster) CPU() *object.Capacity { return m.capacity(corev1.ResourceCPU) }

// Memory in bytes.
func (m *MemberCluster) Memory() *object.Capacity { return m.capacity(corev1.ResourceMemory) }

// Pods in pods.
func (m *MemberCluster) Pods() *object.Capacity { return m.capacity(corev1.ResourcePods) }

func (m *MemberCluster) capacity(name corev1.ResourceName) *object.Capacity {
	s := m.cluster.Status.ResourceSummary
	if s == nil {
		return nil
	}
	value := func(l corev1.ResourceList) float64 {
		q, ok := l[name]
		if !ok {
			q = resource.Quantity{}
		}
		return q.AsApproximateFloat64()
	}
	// What is being allocated has been requested too, by pods that wait for a node.
	return &object.Capacity{Allocatable: value(s.Allocatable), Allocated: value(s.Allocated) + value(s.Allocating)}
}
