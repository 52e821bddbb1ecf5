package resolvers

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	gqlast "github.com/vektah/gqlparser/v2/ast"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/activity"
	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/drift"
	"github.com/kairship-io/kairship/pkg/fleet/explanation"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/image"
	"github.com/kairship-io/kairship/pkg/fleet/karmadaresource"
	"github.com/kairship-io/kairship/pkg/fleet/manifestpreview"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/podlog"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/preview"
	"github.com/kairship-io/kairship/pkg/fleet/rolebinding"
	"github.com/kairship-io/kairship/pkg/fleet/search"
	"github.com/kairship-io/kairship/pkg/fleet/timeline"
	"github.com/kairship-io/kairship/pkg/fleet/whatif"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/manifest"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/applications"
	"github.com/kairship-io/kairship/pkg/fleet/write/bulk"
	"github.com/kairship-io/kairship/pkg/fleet/write/instances"
	"github.com/kairship-io/kairship/pkg/fleet/write/policies"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/fleet/write/workloads"
	"github.com/kairship-io/kairship/pkg/projection"
)

// enumRoute says where values of an enum come out of the API and go into it.
type enumRoute struct {
	// value makes a Go value of the enum.
	value func(string) any
	// out is a query that shows a value, and the field that has it; empty where none does.
	out, field string
	// in is a query that takes a value as $v, the field that gets it, and the path to
	// it in the field's arguments; empty where none does.
	in, by, path string
}

func typed[T ~string](v string) any { return T(v) }

const (
	oneWorkload = `workload(kind: JOB, namespace: "shop", name: "web")`
	onePod      = `{ instance(name: "alpha") { ` + oneWorkload + ` { placements { object { pods { phase } } } } } }`
)

// order is a binding of an enum of fields to order by.
func order(field string) enumRoute {
	in := `{ ` + field + `(orderBy: {field: $v}) { __typename } }`
	by := "Query." + field
	if field != "instances" && field != "clusters" && field != "workloads" {
		in, by = `{ instance(name: "alpha") `+strings.Replace(in, field+"(", field+resourceArgs(field)+"(", 1)+` }`, "Instance."+field
		in = strings.Replace(in, `")(`, `", `, 1)
	}
	return enumRoute{value: typed[object.OrderField], in: in, by: by, path: "orderBy.Field"}
}

// ofWorkloads is the route of what workloads can be ordered by, which is more than other lists.
func ofWorkloads(r enumRoute) enumRoute {
	r.value = typed[workload.OrderField]
	return r
}

func resourceArgs(field string) string {
	if field == "resources" {
		return `(version: "v1", resource: "configmaps")`
	}
	return ""
}

