package suite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// outcomes are what the people of the fleet get. Those without a valid token get
// nothing, whatever they ask for. "*" is anything.
//
// admin may do everything, alice is an editor on alpha, bob a viewer on beta, and
// mallory has no role.
type outcomes struct{ admin, alice, bob, mallory string }

func (o outcomes) of() map[string]string {
	return map[string]string{"admin": o.admin, "alice": o.alice, "bob": o.bob, "mallory": o.mallory}
}

// rootMatrix has every field of Query, with what it is asked and what comes back,
// as summaryOf tells it. It is written by hand: it is the claim, not the code.
var rootMatrix = []struct {
	field, query string
	want         outcomes
}{
	{"viewer", `viewer { username }`, outcomes{"admin", "alice", "bob", "mallory"}},
	{"viewer", `viewer { seesAllInstances }`, outcomes{"true", "false", "false", "false"}},
	{"viewer", `viewer { can(instance: "alpha") { view } }`, outcomes{"true", "true", "false", "false"}},
	{"viewer", `viewer { can(instance: "beta") { view } }`, outcomes{"true", "false", "true", "false"}},
	{"viewer", `viewer { can(instance: "alpha", namespace: "shop") { update } }`, outcomes{"true", "true", "false", "false"}},
	{"viewer", `viewer { can(instance: "beta", namespace: "billing") { update } }`, outcomes{"true", "false", "false", "false"}},
	{"viewer", `viewer { can(instance: "none-such") { view } }`, outcomes{"true", "false", "false", "false"}},

	{"instance", `instance(name: "alpha") { name }`, outcomes{"alpha", "alpha", "null", "null"}},
	{"instance", `instance(name: "beta") { name }`, outcomes{"beta", "null", "beta", "null"}},
	{"instance", `instance(name: "none-such") { name }`, outcomes{"null", "null", "null", "null"}},
	{"instance", `instance(name: "k-alpha") { name }`, outcomes{"null", "null", "null", "null"}},
	{"instance", `instance(name: "alpha:shop") { name }`, outcomes{"null", "null", "null", "null"}},
	{"instance", `instance(name: "") { name }`, outcomes{"null", "null", "null", "null"}},

	{"instance", `instance(name: "alpha") { kubeconfig { __typename } }`, outcomes{"InstanceKubeconfig", "InstanceKubeconfig", "null", "null"}},
	{"instance", `instance(name: "beta") { kubeconfig { __typename } }`, outcomes{"InstanceKubeconfig", "null", "FORBIDDEN", "null"}},
	{"instance", `instance(name: "none-such") { kubeconfig { __typename } }`, outcomes{"null", "null", "null", "null"}},

	{"instance", `instance(name: "alpha") { workloadRevisions(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { __typename } }`, outcomes{"WorkloadRevisionList", "WorkloadRevisionList", "null", "null"}},
	{"instance", `instance(name: "beta") { workloadRevisions(kind: JOB, namespace: "billing", name: "none-such") { __typename } }`, outcomes{"WorkloadRevisionList", "null", "WorkloadRevisionList", "null"}},
	{"instance", `instance(name: "alpha") { policyPreview(input: {change: DELETE, namespace: "shop", name: "frontend"}) { __typename } }`, outcomes{"PolicyPreview", "PolicyPreview", "null", "null"}},
	{"instance", `instance(name: "beta") { policyPreview(input: {change: DELETE, namespace: "billing", name: "billing"}) { __typename } }`, outcomes{"PolicyPreview", "null", "FORBIDDEN", "null"}},
	{"instance", `instance(name: "alpha") { clusterLossPreview(clusters: ["m1"]) { __typename } }`, outcomes{"ClusterLossPreview", "ClusterLossPreview", "null", "null"}},
	{"instance", `instance(name: "beta") { clusterLossPreview(clusters: ["m3"]) { __typename } }`, outcomes{"ClusterLossPreview", "null", "FORBIDDEN", "null"}},
	{"instance", `instance(name: "beta") { clusterLossPreview(clusters: ["none-such"]) { __typename } }`, outcomes{"INVALID", "null", "FORBIDDEN", "null"}},

	{"instance", `instance(name: "alpha") { overridePreview(input: {change: DELETE, namespace: "shop", name: "frontend-image"}) { __typename } }`, outcomes{"ManifestPreview", "ManifestPreview", "null", "null"}},
	{"instance", `instance(name: "beta") { overridePreview(input: {change: DELETE, namespace: "billing", name: "none-such"}) { __typename } }`, outcomes{"NOT_FOUND", "null", "FORBIDDEN", "null"}},
	{"instance", `instance(name: "beta") { overridePreview(input: {change: DELETE, name: "none-such"}) { __typename } }`, outcomes{"NOT_FOUND", "null", "FORBIDDEN", "null"}},
	{"instance", `instance(name: "alpha") { applyPreview(input: {manifests: "{apiVersion: v1, kind: ConfigMap, metadata: {name: preview, namespace: shop}}"}) { __typename } }`, outcomes{"ManifestPreview", "ManifestPreview", "null", "null"}},
	{"instance", `instance(name: "beta") { applyPreview(input: {manifests: "{apiVersion: v1, kind: ConfigMap, metadata: {name: preview, namespace: billing}}"}) { __typename } }`, outcomes{"ManifestPreview", "null", "FORBIDDEN", "null"}},

	{"instance", `instance(name: "alpha") { roleBindings(filter: {subjects: ["alice"]}) { nodes { name: subject } } }`, outcomes{"alice", "alice", "null", "null"}},
	{"instance", `instance(name: "beta") { roleBindings(filter: {subjects: ["alice", "bob"]}) { nodes { name: subject } } }`, outcomes{"bob", "null", "bob", "null"}},
	{"exportApplication", `exportApplication(input: {instance: "alpha", namespace: "ops", policies: false, objects: [{kind: "DaemonSet", name: "agent"}]}) { __typename }`, outcomes{"ApplicationExport", "ApplicationExport", "null", "null"}},
	{"exportApplication", `exportApplication(input: {instance: "beta", namespace: "billing"}) { __typename }`, outcomes{"ApplicationExport", "null", "ApplicationExport", "null"}},
	{"exportApplication", `exportApplication(input: {instance: "beta", namespace: "billing", secrets: true}) { __typename }`, outcomes{"ApplicationExport", "null", "FORBIDDEN", "null"}},
	{"exportApplication", `exportApplication(input: {instance: "beta", namespace: "billing", labelSelector: "a in", dependencies: false}) { __typename }`, outcomes{"INVALID", "null", "INVALID", "null"}},
	{"exportApplication", `exportApplication(input: {instance: "none-such", namespace: "billing"}) { __typename }`, outcomes{"null", "null", "null", "null"}},
	{"exportInstance", `exportInstance(input: {instance: "alpha", namespaces: ["ops"], policies: false}) { __typename }`, outcomes{"InstanceExport", "InstanceExport", "null", "null"}},
	{"exportInstance", `exportInstance(input: {instance: "beta"}) { __typename }`, outcomes{"InstanceExport", "null", "InstanceExport", "null"}},
	{"exportInstance", `exportInstance(input: {instance: "beta", secrets: true}) { __typename }`, outcomes{"InstanceExport", "null", "FORBIDDEN", "null"}},
	{"exportInstance", `exportInstance(input: {instance: "beta", namespaces: ["Not"]}) { __typename }`, outcomes{"INVALID", "null", "INVALID", "null"}},
	{"exportInstance", `exportInstance(input: {instance: "none-such"}) { __typename }`, outcomes{"null", "null", "null", "null"}},
	{"whoCan", `whoCan(instance: "alpha", namespace: "shop", verb: PATCH, resource: "deployments.apps") { __typename }`, outcomes{"WhoCan", "FORBIDDEN", "null", "null"}},
	{"whoCan", `whoCan(instance: "beta", verb: LIST, resource: "clusters.cluster.karmada.io") { __typename }`, outcomes{"WhoCan", "null", "FORBIDDEN", "null"}},
	{"whoCan", `whoCan(instance: "none-such", verb: GET, resource: "pods") { __typename }`, outcomes{"null", "null", "null", "null"}},
	{"whoCan", `whoCan(instance: "alpha", verb: GET, resource: "Pods") { __typename }`, outcomes{"INVALID", "FORBIDDEN", "null", "null"}},

	{"activity", `activity(filter: {instances: ["alpha"], namespaces: ["none-such"]}) { totalCount nodes { name } }`, outcomes{"0:", "0:", "0:", "0:"}},
	{"activity", `activity(filter: {from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z"}) { totalCount }`, outcomes{"INVALID", "INVALID", "INVALID", "INVALID"}},
	{"activity", `activity { totalCount nodes { name } }`, outcomes{"*", "*", "*", "0:"}},

	{"instance", `instance(name: "alpha") { yaml }`, outcomes{"*", "null", "null", "null"}},
	{"instance", `instance(name: "beta") { manifest }`, outcomes{"*", "null", "null", "null"}},
	{"instance", `instance(name: "alpha") { upgradeVersions }`, outcomes{"", "", "null", "null"}},
	{"karmadaVersions", `karmadaVersions { nodes { version } }`, outcomes{"v1.18.2 v1.19.0 v1.20.0", "v1.18.2 v1.19.0 v1.20.0", "v1.18.2 v1.19.0 v1.20.0", ""}},
	{"karmadaVersions", `karmadaVersions { limited }`, outcomes{"true", "true", "true", "false"}},

	{"instances", `instances { totalCount nodes { name } }`, outcomes{"*", "1: alpha", "1: beta", "0:"}},
	{"instances", `instances(filter: {name: ["alpha", "beta", "none-such"]}) { totalCount nodes { name } }`, outcomes{"2: alpha beta", "1: alpha", "1: beta", "0:"}},
	{"instances", `instances(filter: {name: ["beta"]}) { totalCount nodes { name } }`, outcomes{"1: beta", "0:", "1: beta", "0:"}},
	{"instances", `instances(first: 1, filter: {name: ["alpha", "beta"]}) { totalCount nodes { name } }`, outcomes{"2: alpha", "1: alpha", "1: beta", "0:"}},

	{"cluster", `cluster(name: "m1") { name }`, outcomes{"m1", "m1", "null", "null"}},
	{"cluster", `cluster(name: "m3") { name }`, outcomes{"m3", "null", "m3", "null"}},
	{"cluster", `cluster(name: "k-alpha") { name }`, outcomes{"k-alpha", "k-alpha", "null", "null"}},
	{"cluster", `cluster(name: "k-beta") { name }`, outcomes{"k-beta", "null", "k-beta", "null"}},
	{"cluster", `cluster(name: "m1") { yaml }`, outcomes{"*", "*", "null", "null"}},
	{"cluster", `cluster(name: "m3") { manifest }`, outcomes{"*", "null", "*", "null"}},
	{"cluster", `cluster(name: "none-such") { name }`, outcomes{"null", "null", "null", "null"}},

	{"clusters", `clusters { totalCount nodes { name } }`, outcomes{"*", "2: m1 m2", "1: m3", "0:"}},
	{"clusters", `clusters(filter: {includeHidden: true}) { totalCount nodes { name } }`, outcomes{"*", "3: k-alpha m1 m2", "2: k-beta m3", "0:"}},
	{"clusters", `clusters(filter: {instances: ["alpha"], includeHidden: true}) { totalCount nodes { name } }`, outcomes{"3: k-alpha m1 m2", "3: k-alpha m1 m2", "0:", "0:"}},
	{"clusters", `clusters(filter: {instances: ["", "beta"]}) { totalCount nodes { name } }`, outcomes{"*", "0:", "1: m3", "0:"}},
	{"clusters", `clusters(filter: {ready: true}) { totalCount nodes { name } }`, outcomes{"*", "2: m1 m2", "1: m3", "0:"}},
	{"clusters", `clusters(filter: {ready: true}) { facets(fields: [READY]) { values { count } } }`, outcomes{"*", "2", "1", ""}},

	{
		"workloads", `workloads(filter: {namespaces: ["shop", "ops", "billing"]}) { totalCount nodes { name } }`,
		outcomes{"9: api ledger agent migrate report cart frontend orphan stuck", "7: agent migrate report cart frontend orphan stuck", "2: api ledger", "0:"},
	},
	{"workloads", `workloads(filter: {instances: ["beta"], namespaces: ["billing"]}) { totalCount nodes { name } }`, outcomes{"2: api ledger", "0:", "2: api ledger", "0:"}},
	{"workloads", `workloads(filter: {instances: ["alpha", "none-such"], namespaces: ["ops"]}) { totalCount nodes { name } }`, outcomes{"3: agent migrate report", "3: agent migrate report", "0:", "0:"}},
	{"workloads", `workloads(filter: {health: [UNSCHEDULED], namespaces: ["shop"]}) { totalCount nodes { name } }`, outcomes{"1: stuck", "1: stuck", "0:", "0:"}},
	{
		"workloads", `workloads(filter: {health: [HEALTHY, PROGRESSING, DEGRADED, UNSCHEDULED, UNPROPAGATED, UNMANAGED, UNKNOWN], namespaces: ["shop", "ops", "billing"]}) { totalCount nodes { name } }`,
		outcomes{"9: api ledger agent migrate report cart frontend orphan stuck", "7: agent migrate report cart frontend orphan stuck", "2: api ledger", "0:"},
	},
	{"workloads", `workloads(filter: {namespaces: ["shop", "ops", "billing"]}) { facets(fields: [INSTANCE]) { values { value } } }`, outcomes{"alpha beta", "alpha", "beta", ""}},
	{"workloads", `workloads(filter: {namespaces: ["shop", "ops", "billing"]}) { facets(fields: [CLUSTER]) { values { value } } }`, outcomes{"m1 m2 m3", "m1 m2", "m3", ""}},
	{"workloads", `workloads(filter: {namespaces: ["shop", "ops", "billing"]}) { facets(fields: [NAMESPACE, KIND]) { totalValues } }`, outcomes{"3 5", "2 5", "1 2", "0 0"}},
	{"workloads", `workloads(filter: {images: ["registry.example.com/billing/api", "registry.example.com/ops/agent:5.1.0"]}) { totalCount nodes { name } }`, outcomes{"2: api agent", "1: agent", "1: api", "0:"}},
	{"workloads", `workloads(filter: {text: "registry.example.com", namespaces: ["ops", "billing"]}) { totalCount nodes { name } }`, outcomes{"5: api ledger agent migrate report", "3: agent migrate report", "2: api ledger", "0:"}},
	{"workloads", `workloads(filter: {text: "AGENT", namespaces: ["ops", "billing"]}) { facets(fields: [IMAGE]) { values { value } } }`, outcomes{"registry.example.com/ops/agent:5.1.0", "registry.example.com/ops/agent:5.1.0", "", ""}},
	{"workloads", `workloads(filter: {kinds: [CUSTOM], namespaces: ["media"]}) { totalCount nodes { name } }`, outcomes{"1: thumbnails", "1: thumbnails", "0:", "0:"}},
	{"workloads", `workloads(filter: {customKinds: ["Transcoder.media.example.com", "Rollout.argoproj.io"], namespaces: ["media"]}) { facets(fields: [KIND]) { values { value } } }`, outcomes{"Transcoder.media.example.com", "Transcoder.media.example.com", "", ""}},
	{"workloads", `workloads(filter: {namespaces: ["media"], cluster: ["m1"]}) { totalCount nodes { name } }`, outcomes{"1: thumbnails", "1: thumbnails", "0:", "0:"}},
	{"workloads", `workloads(filter: {cluster: ["m3"], namespaces: ["billing"]}) { nodes { name } }`, outcomes{"api ledger", "", "api ledger", ""}},

	{"pods", `pods(filter: {name: ["ledger-0"]}) { totalCount nodes { name } }`, outcomes{"1: ledger-0", "0:", "1: ledger-0", "0:"}},
	{"pods", `pods(filter: {namespaces: ["shop"]}) { facets(fields: [INSTANCE]) { values { value } } }`, outcomes{"alpha", "alpha", "", ""}},
	{"pods", `pods(filter: {namespaces: ["billing"]}) { facets(fields: [CLUSTER, NAMESPACE]) { values { value } } }`, outcomes{"m3 billing", " ", "m3 billing", " "}},
	{"pods", `pods(filter: {instances: ["alpha", "none-such"], namespaces: ["billing", "ops"]}) { facets(fields: [NAMESPACE]) { values { value } } }`, outcomes{"ops", "ops", "", ""}},
	{"pods", `pods(filter: {cluster: ["m3"], phase: [RUNNING], ready: true, namespaces: ["billing"]}) { facets(fields: [PHASE, READY]) { values { value } } }`, outcomes{"RUNNING true", " ", "RUNNING true", " "}},
	{"pods", `pods(filter: {images: ["registry.example.com/ops/agent:5.1.0"], namespaces: ["ops"]}) { facets(fields: [IMAGE]) { values { value } } }`, outcomes{"registry.example.com/ops/agent:5.1.0", "registry.example.com/ops/agent:5.1.0", "", ""}},
	{"pods", `pods(filter: {text: "ledger", namespaces: ["billing"]}) { totalCount nodes { name } }`, outcomes{"3: ledger-0 ledger-1 ledger-2", "0:", "3: ledger-0 ledger-1 ledger-2", "0:"}},

	{"images", `images(filter: {repository: "ops/agent"}) { totalCount nodes { name: reference } }`, outcomes{"1: registry.example.com/ops/agent:5.1.0", "1: registry.example.com/ops/agent:5.1.0", "0:", "0:"}},
	{"images", `images(filter: {repository: "registry.example.com/billing/api"}) { totalCount nodes { name: repository } }`, outcomes{"1: billing/api", "0:", "1: billing/api", "0:"}},
	{"images", `images(filter: {instances: ["alpha", "none-such"], namespaces: ["billing"]}) { totalCount nodes { name: reference } }`, outcomes{"0:", "0:", "0:", "0:"}},
	{"images", `images(filter: {cluster: ["m3"], text: "API"}) { totalCount nodes { name: repository } }`, outcomes{"1: billing/api", "0:", "1: billing/api", "0:"}},

	{
		"resources", `resources(group: "apps", version: "v1", resource: "deployments", filter: {namespaces: ["shop", "billing"]}) { totalCount nodes { name } }`,
		outcomes{"4: api frontend orphan stuck", "3: frontend orphan stuck", "1: api", "0:"},
	},
	{
		"resources", `resources(group: "apps", version: "v1", resource: "deployments", instances: ["beta", "none-such"], filter: {namespaces: ["billing"]}) { totalCount nodes { name } }`,
		outcomes{"1: api", "0:", "1: api", "0:"},
	},
	{"resources", `resources(group: "nope.io", version: "v1", resource: "widgets", instances: ["none-such"]) { totalCount nodes { name } }`, outcomes{"0:", "0:", "0:", "0:"}},

	{"search", `search(text: "ledger", types: [WORKLOAD, POLICY]) { hits { name } }`, outcomes{"ledger", "", "ledger", ""}},
	{"search", `search(text: "billing", types: [POLICY]) { hits { name } }`, outcomes{"billing", "", "billing", ""}},
	{"search", `search(text: "stuck", types: [WORKLOAD, POLICY]) { hits { name } }`, outcomes{"stuck stuck", "stuck stuck", "", ""}},
	{"search", `search(text: "m1", types: [MEMBER_CLUSTER, CLUSTER]) { hits { name } }`, outcomes{"m1 m1", "m1 m1", "", ""}},
	{"search", `search(text: "m3-node-1", types: [NODE]) { hits { name } }`, outcomes{"m3-node-1", "", "m3-node-1", ""}},

	{"node", fmt.Sprintf(`node(id: %q) { ... on Instance { name } }`, nodeid.New("Instance", "alpha")), outcomes{"alpha", "alpha", "null", "null"}},
	{"node", fmt.Sprintf(`node(id: %q) { ... on Instance { name } }`, nodeid.New("Instance", "none-such")), outcomes{"null", "null", "null", "null"}},
	{"node", `node(id: "none-such") { id }`, outcomes{"INVALID", "INVALID", "INVALID", "INVALID"}},

	{"_entities", `_entities(representations: []) { __typename }`, outcomes{"", "", "", ""}},
	{"_entities", `_entities(representations: [{__typename: "Instance", name: "alpha"}, {__typename: "Instance", name: "beta"}, {__typename: "Instance", name: "none-such"}]) { ... on Instance { name } }`, outcomes{"alpha beta null", "alpha null null", "null beta null", "null null null"}},
	{"_entities", `_entities(representations: [{__typename: "Instance"}]) { __typename }`, outcomes{"INVALID", "INVALID", "INVALID", "INVALID"}},

	{"_service", `_service { __typename }`, outcomes{"_Service", "_Service", "_Service", "_Service"}},
}

