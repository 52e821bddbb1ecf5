package overrides

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Name is the name of the admission policy and of its binding in every instance.
const Name = "overrides.kairship.io"

// The right that exempts a user from the policy: verb Bypass on Resource of Kairship's
// API group, without a namespace. Nothing is stored under it.
const (
	Resource = "overrides"
	Bypass   = "bypass"
)

// Policy returns the admission policy that an instance needs before an editor may write override
// policies there. Writes that do not change the spec pass: the garbage collector and other
// controllers write finalizers.
func Policy() *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: labels()},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    ptr.To(admissionv1.Fail),
			MatchConstraints: constraints(),
			MatchConditions: []admissionv1.MatchCondition{
				{Name: "spec-changes", Expression: "request.operation == 'CREATE' || !has(oldObject.spec) || object.spec != oldObject.spec"},
				{Name: "no-admin", Expression: "!authorizer.group('" + v1alpha1.GroupName + "').resource('" + Resource + "').check('" + Bypass + "').allowed()"},
			},
			Variables:   variables(),
			Validations: validations(),
		},
	}
}

// Binding returns what puts the policy into force.
func Binding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: labels()},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

func labels() map[string]string {
	return map[string]string{
		v1alpha1.ManagedByLabel:    v1alpha1.ManagedByValue,
		v1alpha1.InstanceRoleLabel: string(v1alpha1.RoleEditor),
	}
}

// constraints say everything that the API server would fill in, so that what is stored
// can be compared.
func constraints() *admissionv1.MatchResources {
	return &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
		MatchPolicy: ptr.To(admissionv1.Equivalent),
		ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule: admissionv1.Rule{
				APIGroups: []string{"policy.karmada.io"}, APIVersions: []string{"*"},
				Resources: []string{"overridepolicies", "clusteroverridepolicies"}, Scope: ptr.To(admissionv1.AllScopes),
			},
		}}},
	}
}

func variables() []admissionv1.Variable {
	optional := func(list, paths string) string { return "(has(o." + list + ") ? o." + list + paths + " : [])" }
	return []admissionv1.Variable{
		{Name: "selectors", Expression: "has(object.spec.resourceSelectors) ? object.spec.resourceSelectors : []"},
		{Name: "overriders", Expression: "(has(object.spec.overrideRules) ? object.spec.overrideRules.map(rule, rule.overriders) : [])" +
			" + (has(object.spec.overriders) ? [object.spec.overriders] : [])"},
		{Name: "paths", Expression: "variables.overriders.map(o, " + strings.Join([]string{
			optional("plaintext", ".map(change, change.path)"),
			optional("imageOverrider", ".filter(image, has(image.predicate)).map(image, image.predicate.path)"),
			optional("fieldOverrider", ".map(document, document.fieldPath)"),
		}, " + ") + ")"},
		// The wrong paths of each overrider; overriders without any are left out.
		{Name: "wrongPaths", Expression: "variables.paths.map(list, list.filter(path, !" + celPathAllowed + ")).filter(list, size(list) > 0)"},
		{Name: "wrongKeys", Expression: "variables.overriders.map(o, (" +
			optional("labelsOverrider", "") + " + " + optional("annotationsOverrider", "") +
			").filter(change, change.value.exists(key, key.matches(r'" + reservedKey + "'))).map(change, change.value.filter(key, key.matches(r'" + reservedKey + "'))[0])" +
			").filter(list, size(list) > 0)"},
		{Name: "wrongKinds", Expression: "variables.selectors.filter(s, (s.apiVersion + ' ' + s.kind).matches(r'" + adminKinds + "'))"},
	}
}

func validations() []admissionv1.Validation {
	text := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }
	quoted := func(value, message string) string { return `'"' + ` + value + ` + '": ' + ` + text(message) }
	return []admissionv1.Validation{
		{
			Expression: "variables.overriders.all(o, o.all(key, key in " + celNames(overriders) + "))",
			Message:    notKnown,
		},
		{
			Expression:        "size(variables.wrongPaths) == 0",
			Message:           allowed,
			MessageExpression: quoted("variables.wrongPaths[0][0]", allowed),
		},
		{
			Expression:        "size(variables.wrongKeys) == 0",
			Message:           allowed,
			MessageExpression: quoted("variables.wrongKeys[0][0]", allowed),
		},
		{
			Expression: "variables.overriders.all(o, !has(o.plaintext) || o.plaintext.all(change, !change.path.matches(r'" + whole + "') || change.operator == 'remove'" +
				" || (has(change.value) && type(change.value) == map && !change.value.exists(key, key.matches(r'" + reservedKey + "')))))",
			Message: wantsMap,
		},
		{
			Expression: "size(variables.selectors) > 0 || variables.paths.all(list, !list.exists(path, path.matches(r'" + inSpec + "')))",
			Message:    needsSelectors,
		},
		{
			Expression:        "size(variables.wrongKinds) == 0",
			Message:           notForAdmin,
			MessageExpression: quoted("variables.wrongKinds[0].kind", notForAdmin),
		},
	}
}