// enums are all enums but those that pkg/fleet/policy and pkg/fleet/karmadaresource bind and test, and Guard,
// which is written in the schema alone; see TestEveryRootFieldIsGuarded.
var enums = map[string]enumRoute{
	"InstanceMode":  {typed[v1alpha1.InstanceMode], `{ instance(name: "alpha") { mode } }`, "Instance.mode", `{ instances(filter: {mode: [$v]}) { __typename } }`, "Query.instances", "filter.Mode"},
	"InstanceState": {typed[v1alpha1.InstanceState], `{ instance(name: "alpha") { state } }`, "Instance.state", `{ instances(filter: {state: [$v]}) { __typename } }`, "Query.instances", "filter.State"},
	"DeletionPolicy": {
		typed[v1alpha1.DeletionPolicy], `{ instance(name: "alpha") { deletionPolicy } }`, "Instance.deletionPolicy",
		`{ deleteInstance(input: {instance: "alpha", deletionPolicy: $v}) { __typename } }`, "Mutation.deleteInstance", "input.DeletionPolicy",
	},
	"InstanceRole": {
		typed[v1alpha1.Role], `{ instance(name: "alpha") { roleBindings { nodes { role } } } }`, "RoleBinding.role",
		`{ instance(name: "alpha") { roleBindings(filter: {roles: [$v]}) { __typename } } }`, "Instance.roleBindings", "filter.Roles",
	},
	"RoleSubjectKind": {
		typed[v1alpha1.SubjectKind], `{ instance(name: "alpha") { roleBindings { nodes { subjectKind } } } }`, "RoleBinding.subjectKind",
		`{ grantInstanceRole(input: {instance: "alpha", subjectKind: $v, subject: "a", role: VIEWER}) { __typename } }`, "Mutation.grantInstanceRole", "input.SubjectKind",
	},
	"RoleBindingSource": {
		typed[rolebinding.Source], `{ instance(name: "alpha") { roleBindings { nodes { source } } } }`, "RoleBinding.source",
		`{ instance(name: "alpha") { roleBindings(filter: {source: $v}) { __typename } } }`, "Instance.roleBindings", "filter.Source",
	},
	"AccessVerb": {value: typed[rolebinding.Verb], in: `{ whoCan(instance: "alpha", verb: $v, resource: "pods") { __typename } }`, by: "Query.whoCan", path: "verb"},
	"ServiceType": {
		value: typed[v1alpha1.ServiceType],
		in:    `{ createInstance(input: {instance: "a", hostCluster: "h", components: {apiServer: {serviceType: $v}}}) { __typename } }`, by: "Mutation.createInstance", path: "input.Components.APIServer.ServiceType",
	},
	"ClusterType":         {typed[v1alpha1.ClusterType], `{ cluster(name: "m1") { type } }`, "Cluster.type", `{ clusters(filter: {type: [$v]}) { __typename } }`, "Query.clusters", "filter.Type"},
	"SyncMode":            {value: typed[clusterv1alpha1.ClusterSyncMode], out: `{ instance(name: "alpha") { memberCluster(name: "m1") { syncMode } } }`, field: "MemberCluster.syncMode"},
	"PodPhase":            {typed[pod.Phase], onePod, "Pod.phase", `{ pods(filter: {phase: [$v]}) { __typename } }`, "Query.pods", "filter.Phase"},
	"PodContainerType":    {value: typed[pod.ContainerType], out: strings.Replace(onePod, "phase", "containers { type }", 1), field: "PodContainer.type"},
	"PodContainerState":   {value: typed[pod.ContainerState], out: strings.Replace(onePod, "phase", "containers { state }", 1), field: "PodContainer.state"},
	"PodFacetField":       {typed[projection.PodFacetField], `{ pods { facets(fields: [PHASE]) { field } } }`, "PodFacet.field", `{ pods { facets(fields: [$v]) { __typename } } }`, "PodConnection.facets", "fields"},
	"PodOrderField":       {value: typed[pod.OrderField], in: `{ pods(orderBy: {field: $v}) { __typename } }`, by: "Query.pods", path: "orderBy.Field"},
	"SearchType":          {typed[search.Type], `{ search(text: "a") { hits { type } } }`, "SearchHit.type", `{ search(text: "a", types: [$v]) { __typename } }`, "Query.search", "types"},
	"SearchMatch":         {value: typed[search.MatchedBy], out: `{ search(text: "a") { hits { matchedBy } } }`, field: "SearchHit.matchedBy"},
	"ImageOrderField":     {value: typed[image.OrderField], in: `{ images(orderBy: {field: $v}) { __typename } }`, by: "Query.images", path: "orderBy.Field"},
	"FreshnessSource":     {value: typed[freshness.Source], out: `{ instance(name: "alpha") { freshness { source } } }`, field: "Freshness.source"},
	"WorkloadKind":        {typed[workload.Kind], `{ workloads { nodes { kind } } }`, "Deployment.kind", `{ workloads(filter: {kinds: [$v]}) { __typename } }`, "Query.workloads", "filter.Kinds"},
	"PropagationStage":    {typed[explanation.Stage], `{ workloads { nodes { explanation { stage } } } }`, "Explanation.stage", "", "", ""},
	"ExplanationState":    {typed[explanation.State], `{ workloads { nodes { explanation { state } } } }`, "Explanation.state", "", "", ""},
	"ExplanationCode":     {typed[explanation.Code], `{ workloads { nodes { explanation { steps { reasons { code } } } } } }`, "ExplanationReason.code", "", "", ""},
	"ClusterLossMode":     {value: typed[whatif.LossMode], in: `{ instance(name: "alpha") { clusterLossPreview(clusters: ["m1"], mode: $v) { __typename } } }`, by: "Instance.clusterLossPreview", path: "mode"},
	"PolicyPreviewChange": {value: typed[preview.PolicyVerb], in: `{ instance(name: "alpha") { policyPreview(input: {change: $v, name: "a"}) { __typename } } }`, by: "Instance.policyPreview", path: "input.Verb"},
	"PreviewEffect": {
		typed[whatif.Effect], `{ instance(name: "alpha") { policyPreview(input: {change: DELETE, name: "a"}) { items { effect } } } }`, "PreviewItem.effect",
		`{ instance(name: "alpha") { policyPreview(input: {change: DELETE, name: "a"}) { items(effects: [$v]) { __typename } } } }`, "PolicyPreview.items", "effects",
	},
	"DriftAction":        {typed[drift.Action], `{ workloads { nodes { placements { drift { action } } } } }`, "PlacementDrift.action", "", "", ""},
	"ManifestEffect":     {typed[manifest.Effect], manifestPreview(`items { effect }`), "ManifestPreviewItem.effect", manifestPreview(`items(effects: [$v]) { __typename }`), "ManifestPreview.items", "effects"},
	"WorkloadHealth":     {typed[workload.Health], `{ workloads { nodes { health } } }`, "Deployment.health", `{ workloads(filter: {health: [$v]}) { __typename } }`, "Query.workloads", "filter.Health"},
	"WorkloadFacetField": {typed[projection.FacetField], `{ workloads { facets(fields: [HEALTH]) { field } } }`, "WorkloadFacet.field", `{ workloads { facets(fields: [$v]) { __typename } } }`, "WorkloadConnection.facets", "fields"},
	"ClusterFacetField":  {typed[cluster.FacetField], `{ clusters { facets(fields: [READY]) { field } } }`, "ClusterFacet.field", `{ clusters { facets(fields: [$v]) { __typename } } }`, "ClusterConnection.facets", "fields"},
	"PolicyFacetField": {
		typed[policy.FacetField], `{ instance(name: "alpha") { overridePolicies { facets(fields: [NAMESPACE]) { field } } } }`, "PolicyFacet.field",
		`{ instance(name: "alpha") { overridePolicies { facets(fields: [$v]) { __typename } } } }`, "OverridePolicyConnection.facets", "fields",
	},
	"OrderDirection":     {value: typed[object.Direction], in: `{ instances(orderBy: {field: NAME, direction: $v}) { __typename } }`, by: "Query.instances", path: "orderBy.Direction"},
	"InstanceOrderField": order("instances"), "ClusterOrderField": order("clusters"), "WorkloadOrderField": ofWorkloads(order("workloads")),
	"ClusterNodeOrderField":   {value: typed[object.OrderField], in: `{ instance(name: "alpha") { memberCluster(name: "m1") { clusterNodes(orderBy: {field: $v}) { __typename } } } }`, by: "MemberCluster.clusterNodes", path: "orderBy.Field"},
	"MemberClusterOrderField": order("memberClusters"), "NamespaceOrderField": order("namespaces"), "EventOrderField": order("events"),
	"PatchType": {value: typed[resources.PatchType], in: `{ patchResource(input: {instance: "alpha", version: "v1", resource: "configmaps", name: "a", patch: {}, type: $v}) { __typename } }`, by: "Mutation.patchResource", path: "input.Type"},
	"DeletionPropagation": {
		value: typed[resources.Propagation],
		in:    `{ deleteResource(input: {instance: "alpha", version: "v1", resource: "configmaps", name: "a", propagationPolicy: $v}) { __typename } }`, by: "Mutation.deleteResource", path: "input.PropagationPolicy",
	},
	"ManifestAction": {
		value: typed[resources.Action],
		out:   `mutation { applyManifests(input: {instance: "alpha", manifests: ""}) { results { action } } }`, field: "ManifestResult.action",
	},
	"WarningCode": {
		value: typed[write.WarningCode],
		out:   `mutation { createOverridePolicy(input: {instance: "alpha", namespace: "shop", name: "a", spec: {overrideRules: []}}) { warnings { code } } }`, field: "Warning.code",
	},
	"WorkloadAction": {
		typed[bulk.Action], `mutation { changeWorkloads(input: {filter: {}, action: PAUSE}) { action } }`, "ChangeWorkloadsPayload.action",
		`{ changeWorkloads(input: {filter: {}, action: $v}) { __typename } }`, "Mutation.changeWorkloads", "input.Action",
	},
	"WorkloadOutcome": {
		value: typed[bulk.Outcome],
		out:   `mutation { changeWorkloads(input: {filter: {}, action: PAUSE}) { results { outcome } } }`, field: "ChangedWorkload.outcome",
	},
	"WorkloadServiceType": {
		value: typed[workloads.ServiceType], in: `{ createService(input: {instance: "alpha", kind: DEPLOYMENT, namespace: "shop", name: "a", ports: [], type: $v}) { __typename } }`,
		by: "Mutation.createService", path: "input.Type",
	},
	"ServiceProtocol": {
		value: typed[workloads.Protocol], in: `{ createService(input: {instance: "alpha", kind: DEPLOYMENT, namespace: "shop", name: "a", ports: [{port: 1, protocol: $v}]}) { __typename } }`,
		by: "Mutation.createService", path: "input.Ports.Protocol",
	},
	"InstanceDeploymentOutcome": {
		value: typed[applications.Phase],
		out:   `mutation { deployApplicationToInstances(input: {instances: []}) { results { outcome } } }`, field: "InstanceDeployment.outcome",
	},
	"UndoOutcome": {
		value: typed[resources.UndoOutcome],
		out:   `mutation { deployApplication(input: {instance: "alpha"}) { results { rollback { outcome } } } }`, field: "UndoneWrite.outcome",
	},
	"PolicyOrderField": order("propagationPolicies"), "KarmadaResourceOrderField": order("federatedHPAs"), "ResourceOrderField": order("resources"),
	"TimelineChange": {
		value: typed[projection.HistoryChange], in: `{ instance(name: "alpha") { timeline(changes: [$v]) { totalCount } } }`, by: "Instance.timeline", path: "changes",
		out: `{ instance(name: "alpha") { timeline { nodes { change } } } }`, field: "TimelineEntry.change",
	},
	"ActivityWay": {
		value: typed[projection.ActivityWay], in: `{ activity(filter: {ways: [$v]}) { totalCount } }`, by: "Query.activity", path: "filter.Ways",
		out: `{ activity { nodes { way } } }`, field: "ActivityEntry.way",
	},
	"ActivityOutcome": {
		value: typed[projection.ActivityOutcome], in: `{ activity(filter: {outcomes: [$v]}) { totalCount } }`, by: "Query.activity", path: "filter.Outcomes",
		out: `{ activity { nodes { outcome } } }`, field: "ActivityEntry.outcome",
	},
	"ActivityVerb":        {value: typed[projection.ActivityVerb], out: `{ activity { nodes { verb } } }`, field: "ActivityEntry.verb"},
	"ChangeType":          {value: typed[changes.Type], out: `subscription { instanceChanged { type } }`, field: "InstanceChange.type"},
	"PolicyKind":          {value: typed[policy.Kind], in: `{ policyChanged(filter: {kinds: [$v]}) { type } }`, by: "Subscription.policyChanged", path: "filter.Kinds"},
	"PodLogEventType":     {value: typed[podlog.EventType], out: `subscription { podLogs(instance: "", namespace: "") { type } }`, field: "PodLogEvent.type"},
	"OperationKind":       {value: typed[operation.Kind], out: `subscription { operationProgress(operation: "") { kind } }`, field: "OperationProgress.kind"},
	"OperationState":      {value: typed[operation.State], out: `subscription { operationProgress(operation: "") { state } }`, field: "OperationProgress.state"},
	"InstanceCheckName":   {value: typed[instances.CheckName], out: `mutation { updateInstance(input: {instance: "a", resourceVersion: "1"}) { checks { name } } }`, field: "InstanceCheck.name"},
	"OperationStepName":   {value: typed[operation.StepName], out: `subscription { operationProgress(operation: "") { steps { name } } }`, field: "OperationStep.name"},
	"OperationStepState":  {value: typed[operation.StepState], out: `subscription { operationProgress(operation: "") { steps { state } } }`, field: "OperationStep.state"},
	"KarmadaResourceKind": {value: typed[karmadaresource.KindName], in: `{ karmadaResourceChanged(filter: {kinds: [$v]}) { type } }`, by: "Subscription.karmadaResourceChanged", path: "filter.Kinds"},
}