// inAlpha and inBeta are who may see what is in an instance.
var (
	inAlpha = outcomes{"found", "found", "null", "null"}
	inBeta  = outcomes{"found", "null", "found", "null"}
)

// nodeMatrix has every type with an ID: objects of it by the parts of their IDs,
// and who finds them.
var nodeMatrix = map[string][]struct {
	parts []string
	want  outcomes
}{
	"Instance":       {{[]string{"alpha"}, inAlpha}, {[]string{"beta"}, inBeta}},
	"Cluster":        {{[]string{"m1"}, inAlpha}, {[]string{"k-alpha"}, inAlpha}, {[]string{"m3"}, inBeta}, {[]string{"k-beta"}, inBeta}},
	"MemberCluster":  {{[]string{"alpha", "m1"}, inAlpha}, {[]string{"beta", "m3"}, inBeta}},
	"Namespace":      {{[]string{"alpha", "shop"}, inAlpha}, {[]string{"beta", "billing"}, inBeta}},
	"Deployment":     {{[]string{"alpha", "DEPLOYMENT", "shop", "frontend"}, inAlpha}, {[]string{"beta", "DEPLOYMENT", "billing", "api"}, inBeta}},
	"StatefulSet":    {{[]string{"alpha", "STATEFUL_SET", "shop", "cart"}, inAlpha}, {[]string{"beta", "STATEFUL_SET", "billing", "ledger"}, inBeta}},
	"DaemonSet":      {{[]string{"alpha", "DAEMON_SET", "ops", "agent"}, inAlpha}},
	"Job":            {{[]string{"alpha", "JOB", "ops", "migrate"}, inAlpha}},
	"CronJob":        {{[]string{"alpha", "CRON_JOB", "ops", "report"}, inAlpha}},
	"CustomWorkload": {{[]string{"alpha", "Transcoder.media.example.com", "media", "thumbnails"}, inAlpha}},
	"ResourceBinding": {
		{[]string{"alpha", "shop", "frontend-deployment"}, inAlpha}, {[]string{"beta", "billing", "api-deployment"}, inBeta},
	},
	"PropagationPolicy":        {{[]string{"alpha", "shop", "frontend"}, inAlpha}, {[]string{"beta", "billing", "billing"}, inBeta}},
	"ClusterPropagationPolicy": {{[]string{"alpha", "", "node-agents"}, inAlpha}},
	"OverridePolicy":           {{[]string{"alpha", "shop", "frontend-image"}, inAlpha}},
	// The sample applications have none; no user sees one.
	"ClusterOverridePolicy":  {{[]string{"alpha", "", "none-such"}, outcomes{"null", "null", "null", "null"}}},
	"FederatedHPA":           {{[]string{"alpha", "shop", "stuck"}, inAlpha}},
	"CronFederatedHPA":       {{[]string{"alpha", "shop", "frontend-nights"}, inAlpha}},
	"MultiClusterService":    {{[]string{"alpha", "shop", "frontend"}, inAlpha}},
	"FederatedResourceQuota": {{[]string{"alpha", "shop", "shop"}, inAlpha}},
	"WorkloadRebalancer":     {{[]string{"alpha", "", "orphan"}, inAlpha}},
	"Resource": {
		{[]string{"alpha", "apps", "v1", "deployments", "shop", "frontend"}, inAlpha},
		{[]string{"beta", "apps", "v1", "deployments", "billing", "api"}, inBeta},
		{[]string{"alpha", "work.karmada.io", "v1alpha2", "resourcebindings", "shop", "frontend-deployment"}, inAlpha},
	},
}

