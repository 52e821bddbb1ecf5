package write

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

// deniedOverride returns an error with the inputs that the admission policy for overrides refused;
// nil when it did not refuse the request. The policy names no fields, so they are found in the
// object that was sent. The object of a patch is not known, so the error then has the policy's own
// message.
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

// violationsOf returns the violations of an override policy that was sent as a whole.
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
