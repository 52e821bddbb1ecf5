package sharing

const (
	connection = "edges nodes pageInfo totalCount freshness"
	edge       = "node cursor"
	policy     = "instance namespace name labels annotations deleting createdAt resourceVersion freshness"
	// failover are those of one way of failing over.
	failover = "purgeMode statePreservation"
	affinity = "labelSelector fieldSelector clusterNames exclude"
	operated = "operator value"
	required = "key operator values"
	// scaledBy are those of what scales by a metric that has a name.
	scaledBy = "metric target"
)

// Shared are the fields that may be shared. A field may be listed if its value follows from its
// arguments, from stored objects, and from the caller's authz.Visibility; not if it depends on the
// caller, on the request, on the time of the answer, or on an instance's answer to this caller.
var Shared = Fields{
	"Query": "node cluster clusters images instance instances pods search workloads _entities",
	"Node":  "id",

	"Instance": "name alias mode state conditions karmadaVersion kubernetesVersion kubeSystemID labels summary createdAt freshness viewerCan " +
		"resourceVersion hostCluster deletionPolicy components collect events memberCluster memberClusters namespace namespaces " +
		"propagationPolicy propagationPolicies clusterPropagationPolicy clusterPropagationPolicies " +
		"overridePolicy overridePolicies clusterOverridePolicy clusterOverridePolicies pods workload workloads timeline",
	"InstanceConnection":      connection,
	"InstanceEdge":            edge,
	"InstanceSummary":         "staleSince staleClusters clusters nodes cpu memory pods workloads policies resources",
	"InstanceAPIServer":       "replicas serviceType certSANs",
	"InstanceComponent":       "replicas",
	"CollectedKinds":          "ofInstance ofMembers",
	"CollectedKind":           "group version resource",
	"InstanceComponents":      "etcd apiServer aggregatedAPIServer kubeControllerManager controllerManager scheduler webhook failover descheduler metricsAdapter featureGates imageRegistry crdTarballURL",
	"InstanceDescheduler":     "enabled replicas interval unschedulableThreshold",
	"InstanceEtcd":            "replicas storage",
	"InstanceEtcdStorage":     "size storageClassName",
	"InstanceFailover":        "enabled clusterStatusUpdateFrequency clusterMonitorPeriod clusterMonitorGracePeriod clusterFailureThreshold clusterSuccessThreshold gracefulEvictionTimeout",
	"InstanceFeatureGate":     "name enabled",
	"InstanceMetricsAdapter":  "enabled replicas",
	"Cluster":                 "name alias type hidden apiEndpoint provider region zone instance conditions kubernetesVersion kubeSystemID credentialsExpireTime summary labels createdAt freshness",
	"ClusterConnection":       connection + " facets",
	"ClusterEdge":             edge,
	"ClusterSummary":          "staleSince nodes cpu memory pods",
	"ClusterFacet":            "field values totalValues",
	"MemberCluster":           "instance name cluster managed syncMode apiEndpoint provider region zones ready conditions kubernetesVersion taints nodes clusterNodes cpu memory pods labels annotations createdAt resourceVersion freshness timeline",
	"MemberClusterConnection": connection + " facets",
	"MemberClusterEdge":       edge,
	"Namespace":               "instance name phase labels annotations createdAt resourceVersion freshness",
	"NamespaceConnection":     connection,
	"NamespaceEdge":           edge,
	"Event":                   "namespace name type reason message count involvedKind involvedNamespace involvedName source firstSeen lastSeen",
	"EventConnection":         connection,
	"EventEdge":               edge,

	"Workload": "instance kind namespace name labels annotations images template replicas health healthMessage deleting suspended " +
		"policy overridePolicies binding placements explanation timeline events createdAt resourceVersion freshness viewerCan",
	"TimelineEntryConnection": connection,
	"TimelineEntryEdge":       edge,
	"TimelineEntry":           "at change clusterName field before after message user",
	"Explanation":             "stage state summary steps",
	"ExplanationStep":         "stage state summary since reasons",
	"ExplanationReason":       "code message remedy clusterName policy override pod",
	"CronJob":                 "schedule",
	"CustomWorkload":          "apiVersion kubernetesKind customKind",
	"Job":                     "completions",
	"WorkloadConnection":      connection + " facets",
	"WorkloadEdge":            edge,
	"WorkloadFacet":           "field values totalValues",
	"FacetValue":              "value count",
	"WorkloadTemplate":        "replicas parallelism containers initContainers",
	"TemplateContainer":       "name image",
	"ReplicaCounts":           "desired ready available updated",
	"Placement":               "clusterName memberCluster desired ready available updated scheduled evicting suspended stale applied health message overrides object",
	"AppliedOverride":         "policy policyName policyNamespace overriders",
	"MemberObject":            "apiVersion kind namespace name uid images pods createdAt resourceVersion freshness",
	"Pod":                     "instance clusterName memberCluster namespace name uid labels phase ready restarts nodeName podIP message images conditions containers requests limits createdAt",
	"ClusterNode":             "instance clusterName name uid roles ready unschedulable conditions taints capacity allocatable kubeletVersion osImage kernelVersion containerRuntimeVersion architecture internalIP labels annotations createdAt resourceVersion freshness",
	"ClusterNodeConnection":   connection,
	"ClusterNodeEdge":         edge,
	"NodeResources":           "cpu memory pods ephemeralStorage",
	"PodContainer":            "name type image imageID ready restarts state reason message startedAt termination lastTermination requests limits",
	"ContainerTermination":    "exitCode signal reason message startedAt finishedAt",
	"ComputeResources":        "cpu memory",
	"PodConnection":           connection + " facets",
	"PodEdge":                 edge,
	"PodFacet":                "field values totalValues",
	"Image":                   "reference registry repository tag digest podCount workloadCount workloads clusters",
	"ImageCluster":            "instanceName clusterName podCount",
	"ImageConnection":         connection,
	"ImageEdge":               edge,
	"SearchResult":            "hits hasMore freshness",
	"SearchHit":               "type kind nodeId instance clusterName namespace name matchedBy matchedText",

	"ResourceBinding":      "instance namespace name clusters replicas schedulerName conditions aggregatedStatus createdAt resourceVersion freshness",
	"TargetCluster":        "name replicas",
	"AggregatedStatusItem": "clusterName applied appliedMessage health status",

	"Policy":                             policy,
	"PolicyFacet":                        "field values totalValues",
	"PropagationPolicyLike":              policy + " spec timeline viewerCan workloads",
	"PropagationPolicyConnection":        connection + " facets",
	"PropagationPolicyEdge":              edge,
	"ClusterPropagationPolicyConnection": connection + " facets",
	"ClusterPropagationPolicyEdge":       edge,
	"OverridePolicyLike":                 policy + " spec timeline viewerCan",
	"OverridePolicyConnection":           connection + " facets",
	"OverridePolicyEdge":                 edge,
	"ClusterOverridePolicyConnection":    connection + " facets",
	"ClusterOverridePolicyEdge":          edge,

	"PropagationSpec": "resourceSelectors association propagateDeps placement priority preemption dependentOverrides schedulerName failover " +
		"conflictResolution activationPreference suspension preserveResourcesOnDeletion schedulePriority",
	"PropagationPlacement":        "clusterAffinity clusterAffinities clusterTolerations spreadConstraints replicaScheduling workloadAffinity",
	"PropagationSuspension":       "dispatching dispatchingOnClusters",
	"SuspendClusters":             "clusterNames",
	"SchedulePriority":            "priorityClassSource priorityClassName",
	"ResourceSelector":            "apiVersion kind namespace name labelSelector",
	"ClusterAffinity":             affinity,
	"ClusterAffinityTerm":         affinity + " affinityName overflowAffinities",
	"OverflowClusterAffinity":     affinity + " affinityName",
	"ClusterPreferences":          "staticWeightList dynamicWeight",
	"StaticClusterWeight":         "targetCluster weight",
	"ClusterToleration":           "key value effect operator tolerationSeconds",
	"ReplicaSchedulingStrategy":   "replicaSchedulingType replicaDivisionPreference weightPreference",
	"SpreadConstraint":            "spreadByField spreadByLabel maxGroups minGroups",
	"WorkloadAffinity":            "affinity antiAffinity",
	"WorkloadAffinityTerm":        "groupByLabelKey",
	"WorkloadAntiAffinityTerm":    "groupByLabelKey",
	"FailoverBehavior":            "application cluster",
	"ApplicationFailoverBehavior": failover + " decisionConditions gracePeriodSeconds",
	"ClusterFailoverBehavior":     failover,
	"DecisionConditions":          "tolerationSeconds",
	"StatePreservation":           "rules",
	"StatePreservationRule":       "aliasLabelName jsonPath",

	"OverrideSpec":             "resourceSelectors overrideRules targetCluster overriders",
	"RuleWithCluster":          "targetCluster overriders",
	"Overriders":               "plaintext imageOverrider commandOverrider argsOverrider labelsOverrider annotationsOverrider fieldOverrider",
	"PlaintextOverrider":       operated + " path",
	"ImageOverrider":           operated + " predicate component",
	"ImagePredicate":           "path",
	"CommandArgsOverrider":     operated + " containerName",
	"LabelAnnotationOverrider": operated,
	"FieldOverrider":           "fieldPath json yaml",
	"JSONPatchOperation":       operated + " subPath",
	"YAMLPatchOperation":       operated + " subPath",

	"FederatedHPAConnection":           connection,
	"FederatedHPAEdge":                 edge,
	"CronFederatedHPAConnection":       connection,
	"CronFederatedHPAEdge":             edge,
	"MultiClusterServiceConnection":    connection,
	"MultiClusterServiceEdge":          edge,
	"FederatedResourceQuotaConnection": connection,
	"FederatedResourceQuotaEdge":       edge,
	"WorkloadRebalancerConnection":     connection,
	"WorkloadRebalancerEdge":           edge,
	"KarmadaResource":                  policy + " viewerCan",
	"FederatedHPA":                     "spec workload currentReplicas desiredReplicas metrics lastScaleTime conditions",
	"CronFederatedHPA":                 "spec workload executionHistories",
	"MultiClusterService":              "spec service loadBalancerIngress conditions",
	"FederatedResourceQuota":           "spec overall clusters",
	"WorkloadRebalancer":               "spec observedWorkloads finishTime",
	"FederatedHPAMetric":               "type name container target current",
	"MetricValue":                      "value averageValue averageUtilization",
	"CronFederatedHPAExecutionHistory": "ruleName nextExecutionTime lastExecutionTime successfulExecutions failedExecutions",
	"SuccessfulExecution":              "scheduleTime executionTime appliedReplicas appliedMinReplicas appliedMaxReplicas",
	"FailedExecution":                  "scheduleTime executionTime message",
	"LoadBalancerIngress":              "ip hostname",
	"QuotaUse":                         "name hard used",
	"ClusterQuota":                     "clusterName uses",
	"RebalancedWorkload":               "apiVersion kind namespace name result reason",
	"FederatedHPASpec":                 "scaleTargetRef minReplicas maxReplicas metrics behavior",
	"ScaleTarget":                      "kind name apiVersion",
	"MetricSpec":                       "type object pods resource containerResource external",
	"ObjectMetricSource":               scaledBy + " describedObject",
	"PodsMetricSource":                 scaledBy,
	"ExternalMetricSource":             scaledBy,
	"ResourceMetricSource":             "name target",
	"ContainerResourceMetricSource":    "name target container",
	"MetricIdentifier":                 "name selector",
	"MetricTarget":                     "type value averageValue averageUtilization",
	"ScalingBehavior":                  "scaleUp scaleDown",
	"ScalingRules":                     "stabilizationWindowSeconds selectPolicy policies tolerance",
	"ScalingPolicy":                    "type value periodSeconds",
	"CronFederatedHPASpec":             "scaleTargetRef rules",
	"CronFederatedHPARule":             "name schedule targetReplicas targetMinReplicas targetMaxReplicas suspend timeZone successfulHistoryLimit failedHistoryLimit",
	"MultiClusterServiceSpec":          "types ports range serviceProvisionClusters serviceConsumptionClusters providerClusters consumerClusters",
	"ExposurePort":                     "name port",
	"ExposureRange":                    "clusterNames",
	"ServiceCluster":                   "name",
	"FederatedResourceQuotaSpec":       "overall staticAssignments",
	"StaticClusterAssignment":          "clusterName hard",
	"ResourceQuantity":                 "name quantity",
	"WorkloadRebalancerSpec":           "workloads ttlSecondsAfterFinished",
	"RebalanceTarget":                  "apiVersion kind name namespace",

	"Annotation":               "key value",
	"Capacity":                 "allocatable allocated",
	"ClusterTaint":             "key value effect timeAdded",
	"Condition":                "type status reason message lastTransitionTime observedGeneration",
	"FieldSelector":            "matchExpressions",
	"FieldSelectorRequirement": required,
	// The server keeps an answer no longer than `stale` stays true, and not at all where it has `lag`.
	"Freshness":                "source observedAt lag stale message",
	"KindCount":                "group kind total ready",
	"Label":                    "key value",
	"LabelSelector":            "matchLabels matchExpressions",
	"LabelSelectorRequirement": required,
	"PageInfo":                 "hasNextPage hasPreviousPage startCursor endCursor",
	"ReadyCount":               "total ready",
	"StaleCluster":             "name since",
	// It follows from the grants alone.
	"ViewerCan": "view create update delete proxy manageAccess",
}