// nodeIDOf is the ID of an object of a type, whose kinds of workloads share one.
func nodeIDOf(typ string, parts []string) string {
	if slices.Contains(theSchema.Types[typ].Interfaces, "Workload") {
		typ = "Workload"
	}
	return nodeid.New(typ, parts...)
}

// TestMatrixIsWhole fails when the schema has a field or a type that the matrix
// does not know.
func TestMatrixIsWhole(t *testing.T) {
	known := map[string]bool{}
	for _, row := range rootMatrix {
		known[row.field] = true
		if theSchema.Query.Fields.ForName(row.field) == nil {
			t.Errorf("Query has no field %s any more", row.field)
		}
	}
	for _, f := range theSchema.Query.Fields {
		if !strings.HasPrefix(f.Name, "__") && !known[f.Name] {
			t.Errorf("there is no expectation who gets what from Query.%s: add it to the matrix", f.Name)
		}
	}
	for _, def := range theSchema.GetPossibleTypes(theSchema.Types["Node"]) {
		if def.Kind == ast.Object && len(nodeMatrix[def.Name]) == 0 {
			t.Errorf("there is no expectation who finds a %s by its ID: add it to the matrix", def.Name)
		}
	}
	for typ := range nodeMatrix {
		if theSchema.Types[typ] == nil {
			t.Errorf("there is no type %s any more", typ)
		}
	}
	// Mutations have a matrix of their own, in test/writes, and subscriptions in test/live.
}

