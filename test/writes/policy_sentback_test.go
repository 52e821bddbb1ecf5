package writes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// rich are specs that use much of what Karmada accepts, in the words of the API.
var rich = []struct {
	kind policyKind
	spec string
}{
	{pp, `{
		"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "data"}, {"apiVersion": "apps/v1", "kind": "Deployment",
			"labelSelector": {"matchLabels": [{"key": "tier", "value": "web"}, {"key": "empty", "value": ""}], "matchExpressions": [{"key": "env", "operator": "NOT_IN", "values": ["dev"]}, {"key": "x", "operator": "EXISTS"}]}}],
		"propagateDeps": true, "priority": 3, "preemption": "NEVER", "dependentOverrides": ["a"], "conflictResolution": "OVERWRITE", "activationPreference": "LAZY",
		"placement": {
			"clusterAffinities": [
				{"affinityName": "near", "clusterNames": ["m1"], "exclude": ["m3"], "overflowAffinities": [{"affinityName": "far", "clusterNames": ["m2"]}]},
				{"affinityName": "other", "labelSelector": {}, "fieldSelector": {"matchExpressions": [{"key": "region", "operator": "IN", "values": ["eu"]}]}}],
			"clusterTolerations": [{"key": "a", "operator": "EXISTS", "effect": "NO_EXECUTE", "tolerationSeconds": 0}],
			"spreadConstraints": [{"spreadByField": "CLUSTER", "minGroups": 1, "maxGroups": 2}, {"spreadByField": "REGION", "minGroups": 1}],
			"replicaScheduling": {"replicaSchedulingType": "DIVIDED", "replicaDivisionPreference": "WEIGHTED", "weightPreference": {"dynamicWeight": "AVAILABLE_REPLICAS"}},
			"workloadAffinity": {"affinity": {"groupByLabelKey": "g"}, "antiAffinity": {"groupByLabelKey": "h"}}},
		"failover": {
			"application": {"decisionConditions": {}, "purgeMode": "GRACEFULLY", "statePreservation": {"rules": [{"aliasLabelName": "l", "jsonPath": "{.a}"}]}},
			"cluster": {"purgeMode": "DIRECTLY"}},
		"suspension": {"dispatching": false, "dispatchingOnClusters": {"clusterNames": ["m1"]}},
		"preserveResourcesOnDeletion": true, "schedulePriority": {"priorityClassSource": "KUBE_PRIORITY_CLASS", "priorityClassName": "system-cluster-critical"}}`},
	{pp, `{
		"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "IN", "values": ["b"]}, {"key": "c", "operator": "DOES_NOT_EXIST"}]}}],
		"propagateDeps": true,
		"placement": {
			"clusterAffinity": {"labelSelector": {"matchLabels": [{"key": "a", "value": "b"}]}, "fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "NOT_IN", "values": ["z"]}, {"key": "provider", "operator": "NOT_IN", "values": ["p"]}]}},
			"clusterTolerations": [{"key": "a", "operator": "EQUAL", "value": "b", "effect": "NO_SCHEDULE"}],
			"spreadConstraints": [{"spreadByField": "CLUSTER", "minGroups": 1}, {"spreadByField": "REGION", "minGroups": 1}, {"spreadByField": "ZONE", "minGroups": 1}, {"spreadByField": "PROVIDER", "minGroups": 1}],
			"replicaScheduling": {"replicaSchedulingType": "DIVIDED", "replicaDivisionPreference": "AGGREGATED"}},
		"failover": {
			"application": {"decisionConditions": {"tolerationSeconds": 60}, "purgeMode": "DIRECTLY"},
			"cluster": {"purgeMode": "GRACEFULLY", "statePreservation": {"rules": [{"aliasLabelName": "l", "jsonPath": "{.a}"}]}}}}`},
	{pp, `{
		"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "data"}], "propagateDeps": true,
		"placement": {
			"clusterAffinities": [{"affinityName": "near", "clusterNames": ["m1"], "overflowAffinities": [{"affinityName": "far", "exclude": ["m1"], "labelSelector": {"matchLabels": [{"key": "a", "value": "b"}]},
				"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "IN", "values": ["r"]}]}}]}],
			"clusterTolerations": [{"operator": "EXISTS", "effect": "NO_SCHEDULE"}],
			"replicaScheduling": {"replicaSchedulingType": "DIVIDED", "replicaDivisionPreference": "AGGREGATED"}},
		"failover": {"application": {"decisionConditions": {}, "purgeMode": "NEVER"}, "cluster": {"purgeMode": "DIRECTLY"}}}`},
	{pp, `{"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "data"}], "propagateDeps": true, "placement": {"replicaScheduling": {"replicaSchedulingType": "DUPLICATED"}},
		"failover": {"application": {"decisionConditions": {}, "purgeMode": "GRACIOUSLY"}}}`},
	{pp, `{"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "data"}], "propagateDeps": true, "failover": {"application": {"decisionConditions": {}, "purgeMode": "IMMEDIATELY"}}}`},
	{pp, `{"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "data"}], "placement": {"clusterTolerations": [{"operator": "EXISTS", "effect": "PREFER_NO_SCHEDULE"}]}}`},
	{cpp, `{"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "no-such"}], "placement": {"clusterAffinity": {}, "spreadConstraints": [{}], "replicaScheduling": {}}}`},
	{op, `{
		"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "data"}],
		"overrideRules": [{"targetCluster": {"exclude": ["m2"]}, "overriders": {
			"plaintext": [{"path": "/data/a", "operator": "ADD", "value": {"b": [1, null, 12345, ""]}}, {"path": "/data/b", "operator": "REMOVE"}, {"path": "/data/c", "operator": "REPLACE", "value": false}],
			"imageOverrider": [{"predicate": {"path": "/spec/image"}, "component": "TAG", "operator": "REPLACE", "value": "2"}, {"component": "REGISTRY", "operator": "REMOVE"}],
			"commandOverrider": [{"containerName": "c", "operator": "ADD", "value": ["-v", ""]}], "argsOverrider": [{"containerName": "c", "operator": "REMOVE", "value": ["-q"]}],
			"labelsOverrider": [{"operator": "ADD", "value": [{"key": "a", "value": ""}, {"key": "b.c/d", "value": "1"}]}], "annotationsOverrider": [{"operator": "REMOVE", "value": [{"key": "a", "value": ""}]}],
			"fieldOverrider": [{"fieldPath": "/data/x", "json": [{"subPath": "/a", "operator": "REPLACE", "value": 1}]}, {"fieldPath": "/data/y", "yaml": [{"subPath": "/a", "operator": "REMOVE"}]}]}},
			{"overriders": {}}]}`},
	{op, `{
		"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "data"}],
		"overrideRules": [{"targetCluster": {"labelSelector": {"matchLabels": [{"key": "a", "value": "b"}]}}, "overriders": {
			"imageOverrider": [{"component": "REPOSITORY", "operator": "REPLACE", "value": "r"}],
			"labelsOverrider": [{"operator": "REPLACE", "value": [{"key": "a", "value": "b"}]}],
			"fieldOverrider": [{"fieldPath": "/data/x", "json": [{"subPath": "/a", "operator": "ADD", "value": {"b": 1}}, {"subPath": "/b", "operator": "REMOVE"}]},
				{"fieldPath": "/data/y", "yaml": [{"subPath": "/a", "operator": "ADD", "value": [1]}, {"subPath": "/b", "operator": "REPLACE", "value": "c"}]}]}}]}`},
	{cop, `{"targetCluster": {"clusterNames": ["m1"]}, "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "no-such"}], "overriders": {"imageOverrider": [{"component": "TAG", "operator": "ADD", "value": "2"}]}}`},
}