// Every constant of the Go type behind an enum is a value of the enum, and the same
// constant comes back: a value that was forgotten would be written as an empty string.
func TestEnumsGoOutAndComeBack(t *testing.T) {
	schema := loadSchema(t)
	models := boundTypes(t, schema)
	folders := packageFolders(t, models)
	tested := map[string]bool{}
	for name, model := range models {
		if (strings.HasPrefix(model, "github.com/kairship-io/kairship/pkg/fleet/policy.") && name != "PolicyKind" && name != "PolicyFacetField") || name == "Guard" ||
			(strings.HasPrefix(model, "github.com/kairship-io/kairship/pkg/fleet/karmadaresource.") && name != "KarmadaResourceKind") {
			continue
		}
		tested[name] = true
		e, known := enums[name]
		if !known {
			t.Errorf("where do values of the enum %s (%s) go in and out? Add it to enums", name, model)
			continue
		}
		t.Run(name, func(t *testing.T) { testEnum(t, schema.Types[name], model, folders, e) })
	}
	for name := range enums {
		if !tested[name] {
			t.Errorf("there is no enum %s any more", name)
		}
	}
}

func testEnum(t *testing.T, def *gqlast.Definition, model string, folders map[string]string, e enumRoute) {
	constants := stringConstants(t, model, folders)
	if len(constants) < 2 {
		t.Fatalf("%s has constants %v; is it read whole?", model, constants)
	}
	if got := reflect.TypeOf(e.value("")); got.PkgPath()+"."+got.Name() != model {
		t.Fatalf("the enum is bound to %s and tested with %s", model, got)
	}
	ofConstant := map[string]string{}
	for name, text := range constants {
		out := ""
		if e.out != "" {
			out = written(t, e, text)
			if def.EnumValues.ForName(out) == nil {
				t.Errorf("%s (%q) is written as %q, which is no value of the enum", name, text, out)
				continue
			}
			if other, taken := ofConstant[out]; taken {
				t.Errorf("%s and %s are both written as %s", name, other, out)
			}
			ofConstant[out] = name
		}
		if e.in == "" {
			continue
		}
		// Where values only go in, each is tried; one of them has to give this constant.
		var from []string
		for _, v := range def.EnumValues {
			if read(t, e, def.Name, v.Name) == e.value(text) {
				from = append(from, v.Name)
			}
		}
		if out != "" && !slices.Equal(from, []string{out}) {
			t.Errorf("%s is written as %s and comes of %v", name, out, from)
		}
		if len(from) == 1 {
			ofConstant[from[0]] = name
		}
	}
	for _, v := range def.EnumValues {
		if ofConstant[v.Name] == "" {
			t.Errorf("the value %s stands for no constant of %s", v.Name, model)
		}
	}
	if e.out != "" {
		if got := written(t, e, "Forgotten"); def.EnumValues.ForName(got) != nil {
			t.Errorf("a constant that was forgotten would be written as %s", got)
		}
	}
}

