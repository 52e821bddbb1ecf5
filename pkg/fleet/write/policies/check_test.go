package policies

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
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
