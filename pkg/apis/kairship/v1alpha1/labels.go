package v1alpha1

// Labels and finalizers that Kairship puts on objects.
const (
	// ManagedByLabel says which program made an object; ours carry ManagedByValue.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedByValue is the value of ManagedByLabel on objects of Kairship.
	ManagedByValue = "kairship"

	// InstanceLabel names the Instance that an object was made for.
	InstanceLabel = GroupName + "/instance"
	// ClusterLabel names the inventory Cluster that an object was made for.
	ClusterLabel = GroupName + "/cluster"
	// RoleBindingLabel names the InstanceRoleBinding that an object was made for,
	// in the global cluster and in the instance.
	RoleBindingLabel = GroupName + "/role-binding"
	// InstanceRoleLabel marks the ClusterRoles that the instances are given, and
	// says which role each belongs to.
	InstanceRoleLabel = GroupName + "/instance-role"
	// GlobalClusterLabel says, inside an instance, which global cluster an object
	// was made from: the UID of that one's namespace kube-system.
	GlobalClusterLabel = GroupName + "/global-cluster"
	// OwnerUIDLabel holds the UID of the Instance, Cluster or InstanceRoleBinding
	// that an object was made for. An object is ours only when this matches: a name alone may have
	// been reused since, or may belong to another owner.
	OwnerUIDLabel = GroupName + "/owner-uid"

	// MembershipLabel holds status.membership.uid of the Cluster for which an object was
	// made: an object of an earlier membership is stale.
	MembershipLabel = GroupName + "/membership-uid"

	// VirtualClusterFinalizer keeps an Instance until its virtual Cluster, the
	// PediaCluster behind it and that one's rows in the index are removed.
	VirtualClusterFinalizer = GroupName + "/virtual-cluster-sync"
	// ClusterIndexFinalizer keeps a Cluster until its PediaCluster and that
	// one's rows in the index are removed.
	ClusterIndexFinalizer = GroupName + "/cluster-index"
	// ClusterImportFinalizer keeps a Cluster until nothing is left that was made to
	// join it: in its instance, and in the cluster itself.
	ClusterImportFinalizer = GroupName + "/cluster-import"
	// RoleBindingFinalizer keeps an InstanceRoleBinding until its access rules are
	// removed from the global cluster.
	RoleBindingFinalizer = GroupName + "/role-binding"
	// InstanceAccessFinalizer keeps an InstanceRoleBinding until its access rules
	// are removed from the instance, and an Instance until all access rules are that
	// it was given.
	InstanceAccessFinalizer = GroupName + "/instance-access"
	// LifecycleFinalizer keeps an Instance while clusters are joined to it, and a
	// Managed one until its Karmada is uninstalled, or let go.
	LifecycleFinalizer = GroupName + "/instance-lifecycle"

	// ForceDeleteAnnotation, with the value "true", lets an Instance be deleted
	// although clusters are joined to it, or although its Karmada cannot be
	// uninstalled. Neither the clusters nor what runs in them are touched.
	ForceDeleteAnnotation = GroupName + "/force-delete"

	// GrantedByAnnotation on an InstanceRoleBinding names the user who gave the role by a
	// mutation. It is for people; nothing depends on it.
	GrantedByAnnotation = GroupName + "/granted-by"
	// RetainedAnnotation is on a Karmada whose Instance was deleted with
	// deletionPolicy Retain. Its value is the host cluster: the next Managed
	// Instance of the same name and host takes the Karmada over.
	RetainedAnnotation = GroupName + "/retained-on"
)

// SystemNamespace is where Kairship keeps its own namespaced objects in the
// global cluster: credentials and the leader's Lease.
const SystemNamespace = "kairship-system"

// VirtualClusterPrefix begins the name of everything that is made from an
// Instance. Only virtual Clusters may carry it.
const VirtualClusterPrefix = "k-"

// VirtualClusterName is the name of the virtual Cluster, and of the
// PediaCluster, of the Instance called instance.
func VirtualClusterName(instance string) string {
	return VirtualClusterPrefix + instance
}
