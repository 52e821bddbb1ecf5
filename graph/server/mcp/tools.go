package mcp

// tool is an operation that assistants may call.
type tool struct {
	name, operation string
	// about is when to use it; the summary of the operation follows it.
	about string
	// sent are variables that the tool has values for where the caller gives none.
	sent map[string]any
}

// tools are those that there are. Each reads: TestToolsOnlyRead has what they must not be.
var tools = []tool{
	{name: "problems", operation: "ListWorkloads", about: "What is broken in the fleet: start here. Lists the workloads that are not well, over all instances.", sent: map[string]any{
		"health": []string{"DEGRADED", "UNSCHEDULED", "UNPROPAGATED"}, "first": few,
	}},
	{name: "explain", operation: "ExplainWorkload", about: "Why a workload is as it is, stage by stage, with what to do about it."},
	{name: "search", operation: "Search", about: "Find instances, clusters, workloads, policies, pods, nodes and objects by a part of a name, a label, an image or a UID."},
	{name: "list_instances", operation: "ListInstances", about: "The Karmada control planes and how they are."},
	{name: "list_member_clusters", operation: "ListMemberClusters", about: "The clusters of an instance: readiness, taints, capacity."},
	{name: "list_workloads", operation: "ListWorkloads", about: "Workloads by any filter, over all instances.", sent: map[string]any{"first": few}},
	{name: "get_workload", operation: "GetWorkload", about: "One workload with its placements, its policy and its manifest."},
	{name: "list_pods", operation: "ListPods", about: "Pods of all member clusters by any filter.", sent: map[string]any{"first": few}},
	{name: "logs", operation: "GetWorkloadLogs", about: "The last lines of the logs of a workload in all clusters, in the order of time.", sent: map[string]any{"tail": 100}},
	{name: "drift", operation: "GetWorkloadDrift", about: "Whether the objects in the clusters still are what Karmada sent."},
	{name: "timeline", operation: "ListWorkloadTimeline", about: "What changed of a workload, when, and who wrote it.", sent: map[string]any{"first": few}},
	{name: "activity", operation: "ListActivity", about: "Who changed what through Kairship, also what was refused.", sent: map[string]any{"first": few}},
	{name: "preview_policy", operation: "PreviewPolicy", about: "What a change of a propagation policy would move, before it is made. Changes nothing."},
	{name: "preview_cluster_loss", operation: "PreviewClusterLoss", about: "What would happen to workloads if clusters died, left or were cordoned. Changes nothing."},
}

// few is how many objects of a list a tool reads where the caller does not say.
const few = 20
