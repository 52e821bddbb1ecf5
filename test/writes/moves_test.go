package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// cart is a StatefulSet that a policy duplicates to some clusters, and another policy's Deployment that is divided.
const cart = `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: cart, namespace: %[1]s}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: StatefulSet, name: cart}]
  placement:
    clusterAffinity: {clusterNames: [%[2]s]}
    replicaScheduling: {replicaSchedulingType: Duplicated}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: cart, namespace: %[1]s}
spec:
  replicas: 2
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec: {containers: [{name: cart, image: "registry.example.com/cart:1"}]}
`

// readyIn is the number of ready replicas of cart in a member; 0 where it is not.
func readyIn(ctx context.Context, t *testing.T, member, namespace string) (int32, error) {
	t.Helper()
	var s appsv1.StatefulSet
	err := fleet.Open(t).Client(t, member).Get(ctx, client.ObjectKey{Namespace: namespace, Name: "cart"}, &s)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	return s.Status.ReadyReplicas, err
}

// cartIn waits until cart has some ready replicas in the members.
func cartIn(t *testing.T, namespace string, want map[string]int32) {
	t.Helper()
	poll.Until(t, within, fmt.Sprintf("cart is in %v", want), func(ctx context.Context) error {
		for member, ready := range want {
			if got, err := readyIn(ctx, t, member, namespace); err != nil || got != ready {
				return fmt.Errorf("%s has %d: %w", member, got, err)
			}
		}
		return nil
	})
}

// ends follows an operation to its end, and returns its state with that of each step.
func ends(t *testing.T, as *gql.Client, operation string) string {
	t.Helper()
	s := as.MustSubscribe(t, gql.Request{
		Query:     "subscription($operation: ID!) { operationProgress(operation: $operation) { state reason message steps { name state } } }",
		Variables: map[string]any{"operation": operation},
	})
	last := ""
	for {
		e := s.Next(2 * within)
		switch {
		case e == nil:
			t.Fatalf("it does not get on: %s", last)
		case e.Complete:
			return last
		case e.Lost != nil || len(e.Errors) > 0:
			t.Fatalf("lost %v, errors %v", e.Lost, e.Errors)
		}
		var data struct {
			OperationProgress struct {
				State string
				Steps []struct{ Name, State string }
			}
		}
		if err := json.Unmarshal(e.Data, &data); err != nil { //nolint:musttag // The names differ in case only.
			t.Fatal(err)
		}
		parts := []string{data.OperationProgress.State}
		for _, step := range data.OperationProgress.Steps {
			parts = append(parts, step.Name+" "+step.State)
		}
		last = strings.Join(parts, ", ")
	}
}

type moved1 struct {
	PolicyName                                    string
	ClustersBefore, ClustersDuring, ClustersAfter []string
	Gradual, Finished                             bool
	Preview                                       *struct{ Moved int }
	Operation, ConsistencyToken                   *string
}

const moveFields = "policyName clustersBefore clustersDuring clustersAfter gradual finished preview { moved } operation consistencyToken"

