package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// outcomes are what the people of the fleet are told until SYNCED, as the names of
// objects that the test knows. admin may do everything, alice is an editor on alpha,
// bob a viewer on beta, and mallory has no role.
type outcomes struct{ admin, alice, bob, mallory string }

func (o outcomes) of() map[string]string {
	return map[string]string{"admin": o.admin, "alice": o.alice, "bob": o.bob, "mallory": o.mallory}
}

// matrix has every field of Subscription, with what it is asked and who is told what.
// It is written by hand: it is the claim, not the code. A hidden instance is told of
// like one that there is none of.
var matrix = []struct {
	field, arguments string
	want             outcomes
}{
	{"instanceChanged", ``, outcomes{"alpha beta", "alpha", "beta", ""}},
	{"instanceChanged", `(filter: {name: ["beta"]})`, outcomes{"beta", "", "beta", ""}},
	{"instanceChanged", `(filter: {name: ["none-such"]})`, outcomes{"", "", "", ""}},
	{"clusterChanged", ``, outcomes{"m1 m2 m3", "m1 m2", "m3", ""}},
	{"clusterChanged", `(filter: {includeHidden: true, instances: ["alpha"]})`, outcomes{"k-alpha m1 m2", "k-alpha m1 m2", "", ""}},
	{"memberClusterChanged", ``, outcomes{"m1 m2 m3", "m1 m2", "m3", ""}},
	{"memberClusterChanged", `(filter: {instances: ["alpha", "none-such"]})`, outcomes{"m1 m2", "m1 m2", "", ""}},
	{
		"workloadChanged", `(filter: {namespaces: ["shop", "ops", "billing"]})`,
		outcomes{"agent api cart frontend ledger migrate orphan report stuck", "agent cart frontend migrate orphan report stuck", "api ledger", ""},
	},
	{"workloadChanged", `(filter: {instances: ["beta"], health: [HEALTHY], namespaces: ["billing"]})`, outcomes{"api ledger", "", "api ledger", ""}},
	{"policyChanged", `(filter: {namespaces: ["shop", "billing"]})`, outcomes{"billing cart frontend frontend-image stuck", "cart frontend frontend-image stuck", "billing", ""}},
	{"policyChanged", `(filter: {kinds: [CLUSTER_PROPAGATION_POLICY]})`, outcomes{"node-agents", "node-agents", "", ""}},
	{"karmadaResourceChanged", `(filter: {namespaces: ["shop", "billing"]})`, outcomes{"frontend frontend-nights shop stuck", "frontend frontend-nights shop stuck", "", ""}},
	{"karmadaResourceChanged", `(filter: {kinds: [WORKLOAD_REBALANCER], name: ["orphan"]})`, outcomes{"orphan", "orphan", "", ""}},
	{"resourceChanged", `(group: "apps", version: "v1", resource: "deployments", filter: {namespaces: ["shop", "billing"]})`, outcomes{"api frontend orphan stuck", "frontend orphan stuck", "api", ""}},
	{"resourceChanged", `(version: "v1", resource: "namespaces", filter: {name: ["shop", "billing"]})`, outcomes{"billing shop", "shop", "billing", ""}},
	{"resourceChanged", `(group: "work.karmada.io", version: "v1alpha2", resource: "resourcebindings", filter: {namespaces: ["billing"]})`, outcomes{"api-deployment ledger-statefulset", "", "api-deployment ledger-statefulset", ""}},
	{"podLogs", `(instance: "alpha", namespace: "shop", kind: DEPLOYMENT, name: "frontend", tail: 1)`, outcomes{"LINE", "FORBIDDEN", "NOT_FOUND", "NOT_FOUND"}},
	// TestActivity in test/suite has who is told of what: nothing is told until something changes.
	{"activityAdded", `(filter: {from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z"})`, outcomes{"INVALID", "INVALID", "INVALID", "INVALID"}},
	{"operationProgress", `(operation: "none-such")`, outcomes{"NOT_FOUND", "NOT_FOUND", "NOT_FOUND", "NOT_FOUND"}},
}

// known are the names that the matrix is about.
var known = strings.Fields("alpha beta k-alpha m1 m2 m3 agent api cart frontend ledger migrate orphan report stuck billing frontend-image frontend-nights node-agents shop api-deployment ledger-statefulset")

// TestMatrixIsWhole fails when the schema has a subscription that the matrix does not
// know.
func TestMatrixIsWhole(t *testing.T) {
	for _, f := range schema.Load().Subscription.Fields {
		if !strings.HasPrefix(f.Name, "__") && !slices.ContainsFunc(matrix, func(row struct {
			field, arguments string
			want             outcomes
		}) bool {
			return row.field == f.Name
		}) {
			t.Errorf("there is no expectation who is told what by Subscription.%s: add it to the matrix", f.Name)
		}
	}
}

// TestMatrix subscribes to everything as everybody, and holds what is told against
// what was written by hand.
func TestMatrix(t *testing.T) {
	for _, who := range []string{"admin", "alice", "bob", "mallory"} {
		as := person(t, who)
		for _, row := range matrix {
			t.Run(who+" "+row.field+row.arguments, func(t *testing.T) {
				got, raw := deliveredTo(t, as, row.field, row.arguments)
				if want := row.want.of()[who]; got != want {
					t.Errorf("told %q, want %q", got, want)
				}
				for _, instance := range hidden[who] {
					if strings.Contains(raw, instance) {
						t.Errorf("it shows %s: %s", instance, raw)
					}
				}
			})
		}
	}
}

// hidden are the instances that the people may not see.
var hidden = map[string][]string{"alice": {"beta"}, "bob": {"alpha"}, "mallory": {"alpha", "beta"}}

// deliveredTo is what a subscription tells until SYNCED, or the code that refuses it.
func deliveredTo(t *testing.T, as *gql.Client, field, arguments string) (delivered, raw string) {
	t.Helper()
	query := fmt.Sprintf("subscription { %s%s { type changedFields instanceName kind message cursor %s { %s } } }",
		field, arguments, strings.TrimSuffix(field, "Changed"), selectionOf(field))
	if field == "operationProgress" {
		query = fmt.Sprintf("subscription { %s%s { state } }", field, arguments)
	}
	if field == "activityAdded" {
		query = fmt.Sprintf("subscription { %s%s { outcome } }", field, arguments)
	}
	if field == "podLogs" {
		query = fmt.Sprintf("subscription { %s%s { type } }", field, arguments)
	}
	s, refused, err := as.Subscribe(t.Context(), gql.Request{Query: query})
	if err != nil {
		t.Fatal(err)
	}
	if refused != nil {
		return refused.Errors[0].Extensions.Code, ""
	}
	defer s.Close()
	f := &feed{s, t}
	if field == "operationProgress" || field == "activityAdded" {
		e := s.Next(within)
		if e == nil || len(e.Errors) == 0 {
			t.Fatalf("got %v", e)
		}
		return e.Errors[0].Extensions.Code, e.Errors[0].Message
	}
	if field == "podLogs" {
		for {
			switch e := s.Next(within); {
			case e == nil:
				t.Fatal("nothing comes")
			case len(e.Errors) > 0:
				return e.Errors[0].Extensions.Code, ""
			case strings.Contains(string(e.Data), "LINE"):
				return "LINE", ""
			}
		}
	}
	all := f.snapshot()
	found := slices.DeleteFunc(names(all, "name"), func(name string) bool { return !slices.Contains(known, name) })
	for _, c := range all {
		raw += c.String()
	}
	return strings.Join(found, " "), raw
}
