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

func rules(verbs []string, of ...kinds) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, k := range of {
		out = append(out, rbacv1.PolicyRule{
			APIGroups: []string{k.group}, Resources: slices.Clone(k.resources), Verbs: slices.Clone(verbs),
		})
	}
	return out
}

var (
	// shared are Karmada's kinds in namespaces that viewers read and editors write.
	// Editors write overriding, too, and admins of the instance the rest.
	shared = []kinds{
		{"autoscaling.karmada.io", []string{"cronfederatedhpas", "federatedhpas"}},
		{"multicluster.x-k8s.io", []string{"serviceexports", "serviceimports"}},
		{"networking.karmada.io", []string{"multiclusteringresses", "multiclusterservices"}},
		{"policy.karmada.io", []string{"propagationpolicies"}},
	}
	// sharedWide are the same without a namespace.
	sharedWide = []kinds{
		{"apps.karmada.io", []string{"workloadrebalancers"}},
		{"policy.karmada.io", []string{"clusterpropagationpolicies", "clustertaintpolicies"}},
		{"remedy.karmada.io", []string{"remedies"}},
	}
	// members are the member clusters. What an editor may change in one, Kairship writes:
	// Karmada's API server for them knows no admission, and whoever writes a Cluster
	// chooses where it leads, and with which Secret of the instance.
	members = []kinds{{"cluster.karmada.io", []string{"clusters"}}}
	// overriding and overridingWide may only be written where package overrides limits it.
	overriding     = []kinds{{"policy.karmada.io", []string{"overridepolicies"}}}
	overridingWide = []kinds{{"policy.karmada.io", []string{"clusteroverridepolicies"}}}
	// limiting are limits over all members.
	limiting = []kinds{{"policy.karmada.io", []string{"federatedresourcequotas"}}}
	// derived are what Karmada makes of the policies. A Work is missing: it holds
	// what it propagates, Secrets too.
	derived = []kinds{{"work.karmada.io", []string{"resourcebindings", "clusterresourcebindings"}}}
	// surroundings are what objects refer to, and what Kubernetes' own view leaves
	// out because it is in no namespace.
	surroundings = []kinds{
		{"", []string{"persistentvolumes"}},
		{"apiextensions.k8s.io", []string{"customresourcedefinitions"}},
		{"config.karmada.io", []string{"resourceinterpretercustomizations"}},
		{"events.k8s.io", []string{"events"}},
		{"networking.k8s.io", []string{"ingressclasses"}},
		{"scheduling.k8s.io", []string{"priorityclasses"}},
		{"storage.k8s.io", []string{"storageclasses"}},
	}
)

// viewerRules are what a viewer reads beside Kubernetes' own view.
func viewerRules() []rbacv1.PolicyRule {
	return rules(read, slices.Concat(
		withStatus(slices.Concat(shared, sharedWide, members, overriding, overridingWide, limiting, derived)), surroundings)...)
}

// editorRules are what an editor writes in a namespace beside Kubernetes' own edit.
// What Karmada makes of the policies is not among it: it applies what a ResourceBinding
// or a Work says in the members with rights of its own.
func editorRules() []rbacv1.PolicyRule { return rules(write, shared...) }

// overrideRules are what an editor writes in a namespace where the admission policy of
// package overrides is in force, and wideOverrideRules what one of a whole instance
// writes without a namespace.
func overrideRules() []rbacv1.PolicyRule     { return rules(write, overriding...) }
func wideOverrideRules() []rbacv1.PolicyRule { return rules(write, overridingWide...) }

// wholeEditorRules are what an editor of a whole instance writes without a namespace.
func wholeEditorRules() []rbacv1.PolicyRule {
	return rules(write, slices.Concat([]kinds{{"", []string{"namespaces"}}}, sharedWide)...)
}

// wholeAdminRules are what an admin of a whole instance may beside Kubernetes' own
// admin: what changes the instance itself, its members, its limits, and who
// may do what in it. RBAC lets nobody give away what they do not have. Through
// clusters/proxy a member is asked as the admin, and decides by its own rules.
func wholeAdminRules() []rbacv1.PolicyRule {
	return slices.Concat(
		rules(write, slices.Concat(surroundings, members, overriding, overridingWide, limiting, derived)...),
		rules(slices.Concat(read, write), kinds{"work.karmada.io", []string{"works", "works/status"}}),
		rules([]string{overrides.Bypass}, kinds{v1alpha1.GroupName, []string{overrides.Resource}}),
		rules(write, kinds{"", []string{"resourcequotas", "limitranges"}}),
		rules(slices.Concat(read, write),
			kinds{"cluster.karmada.io", []string{"clusters/proxy"}},
			kinds{rbacv1.GroupName, []string{"clusterroles", "clusterrolebindings"}}),
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
