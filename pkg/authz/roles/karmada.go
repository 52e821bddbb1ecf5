package roles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

// write are the verbs that change objects. They are not in the rules of the
// virtual resources, which know no deletecollection.
var write = []string{"create", "update", "patch", "delete", "deletecollection"}

// kinds are resources of one API group.
type kinds struct {
	group     string
	resources []string
}

// Rule is a rule of a role in an instance.
type Rule struct {
	rbacv1.PolicyRule

	// Members says what follows from the rule in the members, for the role reference.
	Members string
}

// rules returns a rule for each group of kinds. members says what follows from each of
// them in the members.
func rules(members string, verbs []string, of ...kinds) []Rule {
	var out []Rule
	for _, k := range of {
		out = append(out, Rule{Members: members, PolicyRule: rbacv1.PolicyRule{
			APIGroups: []string{k.group}, Resources: slices.Clone(k.resources), Verbs: slices.Clone(verbs),
		}})
	}
	return out
}

// policyRules returns the rules as RBAC has them.
func policyRules(of []Rule) []rbacv1.PolicyRule {
	out := make([]rbacv1.PolicyRule, 0, len(of))
	for i := range of {
		out = append(out, of[i].PolicyRule)
	}
	return out
}

var (
	// scaling, exposing and propagating are Karmada's kinds in namespaces that viewers
	// read and editors write. Editors write overriding, too, and admins of the instance
	// the rest.
	scaling  = []kinds{{"autoscaling.karmada.io", []string{"cronfederatedhpas", "federatedhpas"}}}
	exposing = []kinds{
		{"multicluster.x-k8s.io", []string{"serviceexports", "serviceimports"}},
		{"networking.karmada.io", []string{"multiclusteringresses", "multiclusterservices"}},
	}
	propagating = []kinds{{"policy.karmada.io", []string{"propagationpolicies"}}}
	// rebalancing, propagatingWide, tainting and remedying are the same without a
	// namespace.
	rebalancing     = []kinds{{"apps.karmada.io", []string{"workloadrebalancers"}}}
	propagatingWide = []kinds{{"policy.karmada.io", []string{"clusterpropagationpolicies"}}}
	tainting        = []kinds{{"policy.karmada.io", []string{"clustertaintpolicies"}}}
	remedying       = []kinds{{"remedy.karmada.io", []string{"remedies"}}}
	// members are the member clusters. Kairship writes the fields of one that an editor may change:
	// Karmada's API server for them has no admission, and a user who writes a Cluster chooses where
	// it leads, and with which Secret of the instance.
	members = []kinds{{"cluster.karmada.io", []string{"clusters"}}}
	// overriding and overridingWide may only be written where package overrides limits it.
	overriding     = []kinds{{"policy.karmada.io", []string{"overridepolicies"}}}
	overridingWide = []kinds{{"policy.karmada.io", []string{"clusteroverridepolicies"}}}
	// namespaces may only be written where reservedPolicy limits it.
	namespaces = []kinds{{"", []string{"namespaces"}}}
	// limiting are limits over all members.
	limiting = []kinds{{"policy.karmada.io", []string{"federatedresourcequotas"}}}
	// derived are what Karmada makes of the policies. A Work is missing: it holds
	// what it propagates, Secrets too.
	derived = []kinds{{"work.karmada.io", []string{"resourcebindings", "clusterresourcebindings"}}}
	// interpreting are how Karmada reads and changes objects of the members.
	interpreting = []kinds{{"config.karmada.io", []string{"resourceinterpretercustomizations"}}}
	// surroundings are the kinds that objects refer to, and that Kubernetes' own view excludes
	// because they have no namespace.
	surroundings = []kinds{
		{"", []string{"persistentvolumes"}},
		{"apiextensions.k8s.io", []string{"customresourcedefinitions"}},
		{"events.k8s.io", []string{"events"}},
		{"networking.k8s.io", []string{"ingressclasses"}},
		{"scheduling.k8s.io", []string{"priorityclasses"}},
		{"storage.k8s.io", []string{"storageclasses"}},
	}
)

// viewerRules are what a viewer reads beside Kubernetes' own view.
func viewerRules() []Rule {
	return slices.Concat(
		rules("No access. They show in which members objects are, and in which state.", read, withStatus(slices.Concat(
			scaling, exposing, propagating, rebalancing, propagatingWide, tainting, remedying, overriding, overridingWide, limiting, derived))...),
		rules("No access. They show the address, version and health of each member, and the name of the Secret with its credentials.",
			read, withStatus(members)...),
		rules("No access.", read, slices.Concat(interpreting, surroundings)...),
	)
}