// question is a row of the matrix.
type question struct {
	name, query string
	want        outcomes
}

func questions() []question {
	var all []question
	for _, row := range rootMatrix {
		all = append(all, question{row.query, "{ " + row.query + " }", row.want})
	}
	for typ, rows := range nodeMatrix {
		for _, row := range rows {
			query := fmt.Sprintf(`{ node(id: %q) { __typename id ... on %s { id } } }`, nodeIDOf(typ, row.parts), typ)
			all = append(all, question{"node of " + typ + " " + strings.Join(row.parts, "/"), query, row.want})
		}
	}
	all = append(all, entityQuestions()...)
	slices.SortFunc(all, func(a, b question) int { return cmp.Compare(a.name, b.name) })
	return all
}

// summaryOf returns what an answer shows, in short: the code of its error, null, the
// name of an object, those of several, or the names of a list after their number. An object that is
// asked for nothing but its ID is "found".
func summaryOf(t testing.TB, r *gql.Result) string {
	t.Helper()
	if len(r.Errors) > 0 {
		return r.Errors[0].Extensions.Code
	}
	var data map[string]json.RawMessage
	if err := json.Unmarshal(r.Data, &data); err != nil || len(data) != 1 {
		t.Fatalf("%v: %s", err, r.Body)
	}
	var value any
	for _, raw := range data {
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatal(err)
		}
	}
	return summaryOfValue(value)
}

