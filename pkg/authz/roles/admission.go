package roles

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

// Admission is an admission policy that an instance has, with its binding.
type Admission struct {
	Policy  *admissionv1.ValidatingAdmissionPolicy
	Binding *admissionv1.ValidatingAdmissionPolicyBinding
	// Limits says what editors may do only where the policy is in force.
	Limits string
	// Withheld is the reason of a role that has no right to that.
	Withheld string
	// Verb, Group and Resource are the right in the instance that exempts from it.
	Verb, Group, Resource string
}

// Admissions returns the admission policies of an instance.
func Admissions() []Admission {
	return []Admission{
		{
			overrides.Policy(), overrides.Binding(), "write override policies", v1alpha1.ReasonOverridesWithheld,
			overrides.Bypass, v1alpha1.GroupName, overrides.Resource,
		},
		{
			reservedPolicy(), reservedBinding(), "write Namespaces", v1alpha1.ReasonNamespacesWithheld,
			reservedBypass, v1alpha1.GroupName, reservedResource,
		},
	}
}

// ReservedPolicyName is the name of the admission policy about reserved namespaces, and of
// its binding.
const ReservedPolicyName = "reserved-namespaces.kairship.io"

// The right that exempts a user from the policy: verb reservedBypass on reservedResource
// of Kairship's API group, without a namespace. Nothing is stored under it.
const (
	reservedResource = "reservednamespaces"
	reservedBypass   = "bypass"
)

// reservedPolicy returns the admission policy that denies editors of the whole instance the
// reserved Namespaces; they may write all others. RBAC cannot exclude some.
func reservedPolicy() *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: ReservedPolicyName, Labels: ownLabels(v1alpha1.RoleEditor)},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			// With everything that the API server would fill in, so that what is stored can be compared.
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				MatchPolicy: ptr.To(admissionv1.Equivalent),
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
					Rule: admissionv1.Rule{
						APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"namespaces"}, Scope: ptr.To(admissionv1.AllScopes),
					},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{
				{Name: "no-admin", Expression: "!authorizer.group('" + v1alpha1.GroupName + "').resource('" + reservedResource + "').check('" + reservedBypass + "').allowed()"},
			},
			Variables: []admissionv1.Variable{
				{Name: "name", Expression: "request.operation == 'DELETE' ? oldObject.metadata.name : object.metadata.name"},
			},
			Validations: []admissionv1.Validation{{
				Expression:        "!(" + celReserved("variables.name") + ")",
				Message:           reservedMessage,
				MessageExpression: "'\"' + variables.name + '\": " + reservedMessage + "'",
				Reason:            ptr.To(metav1.StatusReasonForbidden),
			}},
		},
	}
}

const reservedMessage = "only an admin of the instance may write a namespace that is reserved for Kubernetes and Karmada"

func reservedBinding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ReservedPolicyName, Labels: ownLabels(v1alpha1.RoleEditor)},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: ReservedPolicyName, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

// celReserved is Reserved in CEL, about a variable.
func celReserved(name string) string {
	tests := []string{name + " in ['" + strings.Join(reservedNames, "', '") + "']"}
	for _, prefix := range reservedPrefixes {
		tests = append(tests, name+".startsWith('"+prefix+"')")
	}
	return strings.Join(tests, " || ")
}
