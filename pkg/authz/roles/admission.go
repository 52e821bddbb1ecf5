package roles

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

// Admission is an admission policy that an instance has, with its binding.
type Admission struct {
	Policy  *admissionv1.ValidatingAdmissionPolicy
	Binding *admissionv1.ValidatingAdmissionPolicyBinding
	// Verb, Group and Resource are the right in the instance that exempts from it.
	Verb, Group, Resource string
}

// Admissions returns the admission policies of an instance.
func Admissions() []Admission {
	return []Admission{
		{overrides.Policy(), overrides.Binding(), overrides.Bypass, v1alpha1.GroupName, overrides.Resource},
	}
}