func summaryOfValue(value any) string {
	if several, ok := value.([]any); ok {
		all := make([]string, len(several))
		for i, one := range several {
			all[i] = summaryOfValue(one)
		}
		return strings.Join(all, " ")
	}
	o, ok := value.(map[string]any)
	if !ok {
		if value == nil {
			return "null"
		}
		return fmt.Sprint(value)
	}
	if nodes, ok := o["nodes"].([]any); ok {
		var names []string
		for _, n := range nodes {
			names = append(names, summaryOfValue(n))
		}
		list := strings.Join(names, " ")
		if count, counted := o["totalCount"]; counted {
			return strings.TrimSpace(fmt.Sprintf("%v: %s", count, list))
		}
		return list
	}
	if _, ok := o["id"]; ok {
		return "found"
	}
	for _, field := range o {
		return summaryOfValue(field) // The queries ask for one.
	}
	return "nothing"
}

// secretsOf are words that are in one instance and nowhere else. Who may not see
// it must not read them anywhere.
var secretsOf = map[string]*regexp.Regexp{
	"alpha": regexp.MustCompile(`(?i)\b(alpha|shop|frontend|node-agents|migrate|m1|m2|orphan)\b`),
	"beta":  regexp.MustCompile(`(?i)\b(beta|billing|ledger|m3)\b`),
}

