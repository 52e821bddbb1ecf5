package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kairship-io/kairship/deploy/helm/privilege"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

func TestVerbs(t *testing.T) {
	for want, of := range map[string][]string{
		"read":        {"watch", "get", "list"},
		"write":       everyVerb[3:],
		"read, write": everyVerb,
		"get, list":   {"get", "list"},
		"impersonate": {"impersonate"},
	} {
		if got := verbs(of); got != want {
			t.Errorf("%v: got %q, want %q", of, got, want)
		}
	}
}

func TestAdded(t *testing.T) {
	secrets := rbacv1.PolicyRule{Verbs: []string{"get"}, Resources: []string{"secrets"}}
	leases := rbacv1.PolicyRule{Verbs: []string{"get"}, Resources: []string{"leases"}}
	role := func(name string, rules ...rbacv1.PolicyRule) privilege.Role {
		return privilege.Role{Kind: "ClusterRole", Name: name, Rules: rules}
	}
	got := added(
		[]privilege.Role{role("same", leases), role("grows", leases), role("goes", leases)},
		[]privilege.Role{role("same", leases), role("grows", leases, secrets), role("new", secrets)},
	)
	if diff := cmp.Diff([]privilege.Role{role("grows", secrets), role("new", secrets)}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPoliciesThatAreNotInForce refuses to show a rule that is not enforced everywhere.
func TestPoliciesThatAreNotInForce(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(*admissionv1.ValidatingAdmissionPolicyBinding)
		says   string
	}{
		{"it denies", func(*admissionv1.ValidatingAdmissionPolicyBinding) {}, ""},
		{"it only warns", func(b *admissionv1.ValidatingAdmissionPolicyBinding) {
			b.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn}
		}, "does not deny"},
		{"it is for another policy", func(b *admissionv1.ValidatingAdmissionPolicyBinding) { b.Spec.PolicyName = "x" }, "no binding"},
		{"it is for some objects", func(b *admissionv1.ValidatingAdmissionPolicyBinding) {
			b.Spec.MatchResources = &admissionv1.MatchResources{}
		}, "narrows"},
	} {
		binding := overrides.Binding()
		c.change(binding)
		err := enforced(overrides.Policy(), binding)
		if (err == nil) != (c.says == "") || (err != nil && !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: got %v, want %q", c.reason, err, c.says)
		}
	}
	if err := enforced(overrides.Policy(), nil); err == nil {
		t.Error("a policy without binding is shown")
	}
}

// TestExemptionsAreNamed compares what the page states about exemptions with the policy.
func TestExemptionsAreNamed(t *testing.T) {
	if err := admission(io.Discard, overrides.Policy(), "", "admins"); err != nil {
		t.Error(err)
	}
	if err := admission(io.Discard, overrides.Policy(), "", ""); err == nil {
		t.Error("the page may name no exemption where the policy has one")
	}
	strict := overrides.Policy()
	strict.Spec.MatchConditions = slices.DeleteFunc(strict.Spec.MatchConditions, func(c admissionv1.MatchCondition) bool { return strings.Contains(c.Expression, "authorizer") })
	if err := admission(io.Discard, strict, "", "admins"); err == nil {
		t.Error("the page may name an exemption that the policy does not have")
	}
}
