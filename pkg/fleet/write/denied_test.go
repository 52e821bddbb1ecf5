package write

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
)

var propagationPolicies = Kind{
	GroupVersionResource: schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}, Kind: "PropagationPolicy", Namespaced: true,
}

var policyPaths = Paths{"": "input", "spec": "input.spec", "metadata.name": "input.name", "metadata.labels": "input.labels!"}

// refused is the error of a write that the instance answered with a status.
func deniedWith(paths Paths, reason metav1.StatusReason, code int32, message string) error {
	status := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: reason, Code: code, Message: message}}
	return Translate("alpha", status, propagationPolicies, http.MethodPost, "shop", "web", paths)
}

// What is wrong with an object is said at the input that says it, whatever the
// status that Karmada's webhooks choose.
func TestDeniedByKarmada(t *testing.T) {
	const by = `admission webhook "propagationpolicy.karmada.io" denied the request: `
	for _, tt := range []struct {
		reason, message string
		want            []apierror.Field
	}{
		{
			"one fault", by + `spec.propagateDeps: Invalid value: false: application failover is set, propagateDeps must be true`,
			[]apierror.Field{{Argument: "input.spec.propagateDeps", Message: "application failover is set, propagateDeps must be true"}},
		},
		{
			"several, with values that hold colons, commas and what looks like a field",
			by + `[spec.placement: Invalid value: {"clusterAffinity":{"clusterNames":["a: b"]}}: clusterAffinities cannot co-exist with clusterAffinity, spec.resourceSelectors[0].namespace: Invalid value: "o\"ps: x": namespace of resource selector must be the same as the namespace of the policy, metadata.name: Required value: give one]`,
			[]apierror.Field{
				{Argument: "input.spec.placement", Message: "clusterAffinities cannot co-exist with clusterAffinity"},
				{Argument: "input.spec.resourceSelectors[0].namespace", Message: "namespace of resource selector must be the same as the namespace of the policy"},
				{Argument: "input.name", Message: "give one"},
			},
		},
		{
			"a field that Karmada names twice", by + `spec.suspension.suspension: Invalid value: {"dispatching":true}: suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames`,
			[]apierror.Field{{Argument: "input.spec.suspension", Message: "suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"}},
		},
		{
			"a value that is not supported", by + `spec.placement.clusterTolerations[0].operator: Unsupported value: "Lt": supported values: "", "Exists", "Equal"`,
			[]apierror.Field{{Argument: "input.spec.placement.clusterTolerations[0].operator", Message: `supported values: "", "Exists", "Equal"`}},
		},
		{
			"no more than the kind of fault", by + `spec.placement: Duplicate value: "x"`,
			[]apierror.Field{{Argument: "input.spec.placement", Message: "Duplicate value"}},
		},
		{
			"in words alone", by + `the schedulerName should not be updated`,
			[]apierror.Field{{Argument: "input.spec.schedulerName", Message: "the schedulerName should not be updated"}},
		},
		{
			"a label of Karmada's", by + `label propagationpolicy.karmada.io/permanent-id is immutable, it can only be set by the system during creation`,
			[]apierror.Field{{Argument: "input.labels", Message: "label propagationpolicy.karmada.io/permanent-id is immutable, it can only be set by the system during creation"}},
		},
	} {
		e, ok := errors.AsType[*apierror.Error](deniedWith(policyPaths, metav1.StatusReasonForbidden, http.StatusForbidden, tt.message))
		if !ok || e.Code != apierror.CodeInvalid || e.Argument != tt.want[0].Argument || e.Instance != "alpha" || e.Cause == nil {
			t.Errorf("%s: got %#v", tt.reason, e)
			continue
		}
		if diff := cmp.Diff(tt.want, e.Fields); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// Errors about manifests and patches name their own inputs.
func TestDeniedManifests(t *testing.T) {
	const by = `admission webhook "propagationpolicy.karmada.io" denied the request: `
	for _, tt := range []struct {
		reason, message, want string
		code                  int32
		paths                 Paths
	}{
		{"a manifest", by + `spec.propagateDeps: Invalid value: false: must be true`, "input.manifests[3].spec.propagateDeps", http.StatusForbidden, Paths{"": "input.manifests[3]"}},
		{"a patch", by + `[spec.placement: Required value: give one, spec.priority: Forbidden: no]`, "input.patch.spec.placement", http.StatusForbidden, Paths{"": "input.patch"}},
		{"a patch in steps has no such place", by + `spec.placement: Required value: give one`, "input.patch", http.StatusForbidden, Paths{"": "input.patch!"}},
		{"whatever the status", by + `spec.placement: Required value: give one`, "input.patch.spec.placement", http.StatusBadRequest, Paths{"": "input.patch"}},
	} {
		err := deniedWith(tt.paths, metav1.StatusReasonForbidden, tt.code, tt.message)
		e, ok := errors.AsType[*apierror.Error](err)
		if !ok || e.Code != apierror.CodeInvalid || e.Argument != tt.want || len(e.Fields) == 0 || e.Fields[0].Argument != tt.want {
			t.Errorf("%s: got %#v, want it at %s", tt.reason, e, tt.want)
		}
	}
}

func TestWhatKarmadaDoesNotDeny(t *testing.T) {
	for _, tt := range []struct {
		reason, message string
		kind            Kind
		code            apierror.Code
		hasNot          string
	}{
		{"who may not do it is not at fault", `propagationpolicies.policy.karmada.io is forbidden: User "bob" cannot create`, propagationPolicies, apierror.CodeForbidden, "bob"},
		{"a platform's own webhook says who may do what", `admission webhook "validate.kyverno.svc" denied the request: spec.placement: Forbidden: ask the platform team`, propagationPolicies, apierror.CodeForbidden, ""},
		{"words of Karmada that name no field", `admission webhook "propagationpolicy.karmada.io" denied the request: no`, propagationPolicies, apierror.CodeForbidden, ""},
		{"a Secret's value may be in the words", `admission webhook "x.karmada.io" denied the request: spec.a: Invalid value: 1: hunter2`, secrets, apierror.CodeForbidden, "hunter2"},
	} {
		status := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: tt.message}}
		e, ok := errors.AsType[*apierror.Error](Translate("alpha", status, tt.kind, http.MethodPost, "shop", "web", policyPaths))
		if !ok || e.Code != tt.code || len(e.Fields) > 0 || (tt.hasNot != "" && strings.Contains(e.Message, tt.hasNot)) {
			t.Errorf("%s: got %#v", tt.reason, e)
		}
	}
}