// manifestPreview is a query of a preview.
func manifestPreview(fields string) string {
	return `{ instance(name: "alpha") { applyPreview(input: {manifests: ""}) { ` + fields + ` } } }`
}

// written is how the API writes a value.
func written(t *testing.T, e enumRoute, text string) string {
	t.Helper()
	undone := []resources.Result{{Rollback: &resources.Undone{}}}
	warned := &policies.CreatedOverridePolicy{Warnings: []write.Warning{{}}}
	answers := world().with(intercept{"Instance.roleBindings": value(&rolebinding.Connection{Nodes: []*rolebinding.RoleBinding{rolebinding.New(&v1alpha1.InstanceRoleBinding{})}}), "Instance.policyPreview": value(&preview.Preview{}), "PolicyPreview.items": value([]*preview.Item{{}}), "Placement.drift": value(&workload.Drift{Drift: &drift.Drift{}}), "Instance.applyPreview": value(&manifestpreview.Preview{}), "ManifestPreview.items": value([]manifestpreview.Item{{Comparison: &manifest.Comparison{}}}), "Query.search": value(&search.Result{Hits: []*search.Hit{{}}}), "Query.activity": value(&activity.Connection{Nodes: []*activity.Entry{{}}}), "Instance.timeline": value(&timeline.Connection{Nodes: []*timeline.Entry{{}}}), "Mutation.createOverridePolicy": value(warned), "Mutation.updateInstance": value(&instances.Payload{Checks: []instances.Check{{}}}), "Mutation.applyManifests": value(&resources.ApplyPayload{Results: []resources.Result{{}}}), "Mutation.changeWorkloads": value(&bulk.Payload{Results: []bulk.Result{{}}}), "Mutation.deployApplicationToInstances": value(&applications.SeveralPayload{Results: []applications.InstanceResult{{}}}), "Mutation.deployApplication": value(&applications.DeployPayload{Results: undone}), "Instance.memberCluster": value(&membercluster.MemberCluster{}), "WorkloadConnection.facets": value([]projection.Facet{{}}), "PodConnection.facets": value([]projection.PodFacet{{}}), "Pod.containers": value([]pod.Container{{}}), "Deployment.explanation": value(&explanation.Explanation{Steps: []explanation.Step{{Reasons: []explanation.Reason{{}}}}}), "ClusterConnection.facets": value([]cluster.Facet{{}}), "OverridePolicyConnection.facets": value([]policy.Facet{{}})})
	if e.field == "Freshness.source" {
		answers["Instance.freshness"] = value(freshness.Freshness{})
	}
	resp := run(t, &Resolver{}, answers.with(intercept{e.field: value(e.value(text))}), e.out, "")
	var at any
	if err := json.Unmarshal(resp.Data, &at); err != nil {
		t.Fatal(err)
	}
	for {
		switch v := at.(type) {
		case map[string]any:
			if len(v) != 1 {
				t.Fatalf("%s: %v", e.out, v)
			}
			for _, at = range v { //nolint:revive // It has one entry, and that is taken.
			}
		case []any:
			at = v[0]
		case string:
			return v
		default:
			t.Fatalf("%s: got %s, %v", e.out, resp.Data, resp.Errors)
		}
	}
}

