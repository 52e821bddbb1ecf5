package access

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
)

// Inventory knows which instance the objects of a cluster belong to, by the
// index's name of the cluster; empty when that is not known, and then no one may
// read them.
type Inventory interface {
	InstanceOf(ctx context.Context, cluster string) string
}

// watchedInventory knows it from the watch on the global cluster.
type watchedInventory struct {
	watched client.Reader
}

// NewInventory makes an Inventory that reads Instances, Clusters and PediaClusters
// from a cache.
func NewInventory(watched client.Reader) Inventory { return &watchedInventory{watched: watched} }

// InstanceOf implements Inventory. The names of virtual clusters are reserved for
// them, so for these the name is enough. A cluster that can't be read now is not
// known, and one that was collected for another owner belongs to no instance here.
func (w *watchedInventory) InstanceOf(ctx context.Context, cluster string) string {
	if others, err := collection.ByOthers(ctx, w.watched, cluster); err != nil || others {
		return ""
	}
	if name := v1alpha1.InstanceOfVirtualCluster(cluster); name != "" {
		return name
	}
	var c v1alpha1.Cluster
	// It is only looked at, and once for every object that is read from a member.
	if err := w.watched.Get(ctx, client.ObjectKey{Name: cluster}, &c, client.UnsafeDisableDeepCopy); err != nil || c.Spec.Type != v1alpha1.ClusterTypePhysical {
		return ""
	}
	return InstanceOfCluster(&c)
}
