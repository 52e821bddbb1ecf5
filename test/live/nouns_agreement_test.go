package live

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// stateSelection is what a workload's state is, of that which queries and
// subscriptions both show.
const stateSelection = `kind namespace name health replicas { desired ready available updated } suspended`

// stated are the states of workloads by what they are, in JSON.
type stated map[string]string

// fold keeps what a subscription to all workloads tells.
func fold(t *testing.T, as *gql.Client) func() stated {
	t.Helper()
	f := follow(t, as, "workloadChanged", "", stateSelection+" instance { name }", nil)
	known := stated{}
	return func() stated {
		for c := f.next(300 * time.Millisecond); c != nil; c = f.next(300 * time.Millisecond) {
			switch c.Type {
			case "ADDED", "MODIFIED":
				name, state := stateOf(t, c.Object)
				known[name] = state
			case "DELETED":
				name, _ := stateOf(t, c.Object)
				delete(known, name)
			case "SYNCED":
			default:
				t.Fatalf("got %s", c)
			}
		}
		return known
	}
}

func stateOf(t *testing.T, o map[string]any) (name, state string) {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	instance, _ := o["instance"].(map[string]any)
	return fmt.Sprintf("%v %v %v/%v", instance["name"], o["kind"], o["namespace"], o["name"]), string(raw)
}

func queried(ctx context.Context, t *testing.T, as *gql.Client) (stated, error) {
	t.Helper()
	got, _, err := gql.Query[struct {
		Workloads struct{ Nodes []map[string]any }
		// Subscriptions do not follow custom workloads.
	}](ctx, as, "{ workloads(first: 500, filter: {kinds: [DEPLOYMENT, STATEFUL_SET, DAEMON_SET, JOB, CRON_JOB]}) { nodes { "+stateSelection+" instance { name } } } }", nil)
	if err != nil {
		return nil, err
	}
	all := stated{}
	for _, o := range got.Workloads.Nodes {
		name, state := stateOf(t, o)
		all[name] = state
	}
	return all, nil
}

// conditionsToo has an instance report the conditions of Deployments, which Karmada
// leaves out on its own. It is the one of docs/subscriptions.md.
const conditionsToo = `function ReflectStatus(observedObj)
  if observedObj.status == nil then return nil end
  local status = observedObj.status
  status.generation = observedObj.metadata.generation
  local annotations = observedObj.metadata.annotations
  if annotations ~= nil then
    status.resourceTemplateGeneration = tonumber(annotations["resourcetemplate.karmada.io/generation"])
  end
  return status
end`

// TestSubscriptionsAgreeWithQueries follows all workloads of the fleet, and those that
// are in every kind of trouble, until what was told is what a query answers.
func TestSubscriptionsAgreeWithQueries(t *testing.T) {
	f, admin := fleet.Open(t), person(t, "admin")
	now := fold(t, admin)
	agree := func(what string, want map[string]string) {
		t.Helper()
		var delivered, answered stated
		err := poll.Try(t.Context(), 2*within, func(ctx context.Context) error {
			var err error
			delivered = now()
			if answered, err = queried(ctx, t, admin); err != nil {
				return err
			}
			for name, health := range want {
				var o struct {
					Health string `json:"health"`
				}
				if err := json.Unmarshal([]byte(answered[name]), &o); err != nil || o.Health != health {
					return fmt.Errorf("%s is %s, want %s", name, answered[name], health)
				}
			}
			if d := cmp.Diff(answered, delivered); d != "" {
				return fmt.Errorf("what was told differs from the answer (-answer +told):\n%s", d)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	usual := map[string]string{
		"alpha DEPLOYMENT shop/frontend": "HEALTHY", "alpha DEPLOYMENT shop/stuck": "UNSCHEDULED", "alpha DEPLOYMENT shop/orphan": "UNPROPAGATED",
		"alpha STATEFUL_SET shop/cart": "HEALTHY", "alpha DAEMON_SET ops/agent": "HEALTHY", "beta DEPLOYMENT billing/api": "HEALTHY",
	}
	agree("the fleet's own", usual)

	// Another owner's object of the same name is in the way.
	ns := namespaceIn(t, "alpha")
	poll.Until(t, within, "the namespace is in m1", func(ctx context.Context) error {
		return f.Client(t, "m1").Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{})
	})
	create(t, "m1", deployment(ns, "taken", 1))
	create(t, "alpha", deployment(ns, "taken", 1))
	create(t, "alpha", sends(ns, "taken", "m1"))
	usual["alpha DEPLOYMENT "+ns+"/taken"] = "DEGRADED"
	agree("one that can't be applied", usual)

	// The member refuses its pods, which nothing but the Deployment's conditions says.
	interpreter := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization", "metadata": m{"name": ns},
		"spec": m{
			"target":         m{"apiVersion": "apps/v1", "kind": "Deployment"},
			"customizations": m{"statusReflection": m{"luaScript": conditionsToo}},
		},
	}}
	create(t, "alpha", interpreter)
	strict := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unique("live"), Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	create(t, "alpha", strict)
	create(t, "alpha", deployment(strict.Name, "refused", 1))
	create(t, "alpha", sends(strict.Name, "refused", "m1"))
	reportsConditions(t, strict.Name, "refused")
	usual["alpha DEPLOYMENT "+strict.Name+"/refused"] = "DEGRADED"
	agree("one whose pods are refused", usual)
}

// reportsConditions waits until alpha reports the conditions of a Deployment. Karmada may
// have looked at it for the last time before it knew that it was to report them, so it is
// touched now and then.
func reportsConditions(t *testing.T, namespace, name string) {
	t.Helper()
	alpha := fleet.Open(t).Client(t, "alpha")
	binding := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding"}}
	looks := 0
	poll.Until(t, 2*within, "the binding has the conditions", func(ctx context.Context) error {
		looks++
		if looks%20 == 0 {
			touch := fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, looks)
			if err := alpha.Patch(ctx, deployment(namespace, name, 1), client.RawPatch(types.MergePatchType, touch)); err != nil {
				return err
			}
		}
		if err := alpha.Get(ctx, client.ObjectKey{Namespace: namespace, Name: workload.BindingName("Deployment", name)}, binding); err != nil {
			return err
		}
		items, _, err := unstructured.NestedSlice(binding.Object, "status", "aggregatedStatus")
		if err != nil {
			return err
		}
		for _, item := range items {
			if _, found, _ := unstructured.NestedSlice(item.(m), "status", "conditions"); found {
				return nil
			}
		}
		return fmt.Errorf("the members say %v", items)
	})
}