// whole are the fields with a whole object: long, and seldom asked for by many.
const whole = "manifest yaml"

// used are those of what is measured now.
const used = "cpu memory measuredAt windowSeconds reason"

// available are those of how long something was healthy.
const available = "ratio healthySeconds observedSeconds from to"

// Alone are the other fields that a query can select.
var Alone = Fields{
	// The caller's identity.
	"Query":  "viewer _service resources whoCan",
	"Viewer": "username groups seesAllInstances can roles",
	// A user who may not manage access sees what is given to them.
	"RoleBindingConnection": connection,
	"RoleBindingEdge":       edge,
	"RoleBinding":           "name instanceName subjectKind subject role namespaces source grantedBy revoked ready conditions createdAt resourceVersion",
	"WhoCan":                "subjects",
	"WhoCanSubject":         "kind name bindings",
	// Its address is that of the request.
	"Instance": "kubeconfig roleBindings policyPreview clusterLossPreview overridePreview applyPreview resource resources federatedHPA federatedHPAs cronFederatedHPA cronFederatedHPAs " +
		"multiClusterService multiClusterServices federatedResourceQuota federatedResourceQuotas workloadRebalancer workloadRebalancers",
	"InstanceKubeconfig": "yaml server certificateAuthority",
	// The instance checks the draft as the caller.
	"PolicyPreview":       "fingerprint assumptions claimed lost takenOver handedOver moved removed unplaced items freshness",
	"ClusterLossPreview":  "fingerprint assumptions evicted moved unchanged removed unplaced items freshness",
	"PreviewItem":         "apiVersion kind namespace name workload effect policyBefore policyAfter placementsBefore placementsAfter removedFrom unplaced message",
	"PreviewPolicy":       "namespace name",
	"ManifestPreview":     "fingerprint assumptions objects notPropagated notCompared manifests failed changed created unchanged items freshness",
	"ManifestPreviewItem": "apiVersion kind namespace name clusterName effect message suspended fields totalFields",
	"ManifestChange":      "path before after",
	"PreviewPlacement":    "clusterName replicas",
	// Any kind, such as Secrets.
	"Resource":           "instance clusterName managedBy policy binding placements overridePolicies apiVersion kind namespace name uid labels annotations createdAt resourceVersion freshness " + whole,
	"ResourcePlacement":  "clusterName memberCluster scheduled evicting applied message health status overrides",
	"ResourceConnection": connection,
	"ResourceEdge":       edge,
	"_Service":           "sdl",
	"MemberCluster":      whole + " resources usage",
	"ClusterNode":        whole + " usage",
	"ManagedBy":          "workNamespace workName",
	"MemberObject":       whole,
	"Placement":          "drift",
	"PlacementDrift":     "drifted action message fields totalFields managersMessage",
	"DriftField":         "path sent found retained manager",
	"FieldManager":       "name operation time",
	"Namespace":          whole,
	"OverridePolicyLike": whole,
	"Pod":                "manifest logs usage",
	// An instance's and a member's answer to this caller.
	"PodLogs":               "lines omitted freshness",
	"PodLogLine":            "time clusterName podName containerName line truncated",
	"PodLogOmission":        "clusterName podName containerName message",
	"ResourceUsage":         used,
	"MemberClusterUsage":    used + " nodeCount measuredNodeCount",
	"WorkloadUsage":         used + " podCount measuredPodCount clusters freshness",
	"WorkloadClusterUsage":  used + " clusterName podCount measuredPodCount",
	"KarmadaResource":       whole,
	"Policy":                whole,
	"PropagationPolicyLike": whole,
	"ResourceBinding":       whole,
	"Workload":              whole + " logs usage availability",
	// Up to now.
	"WorkloadAvailability": available + " clusters",
	"ClusterAvailability":  available + " clusterName",
}
