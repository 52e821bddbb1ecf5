package bindings

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestRolesDoWhatTheySay asks the RBAC of the global cluster and that of a real
// Karmada control plane, whose own controller has put the roles together.
func TestRolesDoWhatTheySay(t *testing.T) {
	s := open(t)
	s.namespace("shop")
	const shop = prefix + "shop"
	// Users in the order of the letters in the tables: v, e and a have the role in
	// the namespace, V, E and A on the whole instance.
	letters := "veaVEA-"
	var users []string
	for _, namespaces := range [][]string{{shop}, nil} {
		for _, role := range v1alpha1.Roles() {
			scope := "whole"
			if len(namespaces) > 0 {
				scope = "namespace"
			}
			users = append(users, s.bound(string(role)+"-"+scope, role, namespaces...).Name)
		}
	}
	users = append(users, prefix+"nobody")

	const kairship, policy, work = "kairship.io", "policy.karmada.io", "work.karmada.io"
	for _, c := range []struct {
		reason  string
		cluster client.Client
		action  action
		who     string
	}{
		{"the instance is known to all", s.global, action{"get", kairship, "instances", "", "", "alpha"}, "veaVEA"},
		{"no other instance is", s.global, action{"get", kairship, "instances", "", "", "beta"}, ""},
		{"the whole instance is read", s.global, action{"list", kairship, "instances", "resources", "", "alpha"}, "VEA"},
		{"the namespace is read", s.global, action{"list", kairship, "instances", "namespaces", "", "alpha:" + shop}, "vea"},
		{"no other namespace is", s.global, action{"list", kairship, "instances", "namespaces", "", "alpha:ops"}, ""},
		{"the instance is written", s.global, action{"create", kairship, "instances", "resources", "", "alpha"}, "EA"},
		{"the namespace is written", s.global, action{"create", kairship, "instances", "namespaces", "", "alpha:" + shop}, "ea"},
		{"all Secrets are seen", s.global, action{"get", kairship, "instances", "secrets", "", "alpha"}, "EA"},
		{"the namespace's Secrets are seen", s.global, action{"get", kairship, "instances", "secrets", "", "alpha:" + shop}, "ea"},
		{"the passthrough is used", s.global, action{"create", kairship, "instances", "proxy", "", "alpha"}, "eaEA"},
		{"access is managed", s.global, action{"create", kairship, "instances", "access", "", "alpha"}, "A"},
		{"the Instance is Kairship's to change", s.global, action{"update", kairship, "instances", "management", "", "alpha"}, "A"},
		{"the Instance itself cannot be changed", s.global, action{"update", kairship, "instances", "", "", "alpha"}, ""},
		{"no user gives themselves a role", s.global, action{"create", kairship, "instancerolebindings", "", "", ""}, ""},

		{"the namespace's workloads are read", s.alpha, action{"list", "apps", "deployments", "", shop, ""}, "veaVEA"},
		{"other workloads are read", s.alpha, action{"list", "apps", "deployments", "", "ops", ""}, "VEA"},
		{"the namespace's workloads are written", s.alpha, action{"patch", "apps", "deployments", "", shop, "x"}, "eaEA"},
		{"other workloads are written", s.alpha, action{"delete", "apps", "deployments", "", "ops", "x"}, "EA"},
		{"the namespace's policies are read", s.alpha, action{"get", policy, "propagationpolicies", "", shop, "x"}, "veaVEA"},
		{"the namespace's policies are written", s.alpha, action{"create", policy, "overridepolicies", "", shop, ""}, "eaEA"},
		{"policies of the whole instance are read", s.alpha, action{"list", policy, "clusterpropagationpolicies", "", "", ""}, "VEA"},
		{"policies of the whole instance are written", s.alpha, action{"delete", policy, "clusterpropagationpolicies", "", "", "x"}, "EA"},
		{"what became of policies is read", s.alpha, action{"list", work, "resourcebindings", "", shop, ""}, "veaVEA"},
		{"Secrets are seen", s.alpha, action{"get", "", "secrets", "", shop, "x"}, "eaEA"},
		{"Secrets of reserved namespaces are seen", s.alpha, action{"get", "", "secrets", "", "karmada-cluster", "x"}, "A"},
		{"reserved namespaces are written", s.alpha, action{"create", "", "pods", "", "karmada-system", ""}, "A"},
		{"Works, which hold Secrets, are seen", s.alpha, action{"list", work, "works", "", shop, ""}, "A"},
		{"Works, which Karmada applies as they are, are written", s.alpha, action{"create", work, "works", "", shop, ""}, "A"},
		{"what Karmada makes of policies is written", s.alpha, action{"update", work, "resourcebindings", "", shop, "x"}, "A"},
		{"the same without a namespace", s.alpha, action{"update", work, "clusterresourcebindings", "", "", "x"}, "A"},
		{"limits over all members are written", s.alpha, action{"create", policy, "federatedresourcequotas", "", shop, ""}, "A"},
		{"overrides are written without limits", s.alpha, action{"bypass", kairship, "overrides", "", "", ""}, "A"},
		{"member clusters are seen", s.alpha, action{"list", "cluster.karmada.io", "clusters", "", "", ""}, "VEA"},
		{"members are joined and led elsewhere", s.alpha, action{"create", "cluster.karmada.io", "clusters", "", "", ""}, "A"},
		{"namespaces are made", s.alpha, action{"create", "", "namespaces", "", "", ""}, "EA"},
		{"the namespace is deleted", s.alpha, action{"delete", "", "namespaces", "", shop, shop}, "EA"},
		{"access in the namespace is given", s.alpha, action{"create", "rbac.authorization.k8s.io", "rolebindings", "", shop, ""}, "aA"},
		{"access in the instance is given", s.alpha, action{"create", "rbac.authorization.k8s.io", "clusterrolebindings", "", "", ""}, "A"},
		{"no user goes beyond what they have", s.alpha, action{"escalate", "rbac.authorization.k8s.io", "clusterroles", "", "", ""}, ""},
		{"no user becomes another user", s.alpha, action{"impersonate", "", "users", "", "", "x"}, ""},
		{"no user changes admission", s.alpha, action{"create", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "", ""}, ""},
		{"no role changes the policy that limits overrides", s.alpha, action{"delete", "admissionregistration.k8s.io", "validatingadmissionpolicies", "", "", "overrides.kairship.io"}, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			// An API server sees new rules a moment after they were stored.
			poll.Until(t, soon, c.action.String(), func(ctx context.Context) error {
				got := ""
				for i, user := range users {
					allowed, err := may(ctx, c.cluster, user, c.action)
					if err != nil {
						return err
					}
					if allowed {
						got += letters[i : i+1]
					}
				}
				if got != c.who {
					return fmt.Errorf("it is permitted to %q, want %q", got, c.who)
				}
				return nil
			})
		})
	}
}

