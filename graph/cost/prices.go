package cost

import "maps"

// Sizes of lists that cannot be paged, as they usually are.
const (
	usualClusters   = 3
	usualPods       = 5
	usualConditions = 5
	usualContainers = 2
	usualOverrides  = 2
	usualDrift      = 5
	usualRoles      = 2
	usualVersions   = 5
	usualSubjects   = 20
	usualExport     = 20
	usualNamespaces = 5
	// usualStages is the number of stages of the propagation.
	usualStages  = 6
	usualResults = 20
	// usualRevisions is for the ten that a Deployment keeps in each cluster.
	usualRevisions = 10 * usualClusters
	// usualLines is the default number of lines of a container.
	usualLines = 100
	// usualFacetValues is the default number of values that are returned.
	usualFacetValues = 20
	// usualImageUsers is the default number of workloads and clusters of an image.
	usualImageUsers = 20
	// usualPreview is the default number of items of a preview.
	usualPreview = 50
	// usualHits is the default number of hits of a search.
	usualHits = 20
)

// What a mutation costs: the permission, the write, and what is read for its answer.
const (
	writeRequests = 3
	// manyWrites is for those that write several objects: a dry run of each and then
	// the write.
	manyWrites = 20
	// manyWorkloads is for a change of as many workloads as such a change usually hits.
	manyWorkloads = 50
	// severalInstances is how many instances an application is usually deployed to.
	severalInstances = 3
)

// document is what a whole object as text costs: some kilobytes where a value has some
// bytes.
const document = 20

