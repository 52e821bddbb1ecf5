package sharing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/graph/sharing"
)

var kairship = generated.NewExecutableSchema(generated.Config{}).Schema()

// TestEveryFieldIsInOneList fails for a new field until it is decided whether equal queries
// share it.
func TestEveryFieldIsInOneList(t *testing.T) {
	for _, problem := range sharing.Problems(kairship, sharing.Shared, sharing.Alone) {
		t.Errorf("%s: see fields.go", problem)
	}
}

func TestProblems(t *testing.T) {
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: `
		type Query { thing: Thing shared: Int both: Int none: Int }
		interface Named { name: String other: String }
		type Thing implements Named { name: String other: String own: Int }
		type Unread { name: String }
		type Mutation { write: Unread }`})
	got := sharing.Problems(schema, sharing.Fields{"Query": "thing shared both", "Named": "name", "Gone": "x"}, sharing.Fields{"Query": "both", "Named": "other", "Thing": "gone"})
	want := []string{
		"Gone.x is listed and does not exist", "Query.both is in both lists", "Query.none is in no list",
		"Thing.gone is listed and does not exist", "Thing.own is in no list",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAllows(t *testing.T) {
	table := sharing.NewTable(kairship, sharing.Shared)
	for _, tt := range []struct {
		document string
		want     bool
		why      string
	}{
		{`{ instance(name: "alpha") { workloads(first: 9) { nodes { name health freshness { observedAt stale } viewerCan { update } } totalCount } } }`, true, "it follows from the grants"},
		{`{ workloads { nodes { __typename ... on CronJob { schedule name } ... on Job { completions } } } }`, true, "fields of types and of their interface"},
		{`{ workloads { nodes { ...F } } } fragment F on Workload { name policy { spec { priority } ... on PropagationPolicy { name } } }`, true, "fragments"},
		{`{ viewer { username } }`, false, "the caller"},
		{`{ instances { nodes { name } } viewer { username } }`, false, "one field that is not shared"},
		{`{ instances { freshness { lag } } }`, true, "the time of the answer, which is not kept"},
		{`{ instances { nodes { ...F } } } fragment F on Instance { name kubeconfig { ...G } } fragment G on InstanceKubeconfig { yaml }`, false, "in a fragment of a fragment"},
		{`{ instances { nodes { ... on Node { ... on Instance { kubeconfig { yaml } } } } } }`, false, "the address of the request"},
		{`{ node(id: "x") { ... on Resource { name } } }`, false, "any kind"},
		{`{ node(id: "x") { id ... on Workload { name } } }`, true, "no field of Resource but its id"},
		{`{ workloads { nodes { yaml } } }`, false, "a whole object"},
		{`{ workloads { nodes { ... on Deployment { manifest } } } }`, false, "the same field by the type"},
		{`{ instance(name: "alpha") { resources(version: "v1", resource: "secrets") { nodes { name } } } }`, false, "any kind"},
		{`{ __typename }`, true, "it says nothing"},
		{`{ __schema { types { name } } }`, false, "introspection"},
		{`{ _service { sdl } }`, false, "it is not listed"},
		{`mutation { deleteNamespace(input: {instance: "a", name: "b"}) { __typename } }`, false, "a mutation"},
		{`subscription { instanceChanged { __typename } }`, false, "a subscription"},
	} {
		doc, errs := gqlparser.LoadQueryWithRules(kairship, tt.document, rules.NewDefaultRules())
		if len(errs) > 0 {
			t.Errorf("%s: %v", tt.document, errs)
			continue
		}
		if got := table.Allows(doc.Operations[0]); got != tt.want {
			t.Errorf("%s: %t, want %t: %s", tt.document, got, tt.want, tt.why)
		}
	}
}

// TestNothingOfTheCallerIsShared names what must not be shared, regardless of edits of the lists.
func TestNothingOfTheCallerIsShared(t *testing.T) {
	// Figures and settings of an instance, which only have the name of a list of objects.
	named := []string{"InstanceSummary", "InstanceAPIServer", "InstanceComponent", "InstanceDescheduler", "InstanceEtcd", "InstanceMetricsAdapter"}
	for name, fields := range sharing.Shared {
		for f := range strings.FieldsSeq(fields) {
			if slices.Contains([]string{"viewer", "username", "groups", "can", "kubeconfig", "resources"}, f) && (f != "resources" || !slices.Contains(named, name)) {
				t.Errorf("%s.%s depends on more than grants", name, f)
			}
		}
	}
}
