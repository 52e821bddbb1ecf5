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
	Services   = Type{"", "v1", "services", "Service"}

	MemberClusters = Type{"cluster.karmada.io", "v1alpha1", "clusters", "Cluster"}

	ResourceBindings        = Type{"work.karmada.io", "v1alpha2", "resourcebindings", "ResourceBinding"}
	ClusterResourceBindings = Type{"work.karmada.io", "v1alpha2", "clusterresourcebindings", "ClusterResourceBinding"}
	Works                   = Type{"work.karmada.io", "v1alpha1", "works", "Work"}

	ResourceInterpreterCustomizations = Type{"config.karmada.io", "v1alpha1", "resourceinterpretercustomizations", "ResourceInterpreterCustomization"}

	PropagationPolicies        = Type{"policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy"}
	ClusterPropagationPolicies = Type{"policy.karmada.io", "v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy"}
	OverridePolicies           = Type{"policy.karmada.io", "v1alpha1", "overridepolicies", "OverridePolicy"}
	ClusterOverridePolicies    = Type{"policy.karmada.io", "v1alpha1", "clusteroverridepolicies", "ClusterOverridePolicy"}

	FederatedHPAs           = Type{"autoscaling.karmada.io", "v1alpha1", "federatedhpas", "FederatedHPA"}
	CronFederatedHPAs       = Type{"autoscaling.karmada.io", "v1alpha1", "cronfederatedhpas", "CronFederatedHPA"}
	MultiClusterServices    = Type{"networking.karmada.io", "v1alpha1", "multiclusterservices", "MultiClusterService"}
	FederatedResourceQuotas = Type{"policy.karmada.io", "v1alpha1", "federatedresourcequotas", "FederatedResourceQuota"}
	WorkloadRebalancers     = Type{"apps.karmada.io", "v1alpha1", "workloadrebalancers", "WorkloadRebalancer"}
)
