package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/deploy/helm/privilege"
)

// allNamespaces is the value with which the chart gives the programs more rights.
const allNamespaces = "instanceSecrets.allNamespaces=true"

// chart is what the chart gives to programs and asks of people.
type chart struct {
	// roles are those of an installation without values of its own, more the rules that
	// allNamespaces adds.
	roles, more []privilege.Role
	policies    []*admissionv1.ValidatingAdmissionPolicy
}

func readChart(ctx context.Context, root string) (*chart, error) {
	manifest, err := template(ctx, root)
	if err != nil {
		return nil, err
	}
	c := &chart{}
	if c.roles, err = privilege.ReadRoles(manifest); err != nil {
		return nil, err
	}
	if c.policies, err = readPolicies(manifest); err != nil {
		return nil, err
	}
	wide, err := template(ctx, root, "--set", allNamespaces)
	if err != nil {
		return nil, err
	}
	wider, err := privilege.ReadRoles(wide)
	if err != nil {
		return nil, err
	}
	c.more = added(c.roles, wider)
	return c, nil
}

// added returns what the later roles have and the earlier ones do not.
func added(earlier, later []privilege.Role) []privilege.Role {
	var out []privilege.Role
	for _, role := range later {
		at := slices.IndexFunc(earlier, func(e privilege.Role) bool {
			return e.Kind == role.Kind && e.Namespace == role.Namespace && e.Name == role.Name
		})
		if at >= 0 {
			role.Rules = slices.DeleteFunc(slices.Clone(role.Rules), func(rule rbacv1.PolicyRule) bool {
				return slices.ContainsFunc(earlier[at].Rules, func(e rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(e, rule) })
			})
		}
		if len(role.Rules) > 0 {
			out = append(out, role)
		}
	}
	return out
}

// readPolicies reads the admission policies. One without a binding that denies is an error.
func readPolicies(manifest []byte) ([]*admissionv1.ValidatingAdmissionPolicy, error) {
	var policies []*admissionv1.ValidatingAdmissionPolicy
	bindings := map[string]*admissionv1.ValidatingAdmissionPolicyBinding{}
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		var o struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal(document, &o); err != nil {
			return nil, err
		}
		var err error
		switch o.Kind {
		case "ValidatingAdmissionPolicy":
			policy := &admissionv1.ValidatingAdmissionPolicy{}
			err = yaml.Unmarshal(document, policy)
			policies = append(policies, policy)
		case "ValidatingAdmissionPolicyBinding":
			binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
			err = yaml.Unmarshal(document, binding)
			bindings[binding.Spec.PolicyName] = binding
		}
		if err != nil {
			return nil, err
		}
	}
	for _, policy := range policies {
		if err := enforced(policy, bindings[policy.Name]); err != nil {
			return nil, err
		}
	}
	return policies, nil
}

// enforced returns an error for a policy that is not in force everywhere.
func enforced(policy *admissionv1.ValidatingAdmissionPolicy, binding *admissionv1.ValidatingAdmissionPolicyBinding) error {
	switch {
	case binding == nil || binding.Spec.PolicyName != policy.Name:
		return fmt.Errorf("admission policy %s has no binding", policy.Name)
	case !slices.Equal(binding.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}):
		return fmt.Errorf("the binding of admission policy %s does not deny: %v", policy.Name, binding.Spec.ValidationActions)
	case binding.Spec.MatchResources != nil || binding.Spec.ParamRef != nil:
		return fmt.Errorf("the binding of admission policy %s narrows it, which the reference does not show yet", policy.Name)
	}
	return nil
}