// Prices is what Kairship's fields cost. cost_test.go says what has to have a price.
func Prices() map[string]Price {
	prices := map[string]Price{
		// From the watch on the global cluster: no request at all.
		"Query.viewer":    {},
		"Query.instance":  {},
		"Query.instances": {},
		"Query.cluster":   {},
		"Query.clusters":  {},
		"Viewer.can":      {Value: 2},
		// So are these: from the watch or from the settings.
		"Query.karmadaVersions":    {},
		"KarmadaVersionList.nodes": {Items: usualVersions},
		"Instance.upgradeVersions": {Items: usualVersions},
		"Instance.manifest":        {Value: document},
		"Instance.yaml":            {Value: document},
		"Cluster.manifest":         {Value: document},
		"Cluster.yaml":             {Value: document},
		"Viewer.roles":             {Items: usualRoles},

		"Instance.roleBindings":  {},
		"RoleBinding.conditions": {Items: usualConditions},
		"RoleBinding.namespaces": {Items: usualRoles},
		"Query.activity":         {Requests: 1},
		"Query.whoCan":           {Value: RequestCost},
		// A list of each kind.
		"Query.exportApplication":   {Requests: 13, Value: usualExport * document},
		"ApplicationExport.objects": {Items: usualExport},
		"ApplicationExport.omitted": {Items: usualRoles},
		// Where policies propagate something, and the same of each namespace.
		"Query.exportInstance":         {Requests: 1 + usualNamespaces*13, Value: usualNamespaces * usualExport * document},
		"InstanceExport.namespaces":    {Items: usualNamespaces},
		"NamespaceExport.objects":      {Items: usualExport},
		"NamespaceExport.omitted":      {Items: usualRoles},
		"InstanceExport.clusterScoped": {Requests: 6, Value: usualExport * document},
		"ClusterScopedExport.objects":  {Items: usualExport},
		"ClusterScopedExport.omitted":  {Items: usualRoles},
		"WhoCan.subjects":              {Items: usualSubjects},
		"WhoCanSubject.bindings":       {Items: usualRoles},

		"Query.node":      {Requests: 1},
		"Query.workloads": {Requests: 1},
		"Query.pods":      {Requests: 1},
		"Query.images":    {Requests: 1},
		"Query.resources": {Requests: 1},
		// Workloads, pods, names, parts of names and namespaces. With a role in some namespaces, the projection is
		// asked for each of the last three first where workloads were sent to.
		"Query.search":      {Requests: 8},
		"SearchResult.hits": {Items: usualHits},

		"Instance.workload":                   {Requests: 1},
		"Instance.workloads":                  {Requests: 1},
		"Instance.pods":                       {Requests: 1},
		"Instance.memberCluster":              {Requests: 1},
		"Instance.memberClusters":             {Requests: 1},
		"Instance.namespace":                  {Requests: 1},
		"Instance.namespaces":                 {Requests: 1},
		"Instance.propagationPolicy":          {Requests: 1},
		"Instance.propagationPolicies":        {Requests: 1},
		"Instance.clusterPropagationPolicy":   {Requests: 1},
		"Instance.clusterPropagationPolicies": {Requests: 1},
		"Instance.overridePolicy":             {Requests: 1},
		"Instance.overridePolicies":           {Requests: 1},
		"Instance.clusterOverridePolicy":      {Requests: 1},
		"Instance.clusterOverridePolicies":    {Requests: 1},
		"Instance.federatedHPA":               {Requests: 1},
		"Instance.federatedHPAs":              {Requests: 1},
		"Instance.cronFederatedHPA":           {Requests: 1},
		"Instance.cronFederatedHPAs":          {Requests: 1},
		"Instance.multiClusterService":        {Requests: 1},
		"Instance.multiClusterServices":       {Requests: 1},
		"Instance.federatedResourceQuota":     {Requests: 1},
		"Instance.federatedResourceQuotas":    {Requests: 1},
		"Instance.workloadRebalancer":         {Requests: 1},
		"Instance.workloadRebalancers":        {Requests: 1},
		// What the index does not collect is read from each instance separately.
		"Instance.resource":  {Requests: 1, Value: RequestCost},
		"Instance.resources": {Requests: 1, Value: RequestCost},
		"Instance.events":    {Requests: 1},
		// With a role in some namespaces, the projection is asked first where workloads were sent to.
		"MemberCluster.resources":    {Requests: 2},
		"MemberCluster.workloads":    {Requests: 2},
		"MemberCluster.services":     {Requests: 2},
		"MemberCluster.ingresses":    {Requests: 2},
		"MemberCluster.namespaces":   {Requests: 2},
		"MemberCluster.events":       {Requests: 2},
		"MemberCluster.clusterPods":  {Requests: 1},
		"MemberCluster.clusterNodes": {Requests: 2},
		// One list of a member's metrics API has all its nodes, one all its pods.
		"MemberCluster.usage":    {Value: RequestCost},
		"ClusterNode.usage":      {Requests: 1},
		"ClusterNode.conditions": {Items: usualConditions},
		"ClusterNode.manifest":   {Value: document},
		"ClusterNode.yaml":       {Value: document},

		// Computed from the template's binding, the objects in the members and the
		// instance's members.
		"Workload.replicas":         {Requests: 2},
		"Workload.health":           {Requests: 2},
		"Workload.healthMessage":    {Requests: 2},
		"Workload.suspended":        {Requests: 2},
		"Workload.placements":       {Requests: 3, Items: usualClusters, Value: 2},
		"Workload.policy":           {Requests: 1},
		"Workload.binding":          {Requests: 1},
		"Workload.overridePolicies": {Requests: 3, Items: usualOverrides},
		"Workload.events":           {Requests: 1},
		// Its bindings, policies, members, Works and objects, and their pods.
		"Workload.explanation": {Requests: 6, Value: 20},
		"Resource.explanation": {Requests: 10, Value: 20},
		"Explanation.steps":    {Items: usualStages},
		// The dry run is the instance's; members, policies of two kinds, objects of a few kinds, and bindings
		// of two are lists that are read whole.
		"Instance.policyPreview":      {Requests: 8, Value: 2*RequestCost + 20*document},
		"Instance.clusterLossPreview": {Requests: 4, Value: RequestCost + 20*document},
		"PolicyPreview.items":         {Items: usualPreview},
		"ClusterLossPreview.items":    {Items: usualPreview},
		"PreviewItem.workload":        {Requests: 1},
		// A dry run, bindings, templates of a few kinds, policies, Works and interpreters; and the manifests are made.
		"Instance.overridePreview":     {Requests: 9, Value: 2*RequestCost + 40*document},
		"Instance.applyPreview":        {Requests: 6, Value: manyWrites*RequestCost + 20*document},
		"ManifestPreview.items":        {Items: usualPreview},
		"ManifestPreviewItem.fields":   {Items: usualDrift},
		"PreviewItem.placementsBefore": {Items: usualClusters},
		"PreviewItem.placementsAfter":  {Items: usualClusters},
		"ExplanationStep.reasons":      {Items: usualClusters},
		"Workload.timeline":            {Requests: 1},
		// Its history and its state.
		"Workload.availability":          {Requests: 3, Value: usualClusters},
		"WorkloadAvailability.clusters":  {Items: usualClusters},
		"MemberCluster.timeline":         {Requests: 1},
		"Instance.timeline":              {Requests: 1},
		"PropagationPolicyLike.timeline": {Requests: 1},
		"OverridePolicyLike.timeline":    {Requests: 1},
		// Each container is read from its member separately.
		"Workload.logs": {Requests: 3, Value: usualClusters * usualPods * RequestCost},
		// The pods, and one request to each member.
		"Workload.usage":         {Requests: 3 + usualClusters, Value: usualClusters * usualPods},
		"WorkloadUsage.clusters": {Items: usualClusters},
		// Its state, its objects in the members and the overrides there, and one list of what the members keep of it.
		"Instance.workloadRevisions": {Requests: 6},
		"WorkloadRevisionList.nodes": {Items: usualRevisions},
		"Workload.manifest":          {Value: document},
		"Workload.yaml":              {Value: document},
		// What the index does not collect is read from its instance.
		"CustomWorkload.manifest": {Requests: 1, Value: document},
		"CustomWorkload.yaml":     {Requests: 1, Value: document},

		"Placement.memberCluster": {Requests: 1},
		"Placement.overrides":     {Requests: 2, Items: usualOverrides},
		"Placement.object":        {Requests: 1},
		// The object, the Work and the customizations of the interpreter; two manifests are compared.
		"Placement.drift":       {Requests: 3, Value: 2 * document},
		"PlacementDrift.fields": {Items: usualDrift},
		// One request to the member for all fields of an object.
		"PlacementDrift.managersMessage": {Value: RequestCost},
		"DriftField.manager":             {Value: RequestCost / usualDrift},
		"AppliedOverride.policy":         {Requests: 1},
		"MemberObject.pods":              {Requests: 1, Items: usualPods},
		"MemberObject.manifest":          {Value: document},
		"MemberObject.yaml":              {Value: document},

		// A row has neither.
		"Pod.manifest":         {Requests: 1, Value: document},
		"Pod.conditions":       {Requests: 1, Items: usualConditions},
		"Pod.containers":       {Requests: 1, Items: usualContainers},
		"Pod.requests":         {Requests: 1},
		"Pod.limits":           {Requests: 1},
		"Pod.memberCluster":    {Requests: 1},
		"Pod.logs":             {Requests: 1, Value: RequestCost},
		"Pod.usage":            {Requests: usualClusters},
		"PodLogs.lines":        {Items: usualLines},
		"PodConnection.facets": {Requests: 1, CountedBy: "fields"},
		"PodFacet.values":      {Items: usualFacetValues},

		// Which ones, the statement of the list says.
		"Image.workloads": {Requests: 1, Items: usualImageUsers},
		"Image.clusters":  {Items: usualImageUsers},

		"PropagationPolicyLike.workloads": {Requests: 1},

		"FederatedHPA.workload":       {Requests: 1},
		"CronFederatedHPA.workload":   {Requests: 1},
		"MultiClusterService.service": {Requests: 1},
		"KarmadaResource.manifest":    {Value: document},
		"KarmadaResource.yaml":        {Value: document},

		// From the watch on the global cluster too.
		"ClusterConnection.facets": {CountedBy: "fields"},
		"ClusterFacet.values":      {Items: usualFacetValues},
		// All that match are read for these.
		"MemberClusterConnection.facets":            {Requests: 1, CountedBy: "fields"},
		"PropagationPolicyConnection.facets":        {Requests: 1, CountedBy: "fields"},
		"ClusterPropagationPolicyConnection.facets": {Requests: 1, CountedBy: "fields"},
		"OverridePolicyConnection.facets":           {Requests: 1, CountedBy: "fields"},
		"ClusterOverridePolicyConnection.facets":    {Requests: 1, CountedBy: "fields"},
		"PolicyFacet.values":                        {Items: usualFacetValues},

		"WorkloadConnection.facets": {Requests: 1, CountedBy: "fields"},
		"WorkloadFacet.values":      {Items: usualFacetValues},

		"SetImagePayload.overridden":     {Requests: 3, Items: usualClusters},
		"UnjoinClusterPayload.blockedBy": {Requests: 2},

		"Resource.manifest":        {Value: document},
		"ResourceService.ports":    {Items: usualContainers},
		"ResourceService.selector": {Items: usualContainers},
		"ResourceIngress.rules":    {Items: usualContainers},
		"Resource.yaml":            {Value: document},

		"ResourceBinding.clusters":         {Items: usualClusters},
		"ResourceBinding.aggregatedStatus": {Items: usualClusters},

		"ApplyManifestsPayload.results":    {Items: usualResults},
		"DeployApplicationPayload.results": {Items: usualResults},
		"PromoteResourcePayload.results":   {Items: usualResults},
		"ChangeWorkloadsPayload.results":   {Items: manyWorkloads},
		"MoveWorkloadPayload.preview":      {Requests: 8, Value: 2*RequestCost + 20*document},
		"MoveClusterPayload.blockedBy":     {Requests: 2},

		"DeployApplicationToInstancesPayload.results": {Items: severalInstances},
		"InstanceDeployment.results":                  {Items: usualResults},

		// A share of a watch that is there already, or a new one. What is selected below
		// is counted for one event.
		"Subscription.instanceChanged":        {Requests: 1},
		"Subscription.clusterChanged":         {Requests: 1},
		"Subscription.memberClusterChanged":   {Requests: 1},
		"Subscription.workloadChanged":        {Requests: 3},
		"Subscription.policyChanged":          {Requests: 4},
		"Subscription.resourceChanged":        {Requests: 1},
		"Subscription.operationProgress":      {Requests: 3},
		"Subscription.podLogs":                {Requests: 3 + usualClusters*usualPods},
		"Subscription.karmadaResourceChanged": {Requests: 5},
		"Subscription.activityAdded":          {Requests: 1},

		"Mutation.applyManifests":    {Requests: manyWrites},
		"Mutation.deployApplication": {Requests: manyWrites},
		"Mutation.promoteResource":   {Requests: manyWrites},
		"Mutation.changeWorkloads":   {Requests: manyWorkloads},
		// Its plan and a write for each object that leaves.
		"Mutation.drainMemberCluster":           {Requests: 4 + manyWorkloads, Value: RequestCost + 20*document},
		"Mutation.moveWorkload":                 {Requests: 2 + writeRequests},
		"Mutation.deployApplicationToInstances": {Requests: severalInstances * manyWrites},
	}
	for _, name := range []string{
		"patchResource", "deleteResource", "createNamespace", "updateNamespace", "deleteNamespace",
		"registerInstance", "createInstance", "updateInstance", "deleteInstance", "grantInstanceRole", "revokeInstanceRole",
		"registerCluster", "updateCluster", "removeCluster",
		"joinCluster", "unjoinCluster", "moveCluster", "updateMemberCluster", "cordonMemberCluster", "uncordonMemberCluster",
		"createPropagationPolicy", "updatePropagationPolicy", "deletePropagationPolicy",
		"createClusterPropagationPolicy", "updateClusterPropagationPolicy", "deleteClusterPropagationPolicy",
		"createOverridePolicy", "updateOverridePolicy", "deleteOverridePolicy",
		"createClusterOverridePolicy", "updateClusterOverridePolicy", "deleteClusterOverridePolicy",
		"createFederatedHPA", "updateFederatedHPA", "deleteFederatedHPA",
		"createCronFederatedHPA", "updateCronFederatedHPA", "deleteCronFederatedHPA",
		"createMultiClusterService", "updateMultiClusterService", "deleteMultiClusterService",
		"createFederatedResourceQuota", "updateFederatedResourceQuota", "deleteFederatedResourceQuota",
		"createWorkloadRebalancer", "updateWorkloadRebalancer", "deleteWorkloadRebalancer",
		"scaleWorkload", "restartWorkload", "pauseWorkload", "resumeWorkload", "setImage", "rollbackWorkload", "triggerCronJob", "createService",
	} {
		prices["Mutation."+name] = Price{Requests: writeRequests}
	}
	maps.Copy(prices, federated)
	return prices
}

// federated are the fields of a federated subgraph. Every representation is an object, and the
// objects of each type are read in one request.
var federated = map[string]Price{
	"Query._entities": {CountedBy: "representations", Requests: 4},
	"Query._service":  {},
}
