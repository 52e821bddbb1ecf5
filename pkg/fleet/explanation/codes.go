package explanation

// Code is what a reason is about. The schema documents each.
type Code string

// The codes of POLICY.
const (
	PolicyClaimed            Code = "POLICY_CLAIMED"
	PolicyDependency         Code = "POLICY_DEPENDENCY"
	PolicyNone               Code = "POLICY_NONE"
	PolicyClaimPending       Code = "POLICY_CLAIM_PENDING"
	PolicyClaimLost          Code = "POLICY_CLAIM_LOST"
	PolicyGone               Code = "POLICY_GONE"
	PolicyDeleting           Code = "POLICY_DELETING"
	PolicyChangePending      Code = "POLICY_CHANGE_PENDING"
	PolicyNoLongerSelects    Code = "POLICY_NO_LONGER_SELECTS"
	PolicyOutranked          Code = "POLICY_OUTRANKED"
	PolicyNotPreempting      Code = "POLICY_NOT_PREEMPTING"
	PolicyLazy               Code = "POLICY_LAZY"
	PolicyOverridesMissing   Code = "POLICY_OVERRIDES_MISSING"
	PolicyKindDiffers        Code = "POLICY_KIND_DIFFERS"
	PolicyAPIVersionDiffers  Code = "POLICY_API_VERSION_DIFFERS"
	PolicyNamespaceDiffers   Code = "POLICY_NAMESPACE_DIFFERS"
	PolicyLabelsDiffer       Code = "POLICY_LABELS_DIFFER"
	NamespaceNeverPropagated Code = "NAMESPACE_NEVER_PROPAGATED"
	BindingPending           Code = "BINDING_PENDING"
	TemplateDeleting         Code = "TEMPLATE_DELETING"
)

// The codes of SCHEDULING.
const (
	SchedulerPending    Code = "SCHEDULER_PENDING"
	SchedulerOther      Code = "SCHEDULER_OTHER"
	SchedulingSuspended Code = "SCHEDULING_SUSPENDED"
	NoClusterFits       Code = "NO_CLUSTER_FITS"
	NoClusterChosen     Code = "NO_CLUSTER_CHOSEN"
	NotEnoughResources  Code = "NOT_ENOUGH_RESOURCES"
	QuotaExceeded       Code = "QUOTA_EXCEEDED"
	SchedulerError      Code = "SCHEDULER_ERROR"
	ClusterAPIMissing   Code = "CLUSTER_API_MISSING"
	ClusterAffinity     Code = "CLUSTER_AFFINITY"
	ClusterTaint        Code = "CLUSTER_TAINT"
	ClusterSpread       Code = "CLUSTER_SPREAD"
	ClusterEvicting     Code = "CLUSTER_EVICTING"
	ClusterLeaving      Code = "CLUSTER_LEAVING"
	ClusterDeleting     Code = "CLUSTER_DELETING"
	ClusterWeightZero   Code = "CLUSTER_WEIGHT_ZERO"
	ClusterNotChosen    Code = "CLUSTER_NOT_CHOSEN"
)

// The codes of OVERRIDE and DISPATCH.
const (
	OverrideApplied      Code = "OVERRIDE_APPLIED"
	OverridePending      Code = "OVERRIDE_PENDING"
	OverrideOtherCluster Code = "OVERRIDE_OTHER_CLUSTER"
	DispatchSuspended    Code = "DISPATCH_SUSPENDED"
	WorkMissing          Code = "WORK_MISSING"
)

// The codes of APPLY, and of clusters that cannot be observed.
const (
	ApplyPending          Code = "APPLY_PENDING"
	ApplyConflict         Code = "APPLY_CONFLICT"
	ApplyNamespaceMissing Code = "APPLY_NAMESPACE_MISSING"
	ApplyAPIMissing       Code = "APPLY_API_MISSING"
	ApplyRefused          Code = "APPLY_REFUSED"
	ApplyInvalid          Code = "APPLY_INVALID"
	ApplyUnauthorized     Code = "APPLY_UNAUTHORIZED"
	ApplyUnreachable      Code = "APPLY_UNREACHABLE"
	ApplyFailed           Code = "APPLY_FAILED"
	ClusterNotReady       Code = "CLUSTER_NOT_READY"
	ClusterGone           Code = "CLUSTER_GONE"
)

// The codes of RUN.
const (
	StatusPending      Code = "STATUS_PENDING"
	RolloutProgressing Code = "ROLLOUT_PROGRESSING"
	RolloutFailed      Code = "ROLLOUT_FAILED"
	ReplicasNotCreated Code = "REPLICAS_NOT_CREATED"
	ReplicasNotReady   Code = "REPLICAS_NOT_READY"
	JobFailed          Code = "JOB_FAILED"
	CronJobRunFailed   Code = "CRON_JOB_RUN_FAILED"
	PodUnschedulable   Code = "POD_UNSCHEDULABLE"
	PodImage           Code = "POD_IMAGE"
	PodCrashing        Code = "POD_CRASHING"
	PodConfiguration   Code = "POD_CONFIGURATION"
	PodFailed          Code = "POD_FAILED"
	PodNotReady        Code = "POD_NOT_READY"
	PodStarting        Code = "POD_STARTING"
)

