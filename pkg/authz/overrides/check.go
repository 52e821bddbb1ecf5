package overrides

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// Violation is a field of an override policy that only an admin may write so.
type Violation struct {
	// Field is its path in the policy.
	Field *field.Path
	// Message says what is wrong, and what is allowed.
	Message string
}

// Check returns the violations that the admission policy finds in a spec, in the order of the spec.
func Check(spec *policyv1alpha1.OverrideSpec) []Violation {
	at := field.NewPath("spec")
	c := &checker{selective: len(spec.ResourceSelectors) > 0}
	for i, selector := range spec.ResourceSelectors {
		if adminKindsPattern.MatchString(selector.APIVersion + " " + selector.Kind) {
			c.add(at.Child("resourceSelectors").Index(i).Child("kind"), fmt.Sprintf("%q: %s", selector.Kind, notForAdmin))
		}
	}
	for i := range spec.OverrideRules {
		c.overriders(at.Child("overrideRules").Index(i).Child("overriders"), &spec.OverrideRules[i].Overriders)
	}
	c.overriders(at.Child("overriders"), &spec.Overriders) //nolint:staticcheck // deprecated, and still in use
	return c.violations
}

// checker collects violations.
type checker struct {
	selective  bool
	violations []Violation
}

func (c *checker) add(at *field.Path, message string) {
	c.violations = append(c.violations, Violation{at, message})
}

func (c *checker) overriders(at *field.Path, o *policyv1alpha1.Overriders) {
	for i := range o.Plaintext {
		c.plaintext(at.Child("plaintext").Index(i), &o.Plaintext[i])
	}
	for i, image := range o.ImageOverrider {
		if image.Predicate != nil {
			c.path(at.Child("imageOverrider").Index(i).Child("predicate", "path"), image.Predicate.Path)
		}
	}
	for i, labels := range o.LabelsOverrider {
		c.keys(at.Child("labelsOverrider").Index(i).Child("value"), labels.Value)
	}
	for i, annotations := range o.AnnotationsOverrider {
		c.keys(at.Child("annotationsOverrider").Index(i).Child("value"), annotations.Value)
	}
	for i, document := range o.FieldOverrider {
		c.path(at.Child("fieldOverrider").Index(i).Child("fieldPath"), document.FieldPath)
	}
}

func (c *checker) plaintext(at *field.Path, change *policyv1alpha1.PlaintextOverrider) {
	c.path(at.Child("path"), change.Path)
	if !wholePattern.MatchString(change.Path) || change.Operator == policyv1alpha1.OverriderOpRemove {
		return
	}
	var value map[string]any
	if json.Unmarshal(change.Value.Raw, &value) != nil || value == nil || slices.ContainsFunc(slices.Collect(maps.Keys(value)), reservedKeyPattern.MatchString) {
		c.add(at.Child("value"), wantsMap)
	}
}

func (c *checker) path(at *field.Path, path string) {
	switch {
	case !pathAllowed(path):
		c.add(at, fmt.Sprintf("%q: %s", path, allowed))
	case !c.selective && inSpecPattern.MatchString(path):
		c.add(at, fmt.Sprintf("%q: %s", path, needsSelectors))
	}
}

func (c *checker) keys(at *field.Path, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if reservedKeyPattern.MatchString(key) {
			c.add(at, fmt.Sprintf("%q: %s", key, allowed))
		}
	}
}
