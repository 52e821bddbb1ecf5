package policy

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/index"
)

func specOf[S any](t *testing.T, text string) *S {
	t.Helper()
	var s S
	if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func arguments(fields []apierror.Field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.Argument)
	}
	return out
}

func TestPropagationContradictions(t *testing.T) {
	for _, tt := range []struct {
		reason, spec string
		want         []string
	}{
		{"nothing said, nothing contradicted", `resourceSelectors: []`, nil},
		{"one affinity", `{resourceSelectors: [], placement: {clusterAffinity: {}}}`, nil},
		{"an empty list beside it is none", `{resourceSelectors: [], placement: {clusterAffinity: {}, clusterAffinities: []}}`, nil},
		{
			"both ways to choose clusters", `{resourceSelectors: [], placement: {clusterAffinity: {}, clusterAffinities: [{affinityName: a}]}}`,
			[]string{"input.spec.placement.clusterAffinities"},
		},
		{
			"every constraint is looked at", `
resourceSelectors: []
placement: {spreadConstraints: [{spreadByField: cluster, maxGroups: 2, minGroups: 2}, {spreadByField: region, spreadByLabel: a}, {maxGroups: 1, minGroups: 2}, {minGroups: 2}]}`,
			[]string{"input.spec.placement.spreadConstraints[1].spreadByLabel", "input.spec.placement.spreadConstraints[2].maxGroups"},
		},
		{"suspended for some", `{resourceSelectors: [], suspension: {dispatching: false, dispatchingOnClusters: {clusterNames: [m1]}}}`, nil},
		{
			"suspended for all and for some", `{resourceSelectors: [], suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: [m1]}}}`,
			[]string{"input.spec.suspension.dispatchingOnClusters"},
		},
	} {
		if diff := cmp.Diff(tt.want, arguments(propagationContradictions(specOf[policyv1alpha1.PropagationSpec](t, tt.spec)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestOverrideContradictions(t *testing.T) {
	for _, tt := range []struct {
		reason, spec string
		want         []string
	}{
		{"nothing at all", `overriders: {}`, nil},
		{"the deprecated fields alone", `{targetCluster: {}, overriders: {plaintext: [{path: /a, operator: remove}]}}`, nil},
		{
			"the deprecated fields beside rules", `{overrideRules: [{overriders: {}}], targetCluster: {}, overriders: {fieldOverrider: [{fieldPath: /a, json: [{subPath: /b, operator: remove}]}]}}`,
			[]string{"input.spec.targetCluster", "input.spec.overriders"},
		},
		{"no rules are none", `{overrideRules: [], targetCluster: {}, overriders: {}}`, nil},
		{
			"a document is JSON or YAML", `
overriders: {}
overrideRules:
- overriders: {fieldOverrider: [{fieldPath: /a, yaml: [{subPath: /b, operator: remove}]}]}
- overriders: {fieldOverrider: [{fieldPath: /a}, {fieldPath: /a, yaml: [{subPath: /b, operator: remove}], json: [{subPath: /b, operator: remove}]}]}`,
			[]string{"input.spec.overrideRules[1].overriders.fieldOverrider[0]", "input.spec.overrideRules[1].overriders.fieldOverrider[1].yaml"},
		},
	} {
		if diff := cmp.Diff(tt.want, arguments(overrideContradictions(specOf[policyv1alpha1.OverrideSpec](t, tt.spec)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// refused is the error of a write that the instance answered with a status.
func refused(reason metav1.StatusReason, code int32, message string) error {
	status := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: reason, Code: code, Message: message}}
	return write.Translate("alpha", status, kindOf(index.PropagationPolicies, true), http.MethodPost, "shop", "web", paths)
}

func TestExplain(t *testing.T) {
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
		e, ok := errors.AsType[*apierror.Error](explain(refused(metav1.StatusReasonForbidden, http.StatusForbidden, tt.message)))
		if !ok || e.Code != apierror.CodeInvalid || e.Argument != tt.want[0].Argument || e.Instance != "alpha" || e.Cause == nil {
			t.Errorf("%s: got %#v", tt.reason, e)
			continue
		}
		if diff := cmp.Diff(tt.want, e.Fields); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestExplainLeavesTheRest(t *testing.T) {
	for reason, err := range map[string]error{
		"who may not do it is not at fault":             refused(metav1.StatusReasonForbidden, http.StatusForbidden, `propagationpolicies.policy.karmada.io is forbidden: User "bob" cannot create`),
		"a platform's own webhook says who may do what": refused(metav1.StatusReasonForbidden, http.StatusForbidden, `admission webhook "validate.kyverno.svc" denied the request: spec.placement: Forbidden: ask the platform team`),
		"words of Karmada that name no field":           refused(metav1.StatusReasonForbidden, http.StatusForbidden, `admission webhook "propagationpolicy.karmada.io" denied the request: no`),
		"an error of Kairship's own":                    apierror.New(apierror.CodeInstanceUnavailable, "away"),
		"an error that is not for callers":              errors.New("bug"),
	} {
		if got := explain(err); got != err { //nolint:errorlint // The very same.
			t.Errorf("%s: got %v, want %v as it is", reason, got, err)
		}
	}
}

func TestReplaced(t *testing.T) {
	from := map[string]string{"propagationpolicy.karmada.io/permanent-id": "1", "a": "1", "notkarmada.io/b": "1", "karmada.io": "1"}
	for _, tt := range []struct {
		reason   string
		to, want map[string]string
	}{
		{"Karmada's own stay when all others go", map[string]string{}, map[string]string{"propagationpolicy.karmada.io/permanent-id": "1"}},
		{"what is given is there", map[string]string{"c": "2"}, map[string]string{"propagationpolicy.karmada.io/permanent-id": "1", "c": "2"}},
		{
			"Karmada's own, given otherwise, are for the instance to refuse",
			map[string]string{"propagationpolicy.karmada.io/permanent-id": "2"}, map[string]string{"propagationpolicy.karmada.io/permanent-id": "2"},
		},
	} {
		if diff := cmp.Diff(tt.want, replaced(from, tt.to)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