// What the API shows of a policy, with all that the instance filled in, may be sent
// back and changes nothing.
func TestPoliciesMayBeSentBack(t *testing.T) {
	t.Parallel()
	served := schema.Load()
	for number, of := range rich {
		k, text := of.kind, of.spec
		t.Run(fmt.Sprintf("%s %d", k.name, number), func(t *testing.T) {
			s := newPolicyScene(t)
			s.cleanUp(t, k)
			typ := "OverrideSpec"
			if k == pp || k == cpp {
				typ = "PropagationSpec"
			}
			whole := "resourceVersion manifest spec " + strings.ReplaceAll(schema.Selection(served, typ, 12), "__typename", "")
			ask := func(verb string, input map[string]any) (version string, manifest, spec map[string]any) {
				title := strings.ToUpper(verb[:1]) + verb[1:] + k.name
				query := fmt.Sprintf(`mutation($input: %sInput!) { payload: %s%s(input: $input) { policy: %s { %s } } }`, title, verb, k.name, k.field(), whole)
				type payload struct {
					Payload struct {
						Policy struct {
							ResourceVersion string         `json:"resourceVersion"`
							Manifest        map[string]any `json:"manifest"`
							Spec            map[string]any `json:"spec"`
						} `json:"policy"`
					} `json:"payload"`
				}
				data, _ := gql.MustQuery[payload](t, s.alice, query, map[string]any{"input": input})
				p := data.Payload.Policy
				return p.ResourceVersion, p.Manifest, p.Spec
			}
			var given map[string]any
			if err := json.Unmarshal([]byte(text), &given); err != nil {
				t.Fatal(err)
			}
			version, manifest, shown := ask("create", s.input(k, map[string]any{"spec": given}))
			for _, dryRun := range []bool{true, false} {
				_, same, _ := ask("update", s.input(k, map[string]any{"spec": shown, "resourceVersion": version, "dryRun": dryRun}))
				if diff := cmp.Diff(manifest["spec"], same["spec"]); diff != "" {
					t.Errorf("sent back (-stored +then):\n%s", diff)
				}
			}
		})
	}
}
