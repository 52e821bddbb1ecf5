package live

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// runs checks that members run exactly so many replicas of an image together, all
// ready. It is called after the claim was made and nothing else changes the workload,
// so it cannot find less than there was then.
func runs(t *testing.T, ns, name, image string, want int32, members ...string) {
	t.Helper()
	total := int32(0)
	for _, member := range members {
		d := &appsv1.Deployment{}
		if err := fleet.Open(t).Client(t, member).Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, d); err != nil {
			t.Fatal(err)
		}
		asked, s := *d.Spec.Replicas, d.Status
		total += asked
		if s.ObservedGeneration != d.Generation || s.ReadyReplicas != asked || s.UpdatedReplicas != asked || s.Replicas != asked ||
			d.Spec.Template.Spec.Containers[0].Image != image {
			t.Errorf("%s does not run %d of %s: generation %d, image %s, status %+v",
				member, asked, image, d.Generation, d.Spec.Template.Spec.Containers[0].Image, s)
		}
	}
	if total != want {
		t.Errorf("%v were said to run %d replicas, and were asked for %d", members, want, total)
	}
}

// An operation succeeds when what it wrote runs, and not by what ran before.
func TestOperationSucceedsWhenItRuns(t *testing.T) {
	t.Parallel()
	ns := namespaceIn(t, "alpha")
	alice := person(t, "alice")
	for i, replicas := range []int32{2, 12, 3, 9, 1, 6} {
		image := fmt.Sprintf("example.com/app:%d", i/2)
		id := deploy(t, alice, ns, "web", image, replicas, "m1", "m2")
		end := last(progressOf(t, alice, id))
		for _, member := range []string{"m1", "m2"} {
			runs(t, ns, "web", image, replicas, member)
		}
		if end.State != "SUCCEEDED" {
			t.Errorf("%d replicas end with %+v", replicas, end)
		}
	}
}

// divided sends a Deployment to m1 and m2, one to three.
func divided(ns, name string) *policyv1alpha1.PropagationPolicy {
	p := sends(ns, name, "m1", "m2")
	weight := func(cluster string, n int64) policyv1alpha1.StaticClusterWeight {
		return policyv1alpha1.StaticClusterWeight{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{cluster}}, Weight: n}
	}
	p.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: "Divided", ReplicaDivisionPreference: "Weighted",
		WeightPreference: &policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{weight("m1", 1), weight("m2", 3)}},
	}
	return p
}

// claim is the state of a divided workload, of which the counts and the template agree
// whenever it is healthy.
type claim struct {
	Health   string `json:"health"`
	Replicas struct {
		Desired int32 `json:"desired"`
		Ready   int32 `json:"ready"`
	} `json:"replicas"`
	Template struct {
		Replicas int32 `json:"replicas"`
	} `json:"template"`
}

const claimed = "health replicas { desired ready } template { replicas }"

func (c claim) false() bool {
	return c.Health == "HEALTHY" && (c.Replicas.Ready != c.Replicas.Desired || c.Replicas.Desired != c.Template.Replicas)
}

