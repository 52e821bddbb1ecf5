package v1alpha1

import "strings"

// MembershipSubresource is the virtual resource of Clusters under which RBAC says who
// may change spec.instanceRef and spec.join. Nothing is stored under it.
const MembershipSubresource = "membership"

// ManagementSubresource is the virtual resource of Clusters under which RBAC says who may have Kairship register, change
// and remove clusters of the inventory. Nothing is stored under it.
const ManagementSubresource = "management"

// InstanceOfVirtualCluster is the name of the Instance that a virtual Cluster
// stands for; empty for a name that no virtual Cluster can have.
func InstanceOfVirtualCluster(cluster string) string {
	name, ok := strings.CutPrefix(cluster, VirtualClusterPrefix)
	if !ok {
		return ""
	}
	return name
}
