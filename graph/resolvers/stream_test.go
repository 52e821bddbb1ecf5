package resolvers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/karmadaresource"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// The selection decides which changes are delivered.
func TestFollowed(t *testing.T) {
	for _, tt := range []struct {
		name, selection string
		want            changes.Selection
	}{
		{"nothing of the object", `type cursor`, changes.Selection{Alone: true}},
		{"what never changes", `workload { id name namespace kind createdAt __typename }`, changes.Selection{Alone: true}},
		{"what the workload carries", `workload { health labels { key } }`, changes.Selection{Carried: []string{"health", "labels.key"}, Alone: true}},
		{"under other names", `w: workload { state: health }`, changes.Selection{Carried: []string{"health"}, Alone: true}},
		{"in fragments", `workload { ... on Deployment { images } ...more }`, changes.Selection{Carried: []string{"images", "replicas.ready"}, Alone: true}},
		{"when it was looked at is no change", `workload { health freshness { lag } placements { ready } }`, changes.Selection{Carried: []string{"health", "placements.ready"}}},
		{"what the caller may do is no change", `workload { health viewerCan { update } }`, changes.Selection{Carried: []string{"health"}}},
		{"the name of its instance", `workload { instance { name id } }`, changes.Selection{}},
		{"something else of its instance", `workload { instance { state } }`, changes.Selection{Read: true, Loads: true}},
		{"the name of its policy", `workload { policy { name } }`, changes.Selection{Carried: []string{"policy.name"}, Loads: true}},
		{"what its policy says", `workload { policy { spec { schedulerName } } }`, changes.Selection{Carried: []string{"policy.spec.schedulerName"}, Read: true, Loads: true}},
		{"pods", `workload { placements { object { pods { name } } } }`, changes.Selection{Carried: []string{"placements.object.pods.name"}, Read: true, Loads: true}},
		{"overrides", `workload { placements { overrides { policyName } } }`, changes.Selection{Carried: []string{"placements.overrides.policyName"}, Read: true, Loads: true}},
		{"events", `workload { events { nodes { message } } }`, changes.Selection{Read: true, Loads: true}},
		{"override policies", `workload { overridePolicies { name } }`, changes.Selection{Read: true, Loads: true}},
		{"its binding", `workload { binding { conditions { status } name instance { name } } }`, changes.Selection{Carried: []string{"binding.conditions.status", "binding.name", "binding.instance.name"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got changes.Selection
			fragment := ""
			if strings.Contains(tt.selection, "...more") {
				fragment = ` fragment more on Workload { replicas { ready } }`
			}
			run(t, &Resolver{}, intercept{"Subscription.workloadChanged": func(ctx context.Context, _ *graphql.FieldContext) (any, error) {
				got = followed(ctx, "workload", workload.Fields())
				return stream[*workload.Change]()(ctx, nil)
			}}, `subscription { workloadChanged { `+tt.selection+` } }`+fragment, "")
			slices.Sort(got.Carried)
			slices.Sort(tt.want.Carried)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func namesOf[T any](fields []changes.Field[T]) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// Every field of a noun either is compared, or never changes, or belongs to a read that is
// compared. A new field of a noun whose objects carry it also has to be in the noun's Fields, or
// its changes are delivered only with others.
func TestEveryFieldIsCompared(t *testing.T) {
	schema := loadSchema(t)
	lists := []string{
		"memberCluster", "memberClusters", "namespace", "namespaces", "workload", "workloads", "propagationPolicy", "propagationPolicies",
		"clusterPropagationPolicy", "clusterPropagationPolicies", "overridePolicy", "overridePolicies", "clusterOverridePolicy",
		"clusterOverridePolicies", "resource", "resources", "event", "events", "pods",
		"federatedHPA", "federatedHPAs", "cronFederatedHPA", "cronFederatedHPAs", "multiClusterService", "multiClusterServices",
		"federatedResourceQuota", "federatedResourceQuotas", "workloadRebalancer", "workloadRebalancers",
	}
	for _, noun := range []struct {
		typ string
		// carried are compared, read hang on it.
		carried, read []string
	}{
		{"Instance", namesOf(instance.Fields()), append([]string{"kubeconfig", "timeline", "roleBindings", "policyPreview", "clusterLossPreview", "overridePreview", "applyPreview", "workloadRevisions"}, lists...)},
		{"Cluster", namesOf(cluster.Fields()), nil},
		{"MemberCluster", namesOf(membercluster.Fields()), []string{"instance", "cluster", "resources", "workloads", "services", "ingresses", "namespaces", "events", "clusterPods", "clusterNodes", "usage", "timeline"}},
		{"Deployment", namesOf(workload.Fields()), []string{"instance", "overridePolicies", "explanation", "events", "logs", "usage", "timeline", "availability"}},
		{"Job", namesOf(workload.Fields()), []string{"instance", "overridePolicies", "explanation", "events", "logs", "usage", "timeline", "availability"}},
		{"CronJob", namesOf(workload.Fields()), []string{"instance", "overridePolicies", "explanation", "events", "logs", "usage", "timeline", "availability"}},
		{"PropagationPolicy", namesOf(policy.Fields()), []string{"instance", "workloads", "timeline"}},
		{"ClusterOverridePolicy", namesOf(policy.Fields()), []string{"instance", "timeline"}},
		{"FederatedHPA", namesOf(karmadaresource.Fields()), []string{"instance", "workload"}},
		{"CronFederatedHPA", namesOf(karmadaresource.Fields()), []string{"instance", "workload"}},
		{"MultiClusterService", namesOf(karmadaresource.Fields()), []string{"instance", "service"}},
		{"FederatedResourceQuota", namesOf(karmadaresource.Fields()), []string{"instance"}},
		{"WorkloadRebalancer", namesOf(karmadaresource.Fields()), []string{"instance"}},
		// Subscriptions follow no objects in members.
		{"Resource", namesOf(resource.Fields()), []string{"instance", "clusterName", "managedBy", "binding", "placements", "overridePolicies", "explanation"}},
	} {
		for _, f := range schema.Types[noun.typ].Fields {
			if !slices.Contains(noun.carried, f.Name) && !slices.Contains(noun.read, f.Name) && !slices.Contains(fixedFields, f.Name) {
				t.Errorf("it is not stated how a change of %s.%s is noticed: add it to the Fields of its noun, or here to what is read", noun.typ, f.Name)
			}
		}
		for _, name := range noun.carried {
			if schema.Types[noun.typ].Fields.ForName(name) == nil && noun.typ == "Instance" {
				t.Errorf("%s has no field %s any more", noun.typ, name)
			}
		}
	}
}

// fakeChange is a change that answers what the test sets.
type fakeChange struct {
	remembers bool
	sends     func([]byte) bool
}

func (f fakeChange) In(ctx context.Context) context.Context { return ctx }
func (f fakeChange) Remembers() bool                        { return f.remembers }
func (f fakeChange) ShouldSend(selected []byte) bool        { return f.sends(selected) }

// Responses without changes are dropped, whatever else they contain.
func TestStreamResponses(t *testing.T) {
	one := &instance.Change{Type: changes.Modified}
	exec := executor.New(generated.NewExecutableSchema(generated.Config{Resolvers: &Resolver{}, Directives: generated.DirectiveRoot{
		Guard:    unguarded,
		Observed: Observed,
	}}))
	exec.AroundResponses(StreamResponses())
	i := 0
	var asked []string
	exec.AroundFields(func(ctx context.Context, next graphql.Resolver) (any, error) {
		fc := graphql.GetFieldContext(ctx)
		switch fc.Object + "." + fc.Field.Name {
		case "Subscription.instanceChanged":
			return stream(one, one, one)(ctx, fc)
		case "InstanceChange.instance":
			// The directive puts the event into the slot, where it is replaced by ours.
			v, err := next(ctx)
			into := ctx.Value(slotKey{}).(*slot)
			into.event = fakeChange{true, func(b []byte) bool {
				asked = append(asked, string(b))
				return len(asked) != 2
			}}
			return v, err
		case "InstanceChange.type":
			i++
			if i == 3 {
				return nil, errors.New("it can't be read")
			}
			return changes.Modified, nil
		}
		return next(ctx)
	})
	ctx := graphql.StartOperationTrace(t.Context())
	op, errs := exec.CreateOperationContext(ctx, &graphql.RawParams{Query: `subscription { c: instanceChanged { type i: instance { state } } }`})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	next, ctx := exec.DispatchOperation(ctx, op)
	if first := next(ctx); first == nil || string(first.Data) != `{"c":{"type":"MODIFIED","i":null}}` {
		t.Errorf("first: %v", first)
	}
	second := next(ctx)
	if second == nil || len(second.Errors) != 1 || second.Errors[0].Path.String() != "c.type" {
		t.Errorf("second: %v", second)
	}
	if diff := cmp.Diff([]string{"null", "null", ""}, asked); diff != "" {
		t.Errorf("what is told (-want +got):\n%s", diff)
	}
	if next(ctx) != nil {
		t.Error("the stream goes on after its end")
	}
}

func TestWithoutFreshness(t *testing.T) {
	for _, tt := range []struct{ name, selection, data, want string }{
		{"none is selected", `instance { state }`, `{"instanceChanged":{"instance":{"state":"RUNNING"}}}`, `{"state":"RUNNING"}`},
		{"it is left out", `instance { state freshness { lag } }`, `{"instanceChanged":{"instance":{"state":"RUNNING","freshness":{"lag":1}}}}`, `{"state":"RUNNING"}`},
		{
			"under any name, anywhere", `instance { memberClusters { nodes { f: freshness { lag } name } } }`,
			`{"instanceChanged":{"instance":{"memberClusters":{"nodes":[{"f":{"lag":1},"name":"m1"}]}}}}`, `{"memberClusters":{"nodes":[{"name":"m1"}]}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			run(t, &Resolver{}, intercept{"Subscription.instanceChanged": func(ctx context.Context, fc *graphql.FieldContext) (any, error) {
				got = string(shownOf(graphql.GetOperationContext(ctx), fc.Field, "instance", &graphql.Response{Data: []byte(tt.data)}))
				return stream[*instance.Change]()(ctx, nil)
			}}, `subscription { instanceChanged { `+tt.selection+` } }`, "")
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
