package index

// The types that Kairship itself reads. Version is the one in which they are
// collected.
var (
	Deployments  = Type{"apps", "v1", "deployments", "Deployment"}
	StatefulSets = Type{"apps", "v1", "statefulsets", "StatefulSet"}
	DaemonSets   = Type{"apps", "v1", "daemonsets", "DaemonSet"}
	ReplicaSets  = Type{"apps", "v1", "replicasets", "ReplicaSet"}
	Jobs         = Type{"batch", "v1", "jobs", "Job"}
	CronJobs     = Type{"batch", "v1", "cronjobs", "CronJob"}

	// ControllerRevisions are the earlier templates of StatefulSets and DaemonSets.
	ControllerRevisions = Type{"apps", "v1", "controllerrevisions", "ControllerRevision"}

	Pods       = Type{"", "v1", "pods", "Pod"}
	Namespaces = Type{"", "v1", "namespaces", "Namespace"}
	Events     = Type{"", "v1", "events", "Event"}

	MemberClusters = Type{"cluster.karmada.io", "v1alpha1", "clusters", "Cluster"}

	ResourceBindings        = Type{"work.karmada.io", "v1alpha2", "resourcebindings", "ResourceBinding"}
	ClusterResourceBindings = Type{"work.karmada.io", "v1alpha2", "clusterresourcebindings", "ClusterResourceBinding"}
	Works                   = Type{"work.karmada.io", "v1alpha1", "works", "Work"}

	PropagationPolicies        = Type{"policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy"}
	ClusterPropagationPolicies = Type{"policy.karmada.io", "v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy"}
	OverridePolicies           = Type{"policy.karmada.io", "v1alpha1", "overridepolicies", "OverridePolicy"}
	ClusterOverridePolicies    = Type{"policy.karmada.io", "v1alpha1", "clusteroverridepolicies", "ClusterOverridePolicy"}
)
