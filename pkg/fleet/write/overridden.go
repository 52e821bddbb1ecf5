package write

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

// deniedOverride says which inputs the admission policy for overrides found fault with;
// nil when it did not refuse the request. It names no fields; they are those of the
// object that was sent. The fields of a patch are not known, so the policy's own words stay.
func (s subject) deniedOverride(status *metav1.Status) *apierror.Error {
	if !strings.Contains(status.Message, "ValidatingAdmissionPolicy '"+overrides.Name+"'") {
		return nil
	}
	var wrong []apierror.Field
	for _, violation := range violationsOf(s.sent) {
		wrong = append(wrong, apierror.Field{Argument: s.paths.Argument(violation.Field.String()), Message: violation.Message})
	}
	if len(wrong) > 0 {
		return invalid(wrong)
	}
	text, _ := refusal(status.Message)
	return apierror.Invalid(s.paths.Argument("spec"), "%s", text)
}

// violationsOf are the faults of an override policy that was sent as a whole.
func violationsOf(sent any) []overrides.Violation {
	object, ok := sent.(map[string]any)
	if !ok {
		return nil
	}
	raw, err := json.Marshal(object["spec"])
	if err != nil {
		return nil
	}
	spec := &policyv1alpha1.OverrideSpec{}
	if err := json.Unmarshal(raw, spec); err != nil {
		return nil
	}
	return overrides.Check(spec)
}