// read is what the API makes of a value.
func read(t *testing.T, e enumRoute, enum, text string) any {
	t.Helper()
	var got any
	operation := "query"
	if root, _, _ := strings.Cut(e.by, "."); root == "Mutation" || root == "Subscription" {
		operation = strings.ToLower(root)
	}
	run(t, &Resolver{}, world().with(intercept{"Instance.memberCluster": value(&membercluster.MemberCluster{}), "Instance.policyPreview": value(&preview.Preview{}), "Instance.applyPreview": value(&manifestpreview.Preview{}), e.by: func(_ context.Context, fc *graphql.FieldContext) (any, error) {
		arg, fields, _ := strings.Cut(e.path, ".")
		v := reflect.Indirect(reflect.ValueOf(fc.Args[arg]))
		for field := range strings.SplitSeq(fields, ".") {
			if field == "" {
				break // The argument itself.
			}
			if v.Kind() == reflect.Slice {
				v = v.Index(0)
			}
			v = reflect.Indirect(v.FieldByName(field))
		}
		if v.Kind() == reflect.Slice {
			v = v.Index(0)
		}
		got = v.Interface()
		return nil, nil
	}}), operation+"($v: "+enum+"!) "+e.in, `{"v": "`+text+`"}`)
	return got
}

// boundTypes are the Go types that the enums are bound to.
func boundTypes(t *testing.T, schema *gqlast.Schema) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../gqlgen.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Models map[string]struct{ Model any }
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	models := map[string]string{}
	for _, def := range ours(schema) {
		if def.Kind != gqlast.Enum {
			continue
		}
		model, _ := config.Models[def.Name].Model.(string)
		if d := def.Directives.ForName("goModel"); d != nil {
			model = d.Arguments.ForName("model").Value.Raw
		}
		if model == "" {
			t.Errorf("the enum %s is bound to nothing", def.Name)
		}
		models[def.Name] = model
	}
	return models
}

