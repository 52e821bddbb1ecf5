package roles

import (
	"maps"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

func foreign(name string, labels map[string]string, verbs []string, group string, resources ...string) rbacv1.ClusterRole {
	return rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: resources, Verbs: verbs}},
	}
}

// surrounding are ClusterRoles that an instance has by default: an excerpt of
// Kubernetes' own, and of those that Karmada installs.
func surrounding() []rbacv1.ClusterRole {
	own := func(label string) map[string]string {
		return map[string]string{label: "true", "kubernetes.io/bootstrapping": "rbac-defaults"}
	}
	kubernetes := func(name, into, from string) rbacv1.ClusterRole {
		role := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, AggregationRule: &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{from: "true"}}},
		}}
		if into != "" {
			role.Labels = own(into)
		}
		return role
	}
	return []rbacv1.ClusterRole{
		kubernetes("admin", "", aggregateToAdmin), kubernetes("edit", aggregateToAdmin, aggregateToEdit), kubernetes("view", aggregateToEdit, aggregateToView),
		foreign("system:aggregate-to-view", own(aggregateToView), read, "", "configmaps", "namespaces"),
		foreign("system:aggregate-to-view:apps", own(aggregateToView), read, "apps", "deployments"),
		foreign("system:aggregate-to-edit", own(aggregateToEdit), append(slices.Clone(read), write...), "", "secrets"),
		foreign("system:aggregate-to-edit:apps", own(aggregateToEdit), write, "apps", "deployments"),
		foreign("system:aggregate-to-admin", own(aggregateToAdmin), append(slices.Clone(read), write...), "rbac.authorization.k8s.io", "roles", "rolebindings"),
		// Its installers give them the label of Kubernetes' own, its manifests one of Karmada's.
		foreign("karmada-view", own(aggregateToView), read, "work.karmada.io", "works", "works/status"),
		foreign("karmada-edit", own(aggregateToEdit), write, "work.karmada.io", "works", "resourcebindings"),
		foreign("karmada-policies", own(aggregateToEdit), write, "policy.karmada.io", "overridepolicies", "federatedresourcequotas"),
		foreign("karmada-of-manifests", map[string]string{aggregateToEdit: "true", "karmada.io/bootstrapping": "rbac-defaults"}, write, "work.karmada.io", "works"),
		foreign("certificates-operator-edit", map[string]string{aggregateToEdit: "true"}, write, "certs.example.com", "certificates"),
		foreign("certificates-operator-admin", map[string]string{aggregateToAdmin: "true"}, write, "certs.example.com", "issuers"),
		foreign("shop-operator-view", map[string]string{aggregateToView: "true"}, read, "shop.example.com", "carts"),
		foreign("database-operator-view", map[string]string{"kairship.io/aggregate-to-viewer": "true"}, read, "db.example.com", "databases"),
	}
}

// aggregate plays the part of Kubernetes' controller, and returns all rules by
// the name of their ClusterRole.
func aggregate(t *testing.T, all []rbacv1.ClusterRole) map[string][]rbacv1.PolicyRule {
	t.Helper()
	const deepest = 4 // admin, edit, view and what is in it
	for range deepest {
		for i := range all {
			if all[i].AggregationRule == nil {
				continue
			}
			all[i].Rules = nil
			for s := range all[i].AggregationRule.ClusterRoleSelectors {
				selector, err := metav1.LabelSelectorAsSelector(&all[i].AggregationRule.ClusterRoleSelectors[s])
				if err != nil {
					t.Fatal(err)
				}
				for j := range all {
					if i != j && selector.Matches(labels.Set(all[j].Labels)) {
						all[i].Rules = append(all[i].Rules, all[j].Rules...)
					}
				}
			}
		}
	}
	out := map[string][]rbacv1.PolicyRule{}
	for i := range all {
		out[all[i].Name] = all[i].Rules
	}
	return out
}