func TestNamespacesComeAndGo(t *testing.T) {
	s := open(t)
	s.namespace("first")
	binding := s.give("spaces", "alpha", v1alpha1.RoleViewer, prefix+"first", prefix+"later")
	s.becomes(binding, v1alpha1.ConditionInstanceReady, "False/NamespacesMissing", "1 of 2 namespaces", prefix+"later")

	s.namespace("later")
	s.becomes(binding, v1alpha1.ConditionReady, "True/Bound")

	s.change(binding, func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Namespaces = []string{prefix + "later"} })
	s.becomes(binding, v1alpha1.ConditionReady, "True/Bound")
	left := &rbacv1.RoleBinding{}
	left.Namespace, left.Name = prefix+"first", "kairship:binding:"+binding.Name
	if err := gone(t.Context(), s.alpha, left); err != nil {
		t.Errorf("a namespace that was taken from the binding: %v", err)
	}
}

func TestEveryInstanceIsOfferedForBinding(t *testing.T) {
	s := open(t)
	for _, name := range s.fleet.Names("instance") {
		instance, registration := &v1alpha1.Instance{}, &v1alpha1.InstanceRegistration{}
		s.must(s.global.Get(t.Context(), client.ObjectKey{Name: name}, instance))
		s.must(s.global.Get(t.Context(), client.ObjectKey{Name: name}, registration))
		if registration.Spec.Alias != instance.DisplayName() || registration.Spec.Endpoint != instance.Status.APIEndpoint || registration.Status.State != instance.Status.State {
			t.Errorf("%s is registered as %+v, %+v", name, registration.Spec, registration.Status)
		}
		if len(registration.Spec.Roles) != len(v1alpha1.Roles()) {
			t.Errorf("%s offers %d roles, want %d", name, len(registration.Spec.Roles), len(v1alpha1.Roles()))
		}
	}
}
