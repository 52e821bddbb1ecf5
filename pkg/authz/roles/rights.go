package roles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// OutboundProxy is the subresource of instances that a kubeconfig with a proxy is about.
const OutboundProxy = "outboundproxy"

// Right is what a rule about virtual resources of group kairship.io in the global cluster
// permits.
type Right struct {
	Resource string
	Verbs    []string
	// Names says what resourceNames name. A rule without them is about all.
	Names string
	// Permits says what the verbs permit.
	Permits string
}

const (
	namesInstance  = "the instance"
	namesNamespace = "instance and namespace, as `alpha:shop`"
	namesEither    = namesInstance + ", or " + namesNamespace
)

// Rights returns all that Kairship asks about a person, those included that no role has.
func Rights() []Right {
	return []Right{
		{instances, read, namesInstance, "to know of the instance: its name, state and versions"},
		{instanceObjects, read, namesInstance, "to read everything in it"},
		{instanceObjects, modify, namesInstance, "to write everything in it"},
		{instanceNamespaces, read, namesNamespace, "to read what is in the namespace"},
		{instanceNamespaces, modify, namesNamespace, "to write what is in the namespace"},
		{instanceSecrets, []string{"get"}, namesEither, "to read the values of Secrets, where the Secrets may be read"},
		{instanceProxy, manage, namesInstance, "to send such requests through the passthrough"},
		{instanceAccess, manage, namesInstance, "to manage who has which role on it"},
		{instanceManagement, []string{"update", "delete"}, namesInstance, "to have Kairship change and delete the Instance"},
		{instanceManagement, []string{"create"}, namesInstance, "to have Kairship register or create an Instance of that name"},
		{instances + "/" + OutboundProxy, []string{"create"}, namesInstance, "to give a kubeconfig with a `proxy-url`, through which the Instance is reached"},
		{
			"clusters/" + v1alpha1.MembershipSubresource, []string{"update"}, "the cluster",
			"to join the cluster of the inventory to an instance that they may change, to take it out, and to install instances on it",
		},
		{
			"clusters/" + v1alpha1.ManagementSubresource, []string{"create", "update", "delete"}, "the cluster",
			"to have Kairship add a cluster of that name to the inventory, change it and its credentials, and remove it",
		},
	}
}

// Allow reports whether rules permit a verb on a resource, whatever the object is called.
func Allow(rules []rbacv1.PolicyRule, verb, group, resource string) bool {
	has := func(list []string, value string) bool {
		return slices.Contains(list, value) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return len(r.ResourceNames) == 0 && has(r.APIGroups, group) && has(r.Resources, resource) && has(r.Verbs, verb)
	})
}
