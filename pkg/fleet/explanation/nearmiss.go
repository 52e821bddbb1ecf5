package explanation

import (
	"fmt"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/fleet/policy"
)

// nearMiss is the reason of a policy of which one selector differs from the workload in one respect.
func (in *inputs) nearMiss(p policy.PropagationPolicyLike) (Reason, bool) {
	selectors := p.PropagationSpec().ResourceSelectors
	for i := range selectors {
		differs := differences(in.object, &selectors[i])
		if len(differs) != 1 || differs[0].code == "" {
			continue
		}
		return Reason{Code: differs[0].code, Message: described(p) + " nearly selects it: " + differs[0].text, Policy: p}, true
	}
	return Reason{}, false
}

// difference is one respect in which a selector differs from an object. One without a code is no
// reason to name the policy: policies for other names are many.
type difference struct {
	code Code
	text string
}

// differences are all of these; none where the selector selects the object.
func differences(o *unstructured.Unstructured, s *policyv1alpha1.ResourceSelector) []difference {
	var all []difference
	subject, specific := subjectOf(o, s)
	switch {
	case s.Kind != o.GetKind():
		d := difference{text: fmt.Sprintf("its selector is for kind %s", s.Kind)}
		if specific {
			d.code = PolicyKindDiffers
		}
		all = append(all, d)
	case s.APIVersion != o.GetAPIVersion():
		all = append(all, difference{PolicyAPIVersionDiffers, fmt.Sprintf("its selector is for apiVersion %s, and the template is %s", s.APIVersion, o.GetAPIVersion())})
	}
	if s.Namespace != "" && s.Namespace != o.GetNamespace() {
		all = append(all, difference{PolicyNamespaceDiffers, "its selector is for namespace " + s.Namespace})
	}
	if subject != nil {
		all = append(all, *subject)
	}
	return all
}

// subjectOf compares the name and labels, and reports whether the selector is for some names or labels alone.
func subjectOf(o *unstructured.Unstructured, s *policyv1alpha1.ResourceSelector) (differs *difference, specific bool) {
	switch {
	case s.Name != "":
		if s.Name == o.GetName() {
			return nil, true
		}
		return &difference{text: "its selector is for the name " + s.Name}, true
	case s.LabelSelector == nil:
		return nil, false
	}
	selector, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
	if err != nil {
		return &difference{PolicyLabelsDiffer, "its label selector is not valid"}, true
	}
	set := labels.Set(o.GetLabels())
	if selector.Matches(set) {
		return nil, true
	}
	var unmet []string
	requirements, _ := selector.Requirements()
	for i := range requirements {
		if !requirements[i].Matches(set) {
			unmet = append(unmet, requirements[i].String())
		}
	}
	return &difference{PolicyLabelsDiffer, "its label selector asks for " + strings.Join(unmet, ", ")}, true
}