// remedies say what to do about a reason. A code without one needs nothing, or nothing that is known.
var remedies = map[Code]string{
	PolicyNone:               "Create a propagation policy that selects it, or change the selectors of one.",
	PolicyClaimLost:          "Create a propagation policy that selects it, or delete it if it is not needed any more.",
	PolicyGone:               "Change the template: Karmada removes the claim when it looks at the template again.",
	PolicyNoLongerSelects:    "Change the policy or the labels of the template, if it is to stay claimed.",
	PolicyNotPreempting:      "Delete the claiming policy, or let this one preempt it: preemption Always, a selector with a name, and Karmada's feature gate PropagationPolicyPreemption.",
	PolicyLazy:               "Change the template: a lazily activated policy takes effect with the next change of it.",
	PolicyOverridesMissing:   "Create the override policies that the policy names in dependentOverrides.",
	PolicyKindDiffers:        "Add a selector of this kind to the policy.",
	PolicyAPIVersionDiffers:  "Change the apiVersion of the policy's selector.",
	PolicyNamespaceDiffers:   "Add a selector of this namespace to the policy.",
	PolicyLabelsDiffer:       "Change the labels of the template, or the label selector of the policy.",
	NamespaceNeverPropagated: "Move it to another namespace.",
	SchedulerOther:           "Start that scheduler, or change schedulerName of the policy.",
	SchedulingSuspended:      "Resume the scheduling of the binding.",
	NoClusterFits:            "Change the placement of the policy, or the clusters: the reasons say what each of them lacks.",
	NoClusterChosen:          "Change the placement of the policy.",
	NotEnoughResources:       "Lower the replicas or their requests, or add capacity or clusters.",
	QuotaExceeded:            "Raise the FederatedResourceQuota of the namespace, or lower the replicas or their requests.",
	ClusterAPIMissing:        "Install the CustomResourceDefinition in the cluster, or enable the API.",
	ClusterAffinity:          "Change the cluster affinity of the policy, or the labels and fields of the cluster.",
	ClusterTaint:             "Add a cluster toleration to the policy, or remove the taint from the cluster.",
	ClusterSpread:            "Set the provider, region or zones of the cluster, or change the spread constraints of the policy.",
	ClusterWeightZero:        "Give the cluster a weight in staticWeightList of the policy.",
	OverridePending:          "Wait; if it stays so, read the events of the workload: an override that can't be applied is named there.",
	DispatchSuspended:        "Remove the suspension from the policy.",
	WorkMissing:              "Wait; if it stays so, read the events of the workload.",
	ApplyConflict:            "Delete the object in the cluster, or set conflictResolution of the policy to Overwrite to let Karmada take it over.",
	ApplyNamespaceMissing:    "Create the namespace in the instance, so that Karmada propagates it, or in the cluster.",
	ApplyAPIMissing:          "Install the CustomResourceDefinition in the cluster, or enable the API.",
	ApplyRefused:             "Ask who runs the cluster: an admission policy, a quota or the permissions of Karmada's account refuse it.",
	ApplyInvalid:             "Correct the template or the override policies.",
	ApplyUnauthorized:        "Renew the credentials that the instance has for the cluster.",
	ApplyUnreachable:         "Check the connection of the instance to the cluster.",
	ApplyFailed:              "Read the message: it is the cluster's own.",
	ClusterNotReady:          "Check the connection of the instance to the cluster.",
	ClusterGone:              "Join the cluster again, or change the placement of the policy.",
	RolloutFailed:            "Look at the pods; then correct the template, or roll back.",
	ReplicasNotCreated:       "Raise the quota of the namespace in the cluster, or correct what refuses the pods.",
	ReplicasNotReady:         "Look at the pods.",
	JobFailed:                "Look at the pods and their logs; a Job that failed is not started again.",
	CronJobRunFailed:         "Look at the pods of the last run and their logs.",
	PodUnschedulable:         "Lower what the pods request, change their constraints, or add nodes to the cluster.",
	PodImage:                 "Correct the image, or the credentials of its registry.",
	PodCrashing:              "Read what the container wrote before it ended.",
	PodConfiguration:         "Propagate the ConfigMaps and Secrets that the pod names.",
	PodFailed:                "Read the logs of the pod.",
	PodNotReady:              "Read the logs of the pod; its readiness probe does not succeed.",
}
