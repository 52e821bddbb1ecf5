package resolvers

import (
	"context"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// least is what is needed of workloads of which nothing is asked.
func least(changes ...func(*workload.Needs)) workload.Needs {
	needs := workload.Needs{Template: index.Metadata, PolicyDetail: index.Metadata, OverrideDetail: index.Metadata, ObjectDetail: index.Metadata, PodDetail: index.Metadata, Brief: true}
	for _, change := range changes {
		change(&needs)
	}
	return needs
}

// more is what is needed of workloads of which more is asked than what names them, their versions, labels and times.
func more(changes ...func(*workload.Needs)) workload.Needs {
	needs := least(changes...)
	needs.Brief = false
	return needs
}

func known(n *workload.Needs)          { n.Template = index.Known }
func whole(n *workload.Needs)          { n.Template = index.Whole }
func count(n *workload.Needs)          { n.Count = true }
func status(n *workload.Needs)         { n.Status = true }
func somePolicies(n *workload.Needs)   { n.Policy = true }
func wholePolicies(n *workload.Needs)  { n.PolicyDetail = index.Whole }
func bindings(n *workload.Needs)       { n.Binding = true }
func memberClusters(n *workload.Needs) { n.MemberClusters = true }
func overrides(n *workload.Needs)      { n.Overrides = true }
func overridePolicies(n *workload.Needs) {
	n.OverridePolicies = true
}
func wholeOverrides(n *workload.Needs) {
	n.OverrideDetail = index.Whole
}
func objects(n *workload.Needs)      { n.Objects = true }
func knownObjects(n *workload.Needs) { n.Objects, n.ObjectDetail = true, index.Known }
func wholeObjects(n *workload.Needs) { n.Objects, n.ObjectDetail = true, index.Whole }
func pods(n *workload.Needs)         { n.Objects, n.Pods = true, true }
func wholePods(n *workload.Needs)    { n.Objects, n.Pods, n.PodDetail = true, true, index.Whole }

// needsOf executes a query and returns what its lists of workloads said they need.
func needsOf(t *testing.T, query, variables string) []workload.Needs {
	t.Helper()
	var needs []workload.Needs
	list := func(ctx context.Context, _ *graphql.FieldContext) (any, error) {
		needs = append(needs, connectionNeeds(ctx))
		return page.Unread[workload.Any](""), nil
	}
	answered(t, world().with(intercept{"Instance.workloads": list, "Query.workloads": list}), query, variables)
	return needs
}

func TestWhatListsOfWorkloadsNeed(t *testing.T) {
	for _, tt := range []struct {
		name, selection string
		// more are fragments, or the value of $on.
		more string
		want workload.Needs
		why  string
	}{
		{"names", `nodes { name namespace id labels { key } }`, "", least(), "metadata has them"},
		{"annotations", `nodes { name annotations { key } }`, "", more(), "they are in the templates"},
		{"annotations of one kind", `nodes { name ... on Job { annotations { key } } }`, "", more(), "they are in the templates"},
		{"annotations in a fragment", `edges { node { name ...F } }`, "fragment F on Workload { deleting }", more(), "a fragment is what it holds"},
		{"nothing of the items", `pageInfo { endCursor }`, "", least(), "a page has a place whatever is on it"},
		{"count", `totalCount`, "", least(count), "the count was selected"},
		{"count by another name", `number: totalCount`, "", least(count), "an alias is the same field"},
		{"count of no object", `totalCount @skip(if: true)`, "", least(), "it is skipped"},
		{"images", `nodes { images }`, "", more(known), "the index knows images"},
		{"template", `nodes { template { replicas containers { image } } }`, "", more(known), "the index knows replicas and containers"},
		{"manifest", `nodes { manifest }`, "", more(whole), "the index may not know all of a manifest"},
		{"YAML and images", `nodes { images yaml }`, "", more(whole), "the most of what is asked"},
		{"edges", `edges { node { binding { id } } cursor }`, "", more(bindings), "edges lead to the same items"},
		{"nodes and edges", `nodes { images } edges { node { health } }`, "", more(known, status), "both"},
		{"health", `nodes { health }`, "", more(status), "the state is computed"},
		{"replicas", `nodes { replicas { ready } }`, "", more(status), "the state is computed"},
		{"fragment", `nodes { ...F }`, "fragment F on Workload { health policy { id } }", more(status, somePolicies), "a fragment is what it holds"},
		{"fragment on the connection", `...F`, "fragment F on WorkloadConnection { nodes { binding { id } } totalCount }", more(bindings, count), "on any level"},
		{"inline fragment", `nodes { ... on CronJob { schedule } ... on Job { completions } }`, "", more(known), "whichever kind a workload is"},
		{"inline fragment without type", `nodes { ... { health } }`, "", more(status), "it is for all"},
		{"fragment on Node", `nodes { ... on Node { id } ... on Deployment { manifest } }`, "", more(whole), "whichever interface"},
		{"included", `nodes { health @include(if: $on) }`, "true", more(status), "the variable says so"},
		{"not included", `nodes { health @include(if: $on) }`, "false", least(), "the variable says so"},
		{"fragment that is skipped", `nodes { ... @skip(if: $on) { health } name }`, "true", least(), "what is in it is not asked for"},
		{"policy, by name", `nodes { policy { __typename id namespace name } }`, "", more(somePolicies), "its metadata suffices"},
		{"policy", `nodes { policy { ... on PropagationPolicy { spec { preemption } } } }`, "", more(somePolicies, wholePolicies), "the spec is not in the metadata"},
		{"two policies", `nodes { a: policy { name } b: policy { ... on ClusterPropagationPolicy { spec { preemption } } } }`, "", more(somePolicies, wholePolicies), "the most of what is asked"},
		{"placements", `nodes { placements { clusterName ready } }`, "", more(status), "they are part of the state"},
		{"member clusters", `nodes { placements { memberCluster { name } } }`, "", more(status, memberClusters), "one for each placement"},
		{"overrides", `nodes { placements { overrides { policyName } } }`, "", more(status, overrides), "the Works name them"},
		{"override policies", `nodes { overridePolicies { name } }`, "", more(status, overrides, overridePolicies), "the Works name them"},
		{"override somePolicies, whole", `nodes { placements { overrides { policy { ... on OverridePolicy { spec { overrideRules { targetCluster { clusterNames } } } } } } } }`, "", more(status, overrides, overridePolicies, wholeOverrides), "the spec is not in the metadata"},
		{"objects", `nodes { placements { object { name } } }`, "", more(status, objects), "those that belong to the workload"},
		{"objects, with images", `nodes { placements { object { name images } } }`, "", more(status, knownObjects), "the images are not in the metadata"},
		{"objects, whole", `nodes { placements { object { manifest } } }`, "", more(status, wholeObjects), "the index may not know all of a manifest"},
		{"pods", `nodes { placements { object { pods { name } } } }`, "", more(status, pods), "of each object"},
		{"more of pods than their rows have", `nodes { placements { object { pods { name } p: pods { ... on Pod { containers { name } } } } } }`, "", more(status, wholePods), "all selections count"},
		{"logs and usage", `nodes { logs { __typename } usage { __typename } placements { object { pods { name } } } }`, "", more(status, wholePods), "they are read of the containers"},
		{"the members of pods", `nodes { placements { object { pods { clusterName memberCluster { name } } } } }`, "", more(status, pods, memberClusters), "those of the placements"},
		{"placements by two names", `nodes { a: placements { clusterName } b: placements { p: object { q: pods { name } } } }`, "", more(status, pods), "all of them count"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head, fragments, variables := "query", tt.more, ""
			if tt.more == "true" || tt.more == "false" {
				head, fragments, variables = "query($on: Boolean!)", "", `{"on": `+tt.more+`}`
			}
			for _, list := range []string{`instance(name: "alpha") { w: workloads { SELECTION } }`, `workloads { SELECTION }`} {
				query := head + " { " + strings.Replace(list, "SELECTION", tt.selection, 1) + " } " + fragments
				got := needsOf(t, query, variables)
				if diff := cmp.Diff([]workload.Needs{tt.want}, got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", query, tt.why, diff)
				}
			}
		})
	}
}
