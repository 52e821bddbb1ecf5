// Package access restricts reads to what the user may see.
//
// It stands between the services of the nouns and their sources: Reader restricts reads of the
// index, Watched reads of the caches of the global cluster. The services above it read as if
// everything were visible, and hidden objects are missing, also from totals and errors. So there is
// one place where a mistake could let a read through, and its tests cover every way to read.
package access

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
)

// Permissions returns what the user of a context may do on some instances;
// *authz.Resolver is one. The Visibility answers for the instances that were
// named. An error means that nothing was decided.
type Permissions interface {
	For(ctx context.Context, instances ...string) (*authz.Visibility, error)
}

// Access decides about instances and about the clusters of the inventory.
type Access struct {
	permissions Permissions
}

// New makes an Access.
func New(permissions Permissions) *Access { return &Access{permissions: permissions} }

// Instance returns what the user may do on an instance; false when they may not
// know that it exists. It is asked before the instance is looked for, so that a
// hidden instance takes the same path as a missing one.
func (a *Access) Instance(ctx context.Context, name string) (authz.Grant, bool, error) {
	v, err := a.permissions.For(ctx, name)
	if err != nil {
		return authz.Grant{}, false, err
	}
	g, ok := v.Instance(name)
	return g, ok, nil
}

// Clusters returns the clusters of the inventory that the user may see. A cluster that is joined to
// an instance is visible to users who see the instance; a free one to users who see all instances
// and so may join it. The figures stay on those whose instance the user may read as a whole.
// Pointers in an item may lead into the cache, so it does not change their targets.
func (a *Access) Clusters(ctx context.Context, items []v1alpha1.Cluster) ([]v1alpha1.Cluster, error) {
	names := make([]string, 0, len(items))
	for i := range items {
		for _, name := range []string{InstanceOfCluster(&items[i]), figuresFrom(&items[i])} {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	v, err := a.permissions.For(ctx, slices.Compact(names)...)
	if err != nil {
		return nil, err
	}
	kept := items[:0]
	for i := range items {
		if of := InstanceOfCluster(&items[i]); of != "" && !v.Sees(of) || of == "" && !v.All() {
			continue
		}
		kept = append(kept, items[i])
		if !Figures(v, &items[i]) {
			kept[len(kept)-1].Status.Summary = nil
		}
	}
	return kept, nil
}

// Figures reports whether the user may see the figures of a cluster of the inventory:
// they are what an instance as a whole reports about a member.
func Figures(v *authz.Visibility, c *v1alpha1.Cluster) bool {
	g, _ := v.Instance(figuresFrom(c))
	return g.CanRead("")
}

// figuresFrom returns the instance that reports a cluster's figures. While the cluster moves, it
// differs from the instance that the cluster is to be joined to.
func figuresFrom(c *v1alpha1.Cluster) string {
	if member := c.Status.Membership; member != nil {
		return member.Instance
	}
	return InstanceOfCluster(c)
}

// InstanceOfCluster is the instance that a cluster of the inventory belongs to:
// the one that a virtual cluster stands for, the one that a physical cluster is
// joined to. It is empty for a free cluster.
func InstanceOfCluster(c *v1alpha1.Cluster) string {
	switch {
	case c.Spec.Type == v1alpha1.ClusterTypeVirtual:
		return v1alpha1.InstanceOfVirtualCluster(c.Name)
	case c.Spec.InstanceRef != nil:
		return c.Spec.InstanceRef.Name
	}
	return ""
}