func TestClusterRolesInAnInstance(t *testing.T) {
	limited := aggregate(t, append(surrounding(), ClusterRoles()...))
	unlimited := aggregate(t, append(surrounding(), ClusterRoles(overrides.Name, ReservedPolicyName)...))
	// The users, in this order: viewer, then editor and admin of a namespace, then of the instance.
	// The editor of the instance has the role of a namespace in each that is not reserved; these
	// are the remaining permissions.
	names := []string{"kairship:viewer", "kairship:namespace-editor", "kairship:namespace-admin", "kairship:editor", "kairship:admin"}
	for _, c := range []struct {
		reason, verb, group, resource string
		who                           string
	}{
		{"everybody reads what Kubernetes' view reads", "get", "apps", "deployments", "veaEA"},
		{"everybody reads policies", "list", "policy.karmada.io", "propagationpolicies", "veaEA"},
		{"everybody reads policies without a namespace, where they are bound on the instance", "watch", "policy.karmada.io", "clusterpropagationpolicies", "veaEA"},
		{"everybody sees what became of a policy", "get", "work.karmada.io", "resourcebindings", "veaEA"},
		{"everybody sees member clusters", "list", "cluster.karmada.io", "clusters", "veaEA"},
		{"everybody sees which kinds there are", "list", "apiextensions.k8s.io", "customresourcedefinitions", "veaEA"},
		{"Secrets are not for viewers, and of the reserved namespaces not for editors", "get", "", "secrets", "-ea-A"},
		{"Secrets are not for them in a list either", "list", "", "secrets", "-ea-A"},
		{"a Work holds Secrets of any namespace, so it is for admins, whatever Karmada adds to view", "get", "work.karmada.io", "works", "----A"},
		{"a Work is any object of a member, whatever Karmada adds to edit", "create", "work.karmada.io", "works", "----A"},
		{"a binding names any object, of other namespaces too", "update", "work.karmada.io", "resourcebindings", "----A"},
		{"the same of those without a namespace", "patch", "work.karmada.io", "clusterresourcebindings", "----A"},
		{"editors write override policies", "create", "policy.karmada.io", "overridepolicies", "-ea-A"},
		{"what is not limited", "bypass", "kairship.io", "overrides", "----A"},
		{"limits over all members are the instance's admin's", "update", "policy.karmada.io", "federatedresourcequotas", "----A"},
		{"what others add to edit is for kinds of their own", "create", "certs.example.com", "certificates", "-ea-A"},
		{"what others add to admin is for kinds of their own", "create", "certs.example.com", "issuers", "--a-A"},
		{"what others add to view is not known to hold no Secrets", "get", "shop.example.com", "carts", "-eaEA"},
		{"what is labelled for our roles is read by all of them", "get", "db.example.com", "databases", "veaEA"},
		{"viewers write nothing, and editors nothing in reserved namespaces", "update", "apps", "deployments", "-ea-A"},
		{"viewers write no policies", "create", "policy.karmada.io", "propagationpolicies", "-ea-A"},
		{"editors of the instance write policies without a namespace", "delete", "policy.karmada.io", "clusteroverridepolicies", "---EA"},
		{"a Cluster says where it leads and with which Secret", "patch", "cluster.karmada.io", "clusters", "----A"},
		{"editors run pods where they write", "create", "", "pods/exec", "-ea-A"},
		{"a token of a reserved namespace is a way to its Secrets", "create", "", "serviceaccounts/token", "-ea-A"},
		{"editors of the instance send what is in no namespace", "create", "policy.karmada.io", "clusterpropagationpolicies", "---EA"},
		{"editors of the instance make namespaces", "create", "", "namespaces", "---EA"},
		{"editors of a namespace do not delete it", "delete", "", "namespaces", "---EA"},
		{"reserved namespaces are the instance's admin's", "bypass", "kairship.io", "reservednamespaces", "----A"},
		{"limits of a namespace are the instance's admin's", "update", "", "resourcequotas", "----A"},
		{"kinds are the instance's admin's", "create", "apiextensions.k8s.io", "customresourcedefinitions", "----A"},
		{"resource interpreters run inside Karmada", "create", "config.karmada.io", "resourceinterpretercustomizations", "----A"},
		{"access in a namespace is its admin's", "create", "rbac.authorization.k8s.io", "rolebindings", "--a-A"},
		{"access in the instance is its admin's", "create", "rbac.authorization.k8s.io", "clusterrolebindings", "----A"},
		{"members are asked directly by the instance's admin only", "get", "cluster.karmada.io", "clusters/proxy", "----A"},
		{"no user lifts RBAC's own limits", "escalate", "rbac.authorization.k8s.io", "clusterroles", "-----"},
		{"no user gives away what they do not have", "bind", "rbac.authorization.k8s.io", "clusterroles", "-----"},
		{"no user becomes another user", "impersonate", "", "users", "-----"},
		{"no user changes admission", "create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "-----"},
		{"no role changes the policy about overrides", "delete", "admissionregistration.k8s.io", "validatingadmissionpolicies", "-----"},
		{"no role takes it out of force", "update", "admissionregistration.k8s.io", "validatingadmissionpolicybindings", "-----"},
	} {
		for found, who := range map[*map[string][]rbacv1.PolicyRule]string{&limited: c.who, &unlimited: withoutLimits(c.resource, c.verb, c.who)} {
			got := ""
			for i, name := range names {
				letter := "-"
				if Allow((*found)[name], c.verb, c.group, c.resource) {
					letter = "veaEA"[i : i+1]
				}
				got += letter
			}
			if got != who {
				t.Errorf("%s: %s %s.%s is permitted to %s, want %s", c.reason, c.verb, c.resource, c.group, got, who)
			}
		}
	}
}

// withoutLimits returns the users who may do something where no admission policy is in force.
func withoutLimits(resource, verb, who string) string {
	if (strings.HasSuffix(resource, "overridepolicies") || resource == "namespaces") && slices.Contains(write, verb) {
		return "----A"
	}
	return who
}

func TestClusterRolesStayTogether(t *testing.T) {
	all := ClusterRoles()
	byName := map[string]rbacv1.ClusterRole{}
	for _, role := range all {
		byName[role.Name] = role
		if !strings.HasPrefix(role.Name, "kairship:") || role.Labels[v1alpha1.ManagedByLabel] != v1alpha1.ManagedByValue || role.Labels[v1alpha1.InstanceRoleLabel] == "" {
			t.Errorf("%s is not recognised as ours: %v", role.Name, role.Labels)
		}
		if (role.AggregationRule == nil) == (len(role.Rules) == 0) {
			t.Errorf("%s has either rules or an aggregation rule", role.Name)
		}
		// Kubernetes' own roles must not grow by ours: they are bound by others.
		for label := range maps.Keys(role.Labels) {
			if strings.HasPrefix(label, "rbac.authorization.k8s.io/") {
				t.Errorf("%s adds itself to Kubernetes' roles by %s", role.Name, label)
			}
		}
	}
	if len(byName) != len(all) {
		t.Errorf("%d ClusterRoles have %d names", len(all), len(byName))
	}
	for _, role := range v1alpha1.Roles() {
		for _, namespaced := range []bool{false, true} {
			if target, found := byName[ClusterRoleName(role, namespaced)]; !found || target.AggregationRule == nil {
				t.Errorf("%s (in namespaces: %v) is bound to %s, which is not put together", role, namespaced, ClusterRoleName(role, namespaced))
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ reason, got, want string }{
		{"a binding", BindingName("alice-alpha"), "kairship:binding:alice-alpha"},
		{"a role on the instance", ClusterRoleName(v1alpha1.RoleEditor, false), "kairship:editor"},
		{"a role in namespaces", ClusterRoleName(v1alpha1.RoleEditor, true), "kairship:namespace-editor"},
		{"viewing is the same everywhere", ClusterRoleName(v1alpha1.RoleViewer, true), "kairship:viewer"},
	} {
		if c.got != c.want {
			t.Errorf("%s is called %s, want %s", c.reason, c.got, c.want)
		}
	}
}

func TestBindableSaysMoreWithEveryRole(t *testing.T) {
	found := Bindable("alpha")
	if len(found) != 3 {
		t.Fatalf("%d roles, want 3", len(found))
	}
	var before []rbacv1.PolicyRule
	for i, role := range found {
		if role.Name != v1alpha1.Roles()[i] {
			t.Errorf("role %d is %s, want %s", i, role.Name, v1alpha1.Roles()[i])
		}
		if role.Description == "" || len(role.Permissions) == 0 || len(role.Global) == 0 {
			t.Errorf("%s is not explained: %+v", role.Name, role)
		}
		if len(role.Instance) <= len(before) {
			t.Errorf("%s has no rules of its own in the instance", role.Name)
		}
		for _, r := range before {
			if !Allow(role.Instance, r.Verbs[0], r.APIGroups[0], r.Resources[0]) {
				t.Errorf("%s may not do what the role before may: %v", role.Name, r)
			}
		}
		before = role.Instance
	}
}
