package overrides_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

func TestCheck(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.reason, func(t *testing.T) {
			spec := &policyv1alpha1.OverrideSpec{}
			if err := yaml.UnmarshalStrict([]byte(c.spec), spec); err != nil {
				t.Fatal(err)
			}
			var wrong []string
			for _, fault := range overrides.Check(spec) {
				wrong = append(wrong, fault.Field.String())
				if !strings.Contains(fault.Message, "nly an admin of the instance") && !strings.Contains(fault.Message, "replaced by a map") {
					t.Errorf("the message does not say what is allowed: %s", fault.Message)
				}
			}
			if diff := cmp.Diff(c.wrong, wrong); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