// hiddenFrom are the instances that the people may not see.
var hiddenFrom = map[string][]string{"alice": {"beta"}, "bob": {"alpha"}, "mallory": {"alpha", "beta"}}

// shownOf finds words of instances that are hidden from a person.
func shownOf(person, text string) []string {
	var found []string
	for _, instance := range hiddenFrom[person] {
		found = append(found, secretsOf[instance].FindAllString(text, -1)...)
	}
	return found
}

// TestMatrix asks everything as everybody, and holds the answers against what was
// written by hand.
func TestMatrix(t *testing.T) {
	on := open(t)
	traces := map[string]string{}
	for _, person := range []string{"admin", "alice", "bob", "mallory"} {
		c := on.as(t, person)
		t.Run(person, func(t *testing.T) {
			for _, q := range questions() {
				r := c.Must(t, gql.Request{Query: q.query, Accept: gql.Response})
				traces[r.TraceID] = person
				if want := q.want.of()[person]; want != "*" && summaryOf(t, r) != want {
					t.Errorf("%s\n got  %s\n want %s\n%s", q.name, summaryOf(t, r), want, r.Body)
				}
				if words := shownOf(person, echoless(r, q.query)); len(words) > 0 {
					t.Errorf("%s\n shows %q:\n%s", q.name, words, r.Body)
				}
			}
		})
	}
	// Nothing of an instance may be in what is logged about those who may not see
	// it, but that they were refused it.
	for _, line := range logLines(t, on.log) {
		id, _ := line["traceId"].(string)
		person, ours := traces[id]
		if !ours {
			continue
		}
		delete(line, "refused")
		raw, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		if words := shownOf(person, string(raw)); len(words) > 0 {
			t.Errorf("the log shows %q of what %s may not see: %s", words, person, raw)
		}
	}
}

