package suite

import (
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/schema"
)

// TestEveryArgumentHasATest walks what can be read: an argument that is added to it
// without a case in this suite makes it fail. The suite in test/writes records what
// it sends, and does the same for the inputs of mutations.
func TestEveryArgumentHasATest(t *testing.T) {
	w := &world{id: "none", a: "a", b: "b", many: "many"}
	tried := map[string]bool{}
	for _, list := range schema.Lists(theSchema) {
		for _, c := range w.casesOf(list) {
			tried[list.Key()+"("+c.argument+")"] = true
			if c.argument == "filter.policy" {
				tried[list.Key()+"(filter.policy.name)"], tried[list.Key()+"(filter.policy.namespace)"] = true, true
			}
			if c.argument == "filter.selects.labels" {
				tried[list.Key()+"(filter.selects.labels.key)"], tried[list.Key()+"(filter.selects.labels.value)"] = true, true
			}
		}
		// Every list is read in pages, and those that can be ordered in every order.
		for _, argument := range []string{"first", "after", "orderBy.field", "orderBy.direction"} {
			tried[list.Key()+"("+argument+")"] = true
		}
	}
	for _, s := range singulars {
		for argument := range s.missing {
			tried[s.field+"("+argument+")"] = true
		}
		for argument := range s.refused {
			tried[s.field+"("+argument+")"] = true
		}
	}
	tried["MemberObject.pods(first)"] = true // TestPodsOfAnObject
	// TestLogs
	for _, of := range []string{"Pod", "Workload", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "CustomWorkload"} {
		for _, argument := range []string{"clusters", "container", "tail", "since", "previous"} {
			tried[of+".logs("+argument+")"] = true
		}
	}
	// TestTimeline
	workloads := []string{"Workload", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "CustomWorkload"}
	for _, of := range append(workloads, "MemberCluster", "Instance", "PropagationPolicyLike", "OverridePolicyLike", "PropagationPolicy", "ClusterPropagationPolicy", "OverridePolicy", "ClusterOverridePolicy") {
		for _, argument := range []string{"first", "after", "changes", "from", "to"} {
			tried[of+".timeline("+argument+")"] = true
		}
	}
	for _, argument := range []string{"kind", "namespace", "name"} {
		tried["Instance.timeline(object."+argument+")"] = true
	}
	for _, of := range workloads {
		tried[of+".availability(from)"], tried[of+".availability(to)"] = true, true
	}
	// TestCustomWorkload
	tried["Instance.workload(customKind)"], tried["CustomWorkload.events(first)"], tried["CustomWorkload.events(after)"] = true, true, true
	// TestFacetsCountWhatTheListHas
	tried["WorkloadConnection.facets(fields)"], tried["WorkloadConnection.facets(first)"] = true, true
	// TestFacetsCountThePods
	tried["PodConnection.facets(fields)"], tried["PodConnection.facets(first)"] = true, true
	// TestImagesAreWhatTheClustersHave, TestUsersOfImages
	for _, c := range imageCases {
		tried["Query.images("+c.argument+")"] = true
	}
	// TestSearch
	tried["Query.search(text)"], tried["Query.search(first)"], tried["Query.search(types)"] = true, true, true
	tried["Image.workloads(first)"], tried["Image.clusters(first)"] = true, true
	for node := range memoryFacets { // TestFacetsInMemory
		tried[node+"Connection.facets(fields)"], tried[node+"Connection.facets(first)"] = true, true
	}
	for _, argument := range slices.Concat(previewArguments, manifestPreviewArguments) {
		tried[argument] = true
	}
	for _, argument := range []string{"first", "after", "filter.instances", "filter.users", "filter.ways", "filter.outcomes", "filter.kinds", "filter.namespaces", "filter.names", "filter.from", "filter.to"} {
		tried["Query.activity("+argument+")"] = true // TestActivity
	}
	for _, list := range schema.Lists(theSchema) { // TestListsOfAMember, TestEventsOfAMember
		if list.OfMember() {
			for _, argument := range slices.Concat(resourceArguments, eventArguments) {
				tried[list.Key()+"("+argument+")"] = true
			}
		}
	}
	tried["MemberCluster.workloads(kinds)"] = true
	tried["Query.resources(inMembers)"] = true // TestResourcesInMembersAreConfined
	tried["Query.node(id)"] = true             // TestEveryIDLeadsBack
	tried["Query._entities(representations)"] = true
	// TestMatrix, TestOneNamespaceAlone
	tried["Viewer.can(instance)"], tried["Viewer.can(namespace)"] = true, true
	for _, argument := range []string{"instance", "namespace", "verb", "resource"} {
		tried["Query.whoCan("+argument+")"] = true
	}
	for _, argument := range []string{"kind", "namespace", "name"} {
		tried["Instance.workloadRevisions("+argument+")"] = true // TestMatrix, and TestWorkloads in test/writes
	}
	for _, argument := range []string{"instance", "namespace", "objects.kind", "objects.name", "labelSelector", "dependencies", "policies", "secrets"} {
		tried["Query.exportApplication(input."+argument+")"] = true // TestMatrix, and TestExportApplication in test/writes
	}
	for _, argument := range []string{"instance", "namespaces", "policies", "secrets"} {
		tried["Query.exportInstance(input."+argument+")"] = true // TestMatrix, and TestExportInstance in test/writes
	}
	var missing []string
	for _, argument := range schema.Arguments(theSchema) {
		if !tried[argument] && !strings.HasPrefix(argument, "Mutation.") && !strings.HasPrefix(argument, "Subscription.") &&
			!strings.HasPrefix(argument, "Instance.policyPreview(input.spec.") && !strings.HasPrefix(argument, "Instance.overridePreview(input.spec.") {
			missing = append(missing, argument)
		}
	}
	if len(missing) > 0 {
		t.Errorf("no test of this suite tries these arguments; add a case for a filter to filter_cases_test.go, and name here what another test tries:\n%s", strings.Join(slices.Compact(missing), "\n"))
	}
}
