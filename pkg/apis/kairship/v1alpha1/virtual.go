package v1alpha1

import "strings"

// InstanceOfVirtualCluster is the name of the Instance that a virtual Cluster
// stands for; empty for a name that no virtual Cluster can have.
func InstanceOfVirtualCluster(cluster string) string {
	name, ok := strings.CutPrefix(cluster, VirtualClusterPrefix)
	if !ok {
		return ""
	}
	return name
}