// echoless is an answer without what the caller said: an ID holds names too.
func echoless(r *gql.Result, query string) string {
	var data struct{ Node *struct{ ID string } }
	text := string(r.Body)
	if err := json.Unmarshal(r.Data, &data); err == nil && data.Node != nil && strings.Contains(query, data.Node.ID) {
		text = strings.ReplaceAll(text, data.Node.ID, "")
	}
	return text
}

// logLines are the lines of a log that are JSON.
func logLines(t testing.TB, path string) []map[string]any {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []map[string]any
	for text := range strings.Lines(string(raw)) {
		var line map[string]any
		if json.Unmarshal([]byte(text), &line) == nil {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestMatrixWithoutAValidToken asks everything without a token, with one that is
// over and with what is none: all get the same, and nothing of the answer.
func TestMatrixWithoutAValidToken(t *testing.T) {
	on := open(t)
	expired := expiredToken(t, on)
	for name, token := range map[string]string{
		"no token": "", "expired token": expired, "malformed token": "not.a-token", "another malformed token": strings.Repeat("x", 4000),
	} {
		t.Run(name, func(t *testing.T) {
			c := gql.New(on.url, token)
			var first string
			for _, q := range questions() {
				r := c.Must(t, gql.Request{Query: q.query, Accept: gql.Response})
				refused(t, r, http.StatusUnauthorized, "UNAUTHENTICATED")
				reported := r.Errors[0].Message
				if first == "" {
					first = reported
				}
				if reported != first {
					t.Errorf("%s: the refusal depends on the question: %q and %q", q.name, reported, first)
				}
			}
		})
	}
	raw, err := os.ReadFile(on.log)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), expired) {
		t.Error("the log has a token")
	}
}