// A workload is healthy when what its template asks for runs: in subscriptions and in
// queries, without and with a token.
func TestHealthyIsWhatRuns(t *testing.T) {
	t.Parallel()
	ns := namespaceIn(t, "alpha")
	create(t, "alpha", deployment(ns, "web", 4))
	create(t, "alpha", divided(ns, "web"))
	alice := person(t, "alice")
	s := follow(t, alice, "workloadChanged", "filter: WorkloadFilter", "name "+claimed, map[string]any{"filter": map[string]any{"namespaces": []string{ns}}})
	until := func(replicas int32) (claims int) {
		s.await(fmt.Sprintf("%d replicas", replicas), func(c *change) bool {
			var now claim
			raw, err := json.Marshal(c.Object)
			if err == nil {
				err = json.Unmarshal(raw, &now)
			}
			if err != nil {
				t.Fatal(err)
			}
			claims++
			if now.false() {
				t.Errorf("an event on the way to %d says %+v", replicas, now)
			}
			return now.Health == "HEALTHY" && now.Template.Replicas == replicas
		})
		return claims
	}
	until(4)
	queries := 0
	for _, replicas := range []int32{6, 4, 6, 8, 4, 12, 6, 4} {
		data, _ := gql.MustQuery[struct {
			ScaleWorkload struct{ ConsistencyToken *string }
		}](t, alice, "mutation($input: ScaleWorkloadInput!) { scaleWorkload(input: $input) { consistencyToken } }", m{"input": m{
			"instance": "alpha", "kind": "DEPLOYMENT", "namespace": ns, "name": "web", "replicas": replicas,
		}})
		for healthy := false; !healthy; queries++ {
			asking := *alice
			if queries%2 == 0 {
				asking.Consistency = *data.ScaleWorkload.ConsistencyToken
			}
			answer := asking.Must(t, gql.Request{
				Query:     "query($ns: String!) { instance(name: \"alpha\") { workload(kind: DEPLOYMENT, namespace: $ns, name: \"web\") { " + claimed + " } workloads(filter: { namespaces: [$ns] }) { nodes { " + claimed + " } } } }",
				Variables: m{"ns": ns},
			})
			var seen struct {
				Instance struct {
					Workload  claim `json:"workload"`
					Workloads struct {
						Nodes []claim `json:"nodes"`
					} `json:"workloads"`
				} `json:"instance"`
			}
			if err := json.Unmarshal(answer.Data, &seen); err != nil {
				t.Fatal(err)
			}
			for _, c := range append(seen.Instance.Workloads.Nodes, seen.Instance.Workload) {
				if c.false() {
					t.Errorf("a query on the way to %d says %+v", replicas, c)
				}
			}
			now := seen.Instance.Workload
			healthy = now.Health == "HEALTHY" && now.Template.Replicas == replicas
		}
		runs(t, ns, "web", "example.com/app:1", replicas, "m1", "m2")
		until(replicas)
	}
	t.Logf("%d queries", queries)
}

// A workload whose policy is deleted runs where it was; that is a state of its own.
func TestUnmanagedWorkload(t *testing.T) {
	ns := namespaceIn(t, "alpha")
	web := deployment(ns, "web", 2)
	create(t, "alpha", web)
	policy := sends(ns, "web", "m1")
	create(t, "alpha", policy)
	alice := person(t, "alice")
	of := map[string]any{"filter": map[string]any{"namespaces": []string{ns}}}
	s := follow(t, alice, "workloadChanged", "filter: WorkloadFilter", "name health healthMessage policy { name } replicas { ready }", of)
	s.await("healthy", func(c *change) bool { return c.get("health") == "HEALTHY" })
	found := follow(t, alice, "workloadChanged", "filter: WorkloadFilter", "name health",
		map[string]any{"filter": map[string]any{"namespaces": []string{ns}, "health": []string{"UNMANAGED"}}})
	if there := found.snapshot(); len(there) != 0 {
		t.Fatalf("unmanaged are %v", there)
	}
	gql.MustQuery[m](t, alice, "mutation($input: DeletePropagationPolicyInput!) { deletePropagationPolicy(input: $input) { usedBy { count } } }",
		m{"input": m{"instance": "alpha", "namespace": ns, "name": "web", "allowInUse": true}})
	// While the policy is being deleted, it is still the one that claimed the workload.
	c := s.await("unmanaged", func(c *change) bool { return c.get("health") == "UNMANAGED" && c.get("policy") == "<nil>" })
	if c.get("replicas") != "map[ready:2]" {
		t.Errorf("got %v", c)
	}
	found.expect("ADDED", "web")
	patch(t, "alpha", web, `{"spec":{"replicas":5}}`)
	type answer struct {
		Workloads struct {
			Nodes []struct{ Name, Health, HealthMessage string }
		}
	}
	const unmanaged = "query($ns: String!) { workloads(filter: { namespaces: [$ns], health: [UNMANAGED] }) { nodes { name health healthMessage } } }"
	// The subscription may be ahead of the index.
	poll.Until(t, within, "the filter finds it", func(ctx context.Context) error {
		listed, _, err := gql.Query[answer](ctx, alice, unmanaged, m{"ns": ns})
		if err == nil && (len(listed.Workloads.Nodes) != 1 || !strings.Contains(listed.Workloads.Nodes[0].HealthMessage, "no propagation policy claims it any more")) {
			err = fmt.Errorf("the filter finds %+v", listed)
		}
		return err
	})
	none, _ := gql.MustQuery[answer](t, person(t, "mallory"), unmanaged, m{"ns": ns})
	if len(none.Workloads.Nodes) != 0 {
		t.Errorf("mallory finds %+v", none)
	}
	again := sends(ns, "web", "m1")
	again.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "again"}
	create(t, "alpha", again)
	s.await("managed again", func(c *change) bool { return c.get("health") == "HEALTHY" && c.get("replicas") == "map[ready:5]" })
	runs(t, ns, "web", "example.com/app:1", 5, "m1")
}
