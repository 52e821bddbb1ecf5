package permission

import (
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

const (
	karmadaPolicies   = "policy.karmada.io"
	karmadaClusters   = "cluster.karmada.io"
	karmadaScaling    = "autoscaling.karmada.io"
	karmadaNetworking = "networking.karmada.io"
	karmadaApps       = "apps.karmada.io"

	readByPatch   = "`readSecrets` for a JSON patch that reads a Secret or a Work"
	readPromoted  = "`readSecrets` for Secrets"
	proxyURL      = "create on `instances/" + roles.OutboundProxy + "` for a kubeconfig with a `proxy-url`"
	freeClusters  = "a cluster that no instance has joined is for those who see all instances"
	instancesSeen = "the result holds only what the caller may see"
	sentThere     = "of users who may not read the whole instance, also whether a workload of the namespace was sent to the pod's member cluster"
	countsSeen    = "asked about each workload and pod; no other counts"
	ofResult      = "asked about each object; the result holds no other"
	activitySeen  = "`manageAccess` for what concerns roles; what belongs to no instance, or to one that no longer exists, is for those who read all instances"
	concealed     = "`readSecrets` for the values of Secrets and the manifests of Works"
	rollback      = "`delete` with `rollback`; no `update` with `create`"
)

var (
	membership = []Right{{"update", "", "clusters/membership"}}
	memberRead = []Right{{"get", karmadaClusters, "clusters"}}
	memberGate = []Right{{"get", karmadaClusters, "clusters/proxy"}}
)

func verbs(of ...authz.Verb) []authz.Verb { return of }

// policy is the line of a mutation of policies.
func policy(in Place, verb authz.Verb, right, resource string) Field {
	return karmada(in, verb, right, karmadaPolicies, resource)
}

// karmada is the line of a mutation of a kind of Karmada's own API.
func karmada(in Place, verb authz.Verb, right, group, resource string) Field {
	return Field{In: in, Verbs: verbs(verb), Inside: []Right{{right, group, resource}}}
}

// workload is the line of a mutation that changes a workload.
func workload() Field { return Field{In: Namespaced, Verbs: verbs(authz.VerbUpdate)} }

// inventory is the line of a mutation of a cluster of the inventory, which no role of an instance has.
func inventory(verb string) Field {
	return Field{In: Instance, Global: []Right{{verb, "", "clusters/management"}}}
}

// member is the line of a mutation of a member cluster.
func member() Field {
	return Field{In: Wide, Verbs: verbs(authz.VerbUpdate), Inside: memberRead, Depends: "the instance receives the change under Kairship's name"}
}

// namespaceOf is the line of a mutation of a Namespace.
func namespaceOf(verb authz.Verb, right string) Field {
	return Field{In: NamespaceItself, Verbs: verbs(verb), Inside: []Right{{right, "", "namespaces"}}}
}

// Fields are the root fields, as Type.field.
var Fields = map[string]Field{
	"Query._entities":         {In: Object, Verbs: verbs(authz.VerbView), Depends: ofResult + "; " + concealed},
	"Query._service":          {In: Nowhere},
	"Query.activity":          {In: Object, Verbs: verbs(authz.VerbView), Depends: ofResult + "; " + activitySeen},
	"Query.cluster":           {In: Instance, Depends: freeClusters},
	"Query.clusters":          {In: Instance, Depends: freeClusters},
	"Query.exportApplication": {In: Namespaced, Verbs: verbs(authz.VerbView), Depends: "`readSecrets` with `secrets`"},
	"Query.exportInstance":    {In: Instance, Depends: "the result holds only namespaces that the caller may `view`; what has no namespace takes `view` on it; `readSecrets` with `secrets`"},
	"Query.images":            {In: Namespaced, Verbs: verbs(authz.VerbView), Depends: countsSeen + "; " + sentThere},
	"Query.instance":          {In: Instance},
	"Query.instances":         {In: Instance, Depends: instancesSeen},
	"Query.karmadaVersions":   {In: Instance, Depends: "empty for those who see no instance and may not see all"},
	"Query.node":              {In: Object, Verbs: verbs(authz.VerbView), Depends: concealed},
	"Query.pods":              {In: Namespaced, Verbs: verbs(authz.VerbView), Depends: ofResult + "; " + sentThere},
	"Query.resources":         {In: Namespaced, Verbs: verbs(authz.VerbView), Depends: ofResult},
	"Query.search":            {In: Object, Verbs: verbs(authz.VerbView), Depends: ofResult + "; instances and clusters are for those who see the instance, a cluster that no instance has joined for those who see all"},
	"Query.viewer":            {In: Nowhere},
	"Query.whoCan":            {In: Instance, Verbs: verbs(authz.VerbManageAccess)},
	"Query.workloads":         {In: Namespaced, Verbs: verbs(authz.VerbView), Depends: ofResult},

	"Subscription.activityAdded":          {In: Object, Verbs: verbs(authz.VerbWatch), Depends: ofResult + "; " + activitySeen},
	"Subscription.clusterChanged":         {In: Instance, Depends: freeClusters},
	"Subscription.instanceChanged":        {In: Instance, Depends: instancesSeen},
	"Subscription.memberClusterChanged":   {In: Wide, Verbs: verbs(authz.VerbWatch), Depends: ofResult},
	"Subscription.operationProgress":      {In: Object, Verbs: verbs(authz.VerbWatch), Depends: "asked about each object that the operation wrote; joining and leaving are without namespace, creating an instance asks only to see it"},
	"Subscription.podLogs":                {In: Namespaced, Verbs: verbs(authz.VerbWatch), Inside: memberGate, Depends: sentThere + "; the member's own rules decide about `pods/log`"},
	"Subscription.policyChanged":          {In: Object, Verbs: verbs(authz.VerbWatch), Depends: ofResult},
	"Subscription.resourceChanged":        {In: Object, Verbs: verbs(authz.VerbWatch), Depends: ofResult + "; " + concealed},
	"Subscription.workloadChanged":        {In: Namespaced, Verbs: verbs(authz.VerbWatch), Depends: ofResult},
	"Subscription.karmadaResourceChanged": {In: Object, Verbs: verbs(authz.VerbWatch), Depends: ofResult},

	"Mutation.registerInstance": {In: Instance, Verbs: verbs(authz.VerbCreateInstance), Depends: proxyURL},
	"Mutation.createInstance":   {In: Instance, Verbs: verbs(authz.VerbCreateInstance), Global: membership},
	"Mutation.updateInstance": {
		In: Instance, Verbs: verbs(authz.VerbUpdateInstance),
		Depends: "update on `clusters/membership` of the host for `components` or `karmadaVersion` of a Managed instance; " + proxyURL,
	},
	"Mutation.deleteInstance": {In: Instance, Verbs: verbs(authz.VerbDeleteInstance)},

	"Mutation.grantInstanceRole":  {In: Instance, Verbs: verbs(authz.VerbManageAccess), Depends: "everything that the role permits"},
	"Mutation.revokeInstanceRole": {In: Instance, Verbs: verbs(authz.VerbManageAccess)},

	"Mutation.registerCluster":       inventory("create"),
	"Mutation.updateCluster":         inventory("update"),
	"Mutation.removeCluster":         inventory("delete"),
	"Mutation.joinCluster":           {In: Instance, Verbs: verbs(authz.VerbUpdateInstance), Global: membership},
	"Mutation.unjoinCluster":         {In: Instance, Verbs: verbs(authz.VerbUpdateInstance), Global: membership},
	"Mutation.updateMemberCluster":   member(),
	"Mutation.moveCluster":           {In: Instance, Verbs: verbs(authz.VerbUpdateInstance), Global: membership, Depends: "asked about both instances"},
	"Mutation.drainMemberCluster":    {In: Wide, Verbs: verbs(authz.VerbUpdate), Inside: memberRead, Depends: "the instance receives the taint and the evictions under Kairship's name"},
	"Mutation.cordonMemberCluster":   member(),
	"Mutation.uncordonMemberCluster": member(),

	"Mutation.applyManifests":               {In: Object, Verbs: verbs(authz.VerbCreate, authz.VerbUpdate), Depends: rollback},
	"Mutation.deployApplication":            {In: Object, Verbs: verbs(authz.VerbCreate, authz.VerbUpdate), Depends: rollback},
	"Mutation.deployApplicationToInstances": {In: Object, Verbs: verbs(authz.VerbCreate, authz.VerbUpdate), Depends: "asked in every instance; " + rollback},
	"Mutation.patchResource":                {In: Object, Verbs: verbs(authz.VerbUpdate), Depends: "`create` for a patch of type `APPLY`; " + readByPatch},
	"Mutation.deleteResource":               {In: Object, Verbs: verbs(authz.VerbDelete)},
	"Mutation.promoteResource":              {In: Object, Verbs: verbs(authz.VerbCreate), Inside: memberGate, Depends: readPromoted},

	"Mutation.createNamespace": namespaceOf(authz.VerbCreate, "create"),
	"Mutation.updateNamespace": namespaceOf(authz.VerbUpdate, "patch"),
	"Mutation.deleteNamespace": namespaceOf(authz.VerbDelete, "delete"),

	"Mutation.scaleWorkload":    workload(),
	"Mutation.restartWorkload":  workload(),
	"Mutation.pauseWorkload":    workload(),
	"Mutation.resumeWorkload":   workload(),
	"Mutation.setImage":         workload(),
	"Mutation.rollbackWorkload": workload(),
	"Mutation.changeWorkloads":  {In: Object, Verbs: verbs(authz.VerbView), Depends: "`update` of each workload, `delete` for DELETE: each is decided separately, and reported in its result"},
	"Mutation.triggerCronJob":   {In: Namespaced, Verbs: verbs(authz.VerbCreate), Inside: []Right{{"create", "batch", "jobs"}}},

	"Mutation.moveWorkload":  {In: Namespaced, Verbs: verbs(authz.VerbUpdate), Inside: []Right{{"patch", karmadaPolicies, "propagationpolicies"}}, Depends: "of a workload that a ClusterPropagationPolicy sends, `update` of what has no namespace; the preview is for those who may read the member clusters"},
	"Mutation.createService": {In: Namespaced, Verbs: verbs(authz.VerbCreate), Inside: []Right{{"create", "", "services"}}},

	"Mutation.createPropagationPolicy":        policy(Namespaced, authz.VerbCreate, "create", "propagationpolicies"),
	"Mutation.updatePropagationPolicy":        policy(Namespaced, authz.VerbUpdate, "update", "propagationpolicies"),
	"Mutation.deletePropagationPolicy":        policy(Namespaced, authz.VerbDelete, "delete", "propagationpolicies"),
	"Mutation.createClusterPropagationPolicy": policy(Wide, authz.VerbCreate, "create", "clusterpropagationpolicies"),
	"Mutation.updateClusterPropagationPolicy": policy(Wide, authz.VerbUpdate, "update", "clusterpropagationpolicies"),
	"Mutation.deleteClusterPropagationPolicy": policy(Wide, authz.VerbDelete, "delete", "clusterpropagationpolicies"),
	"Mutation.createOverridePolicy":           policy(Namespaced, authz.VerbCreate, "create", "overridepolicies"),
	"Mutation.updateOverridePolicy":           policy(Namespaced, authz.VerbUpdate, "update", "overridepolicies"),
	"Mutation.deleteOverridePolicy":           policy(Namespaced, authz.VerbDelete, "delete", "overridepolicies"),
	"Mutation.createClusterOverridePolicy":    policy(Wide, authz.VerbCreate, "create", "clusteroverridepolicies"),
	"Mutation.updateClusterOverridePolicy":    policy(Wide, authz.VerbUpdate, "update", "clusteroverridepolicies"),
	"Mutation.deleteClusterOverridePolicy":    policy(Wide, authz.VerbDelete, "delete", "clusteroverridepolicies"),

	"Mutation.createFederatedHPA":           karmada(Namespaced, authz.VerbCreate, "create", karmadaScaling, "federatedhpas"),
	"Mutation.updateFederatedHPA":           karmada(Namespaced, authz.VerbUpdate, "update", karmadaScaling, "federatedhpas"),
	"Mutation.deleteFederatedHPA":           karmada(Namespaced, authz.VerbDelete, "delete", karmadaScaling, "federatedhpas"),
	"Mutation.createCronFederatedHPA":       karmada(Namespaced, authz.VerbCreate, "create", karmadaScaling, "cronfederatedhpas"),
	"Mutation.updateCronFederatedHPA":       karmada(Namespaced, authz.VerbUpdate, "update", karmadaScaling, "cronfederatedhpas"),
	"Mutation.deleteCronFederatedHPA":       karmada(Namespaced, authz.VerbDelete, "delete", karmadaScaling, "cronfederatedhpas"),
	"Mutation.createMultiClusterService":    karmada(Namespaced, authz.VerbCreate, "create", karmadaNetworking, "multiclusterservices"),
	"Mutation.updateMultiClusterService":    karmada(Namespaced, authz.VerbUpdate, "update", karmadaNetworking, "multiclusterservices"),
	"Mutation.deleteMultiClusterService":    karmada(Namespaced, authz.VerbDelete, "delete", karmadaNetworking, "multiclusterservices"),
	"Mutation.createFederatedResourceQuota": karmada(Namespaced, authz.VerbCreate, "create", karmadaPolicies, "federatedresourcequotas"),
	"Mutation.updateFederatedResourceQuota": karmada(Namespaced, authz.VerbUpdate, "update", karmadaPolicies, "federatedresourcequotas"),
	"Mutation.deleteFederatedResourceQuota": karmada(Namespaced, authz.VerbDelete, "delete", karmadaPolicies, "federatedresourcequotas"),
	"Mutation.createWorkloadRebalancer":     karmada(Wide, authz.VerbCreate, "create", karmadaApps, "workloadrebalancers"),
	"Mutation.updateWorkloadRebalancer":     karmada(Wide, authz.VerbUpdate, "update", karmadaApps, "workloadrebalancers"),
	"Mutation.deleteWorkloadRebalancer":     karmada(Wide, authz.VerbDelete, "delete", karmadaApps, "workloadrebalancers"),
}