func TestMoveWorkload(t *testing.T) {
	t.Parallel()
	alice, namespace := person(t, "alice"), namespaceIn(t)
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": fmt.Sprintf(cart, namespace, "m2")}, applyFields)
	cartIn(t, namespace, map[string]int32{"m2": 2, "m1": 0})
	input := map[string]any{"instance": "alpha", "kind": "STATEFUL_SET", "namespace": namespace, "name": "cart", "from": []any{"m2"}, "to": []any{"m1"}}
	unrelated(t, "moveWorkload", input)
	refused(t, alice, "moveWorkload", but(input, "from", []any{"m1"}, "to", []any{"m2"}), "INVALID", "input.from[0]")
	refused(t, alice, "moveWorkload", but(input, "to", []any{"m2"}), "INVALID", "input.to[0]")
	for _, kind := range []string{"DEPLOYMENT", "STATEFUL_SET", "DAEMON_SET", "JOB", "CRON_JOB"} {
		refused(t, alice, "moveWorkload", but(input, "kind", kind, "name", "none"), "NOT_FOUND", "input.name")
	}
	refused(t, alice, "moveWorkload", but(input, "kind", "CUSTOM"), "INVALID", "input.kind")
	refused(t, alice, "moveWorkload", but(input, "cancel", true), "CONFLICT", "input.cancel")
	poll.Until(t, within, "the index has all that a preview needs", func(context.Context) error {
		p := must[moved1](t, alice, "moveWorkload", but(input, "dryRun", true), moveFields)
		if !p.Gradual || p.Finished || p.Operation != nil || p.PolicyName != "cart" || len(p.ClustersDuring) != 2 || len(p.ClustersAfter) != 1 || p.Preview == nil || p.Preview.Moved != 1 {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})

	// Cancelled before it is ready, nothing has changed.
	begun := must[moved1](t, alice, "moveWorkload", input, moveFields)
	if begun.Finished || begun.Operation == nil || begun.ConsistencyToken == nil {
		t.Fatalf("%+v", begun)
	}
	if back := must[moved1](t, alice, "moveWorkload", but(input, "cancel", true), moveFields); len(back.ClustersAfter) != 1 || back.ClustersAfter[0] != "m2" {
		t.Errorf("%+v", back)
	}
	if end := ends(t, alice, *begun.Operation); !strings.HasPrefix(end, "FAILED") {
		t.Errorf("a move that was cancelled ends with %s", end)
	}
	// Karmada takes a policy that is changed there and back within its own delay for unchanged.
	poll.Until(t, within, "Karmada has followed", func(ctx context.Context) error {
		var b workv1alpha2.ResourceBinding
		if err := fleet.Open(t).Client(t, "alpha").Get(ctx, client.ObjectKey{Namespace: namespace, Name: "cart-statefulset"}, &b); err != nil {
			return err
		}
		if names := b.Spec.Placement.ClusterAffinity.ClusterNames; len(names) != 1 || len(b.Spec.Clusters) != 1 || b.Status.SchedulerObservedGeneration != b.Generation {
			return fmt.Errorf("it is sent to %v, and scheduled to %v", names, b.Spec.Clusters)
		}
		return nil
	})
	cartIn(t, namespace, map[string]int32{"m2": 2, "m1": 0})

	// There is no moment with fewer ready replicas.
	var least atomic.Int32
	least.Store(2)
	watching, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for watching.Err() == nil {
			one, err1 := readyIn(watching, t, "m1", namespace)
			two, err2 := readyIn(watching, t, "m2", namespace)
			if err1 == nil && err2 == nil {
				least.Store(min(least.Load(), one+two))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	begun = must[moved1](t, alice, "moveWorkload", input, moveFields)
	if end := ends(t, alice, *begun.Operation); end != "SUCCEEDED, WRITTEN DONE, SCHEDULED DONE, HEALTHY DONE, REMOVED DONE" {
		t.Errorf("it ends with %s", end)
	}
	cartIn(t, namespace, map[string]int32{"m1": 2, "m2": 0})
	tried("moveWorkload", tookEffect)
	stop()
	<-done
	if least.Load() < 2 {
		t.Errorf("at some moment only %d replicas were ready", least.Load())
	}

	// It ends also when nothing follows its operation.
	must[moved1](t, alice, "moveWorkload", but(input, "from", []any{"m1"}, "to", []any{"m2"}), moveFields)
	cartIn(t, namespace, map[string]int32{"m2": 2, "m1": 0})
	movesAreRecorded(t, namespace)
}

// A move goes on that an API server of Kairship began which has ended since, and any other one can follow it.
func TestMoveOutlivesItsServer(t *testing.T) {
	t.Parallel()
	f, alice, namespace := fleet.Open(t), person(t, "alice"), namespaceIn(t)
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": fmt.Sprintf(cart, namespace, "m2")}, applyFields)
	cartIn(t, namespace, map[string]int32{"m2": 2, "m1": 0})
	other := f.Kairship(t, f.NewGateway(t))
	input := map[string]any{"instance": "alpha", "kind": "STATEFUL_SET", "namespace": namespace, "name": "cart", "from": []any{"m2"}, "to": []any{"m1"}}
	begun := must[moved1](t, recorded(t, gql.New("http://"+other.Address, f.Token(t, "alice"))), "moveWorkload", input, moveFields)
	other.Kill(t)
	if begun.Operation == nil || begun.Finished {
		t.Fatalf("%+v", begun)
	}
	if end := ends(t, alice, *begun.Operation); end != "SUCCEEDED, WRITTEN DONE, SCHEDULED DONE, HEALTHY DONE, REMOVED DONE" {
		t.Errorf("it ends with %s", end)
	}
	cartIn(t, namespace, map[string]int32{"m1": 2, "m2": 0})
}

type drained1 struct {
	Plan                        *struct{ Fingerprint string }
	Evicted, Staying, Returning int
	Operation, ConsistencyToken *string
	MemberCluster               struct{ Taints []struct{ Key string } }
}

const drainFields = "memberCluster { taints { key } } plan { fingerprint evicted items(first: 5) { name effect message } } evicted staying returning operation consistencyToken"

// The whole fleet's m1 is drained, and filled again.
func TestDrainMemberCluster(t *testing.T) {
	alice, namespace := person(t, "alice"), namespaceIn(t)
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": fmt.Sprintf(cart, namespace, "m1, m2")}, applyFields)
	cartIn(t, namespace, map[string]int32{"m1": 2, "m2": 2})
	before := placementsIn(t)
	input := map[string]any{"instance": "alpha", "name": "m1"}
	defer func() { // Before the context of the test ends.
		must[drained1](t, alice, "drainMemberCluster", but(input, "undo", true), drainFields)
		poll.Until(t, within, "everything is where it was", func(context.Context) error {
			now := placementsIn(t)
			for name, clusters := range before {
				if now[name] != clusters && now[name] != "" {
					return fmt.Errorf("%s is in %s and was in %s", name, now[name], clusters)
				}
			}
			return nil
		})
	}()
	unrelated(t, "drainMemberCluster", input)
	refused(t, alice, "drainMemberCluster", but(input, "name", "m9"), "NOT_FOUND", "input.name")
	refused(t, alice, "drainMemberCluster", but(input, "expect", "none"), "CONFLICT", "input.expect")
	refused(t, alice, "drainMemberCluster", but(input, "expect", "none", "undo", true), "INVALID", "input.expect")
	var plan drained1
	poll.Until(t, within, "what was planned is done", func(context.Context) error {
		plan = must[drained1](t, alice, "drainMemberCluster", but(input, "dryRun", true), drainFields)
		if plan.Plan == nil || plan.Evicted == 0 || plan.Operation != nil {
			return fmt.Errorf("%+v", plan)
		}
		begun, errs := mutate[drained1](t, alice, "drainMemberCluster", but(input, "expect", plan.Plan.Fingerprint), drainFields)
		if len(errs) > 0 {
			return fmt.Errorf("%v", errs)
		}
		plan = begun
		return nil
	})
	if plan.Evicted == 0 || plan.Operation == nil || plan.ConsistencyToken == nil {
		t.Fatalf("%+v", plan)
	}
	if end := ends(t, alice, *plan.Operation); end != "SUCCEEDED, WRITTEN DONE, EVICTED DONE, REMOVED DONE" {
		t.Errorf("it ends with %s", end)
	}
	cartIn(t, namespace, map[string]int32{"m1": 0, "m2": 2})
	tried("drainMemberCluster", tookEffect)
	p := must[drained1](t, alice, "drainMemberCluster", but(input, "undo", true, "dryRun", true), drainFields)
	// What an earlier test left may have been deleted meanwhile.
	deleted, now := 0, placementsIn(t)
	for name, clusters := range before {
		if strings.Contains(clusters, "m1:") && now[name] == "" {
			deleted++
		}
	}
	if p.Returning < plan.Evicted-deleted {
		t.Errorf("%d objects would return of %d, of which %d were deleted", p.Returning, plan.Evicted, deleted)
	}
	must[drained1](t, alice, "drainMemberCluster", but(input, "undo", true), drainFields)
	cartIn(t, namespace, map[string]int32{"m1": 2, "m2": 2})
}

// placementsIn are the clusters and replicas of all bindings in alpha.
func placementsIn(t *testing.T) map[string]string {
	t.Helper()
	var list workv1alpha2.ResourceBindingList
	if err := fleet.Open(t).Client(t, "alpha").List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for i := range list.Items {
		b := &list.Items[i]
		in := map[string]int32{}
		for _, c := range b.Spec.Clusters {
			in[c.Name] = c.Replicas
		}
		found[b.Namespace+"/"+b.Name] = fmt.Sprint(in)
	}
	return found
}