// splitModel returns the package of a type, and its name there.
func splitModel(model string) (path, name string) {
	dot := strings.LastIndex(model, ".")
	return model[:dot], model[dot+1:]
}

// packageFolders are where the packages of types are, by their paths.
func packageFolders(t *testing.T, models map[string]string) map[string]string {
	t.Helper()
	args := []string{"list", "-f", "{{.ImportPath}} {{.Dir}}"}
	for _, model := range models {
		path, _ := splitModel(model)
		args = append(args, path)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	folders := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		folders[path] = folder
	}
	return folders
}

// stringConstants are the constants of a string type, from its package's source.
func stringConstants(t *testing.T, model string, folders map[string]string) map[string]string {
	t.Helper()
	path, name := splitModel(model)
	files, err := filepath.Glob(filepath.Join(folders[path], "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			maps.Copy(constants, constantsIn(decl, name))
		}
	}
	return constants
}

func constantsIn(decl ast.Decl, typ string) map[string]string {
	constants := map[string]string{}
	group, ok := decl.(*ast.GenDecl)
	if !ok || group.Tok != token.CONST {
		return nil
	}
	for _, spec := range group.Specs {
		v := spec.(*ast.ValueSpec)
		if of, ok := v.Type.(*ast.Ident); !ok || of.Name != typ {
			continue
		}
		for i, name := range v.Names {
			if lit, ok := v.Values[i].(*ast.BasicLit); ok {
				constants[name.Name], _ = strconv.Unquote(lit.Value)
			}
		}
	}
	return constants
}