// editorRules are what an editor writes in a namespace beside Kubernetes' own edit.
// What Karmada makes of the policies is not among it: it applies what a ResourceBinding
// or a Work says in the members with rights of its own.
func editorRules() []Rule {
	return slices.Concat(
		rules("How many replicas a workload of the namespace has in the members.", write, scaling...),
		rules("Services of the namespace can be reached from other members and through shared ingresses.", write, exposing...),
		rules("Which objects of the namespace are in which members. Karmada creates, changes and deletes them there with its own credentials.",
			write, propagating...),
	)
}

// overrideRules are what an editor writes in a namespace where the admission policy of
// package overrides is in force, and wideOverrideRules what one of a whole instance
// writes without a namespace.
func overrideRules() []Rule {
	return rules("What differs between the members in objects of the namespace, within the limits of the admission policy "+overrides.Name+".",
		write, overriding...)
}

func wideOverrideRules() []Rule {
	return rules("What differs between the members in objects of every namespace, within the limits of the admission policy "+overrides.Name+".",
		write, overridingWide...)
}

// namespaceRules are what an editor of a whole instance writes where the admission policy
// about reserved namespaces is in force.
func namespaceRules() []Rule {
	return rules("Karmada creates each namespace but the reserved ones in every member, and deletes it there with all that is in it.", write, namespaces...)
}

// wholeEditorRules are what an editor of a whole instance writes without a namespace.
func wholeEditorRules() []Rule {
	return slices.Concat(
		rules("Replicas move between members, because Karmada schedules workloads anew.", write, rebalancing...),
		rules("Which objects, of any namespace that is not reserved and without namespace, are in which members. "+
			"Access rules that an admin wrote in the instance can be sent to members.", write, propagatingWide...),
		rules("Which members are tainted, so that nothing new is placed there or what is there moves away.", write, tainting...),
		rules("Which members are taken out of the traffic of shared ingresses.", write, remedying...),
	)
}

// wholeAdminRules are the permissions of an admin of a whole instance beyond Kubernetes' own admin:
// changes of the instance itself, its members, its limits and its access rules. RBAC lets users
// grant only permissions that they have. Through clusters/proxy a member gets requests as the
// admin, and decides by its own rules.
func wholeAdminRules() []Rule {
	const administrator = " This makes its holder an administrator of the members."
	return slices.Concat(
		rules("None, unless a policy selects them: then Karmada creates, changes and deletes them in the members.", write, surroundings...),
		rules("What Karmada applies in the members for a kind, by scripts that run inside Karmada."+administrator, write, interpreting...),
		rules("Where Karmada connects to for a member, and with which credentials."+administrator, write, members...),
		rules("Any field of any object that is sent to a member, without the limits of the admission policy "+overrides.Name+"."+administrator,
			write, slices.Concat(overriding, overridingWide)...),
		rules("Karmada creates each namespace but the reserved ones in every member, and deletes it there with all that is in it.", write, namespaces...),
		rules("Exempts from the admission policy "+ReservedPolicyName+". In the reserved namespaces are the credentials of the members."+administrator,
			[]string{reservedBypass}, kinds{v1alpha1.GroupName, []string{reservedResource}}),
		rules("How much a namespace may use in all members.", write, limiting...),
		rules("Karmada applies in a member what a binding names, with its own credentials, whichever namespace it is in."+administrator, write, derived...),
		rules("Karmada applies a Work in a member as it is, with its own credentials. A Work shows the Secrets that it sends."+administrator,
			slices.Concat(read, write), kinds{"work.karmada.io", []string{"works", "works/status"}}),
		rules("Exempts from the admission policy "+overrides.Name+"."+administrator,
			[]string{overrides.Bypass}, kinds{v1alpha1.GroupName, []string{overrides.Resource}}),
		rules("None, unless a policy selects them: then the same limits in the members.", write, kinds{"", []string{"resourcequotas", "limitranges"}}),
		rules("Requests reach a member under the admin's own name, and the member's own access rules decide.",
			slices.Concat(read, write), kinds{"cluster.karmada.io", []string{"clusters/proxy"}}),
		rules("None, unless a policy selects them: then the same access in the members.",
			slices.Concat(read, write), kinds{rbacv1.GroupName, []string{"clusterroles", "clusterrolebindings"}}),
	)
}

// withStatus adds the subresource status of every resource.
func withStatus(of []kinds) []kinds {
	out := make([]kinds, 0, len(of))
	for _, k := range of {
		resources := make([]string, 0, 2*len(k.resources))
		for _, resource := range k.resources {
			resources = append(resources, resource, resource+"/status")
		}
		out = append(out, kinds{k.group, resources})
	}
	return out
}
