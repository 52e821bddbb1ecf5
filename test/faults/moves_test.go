package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	moves "github.com/kairship-io/kairship/pkg/fleet/moving"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// moved is a StatefulSet that a policy duplicates to m2.
const moved = `
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

// cartIn makes the StatefulSet in a new namespace of alpha, and waits until it is healthy in some clusters.
func (s *scene) cartIn(t *testing.T, clusters ...string) (namespace string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "faults-move-"}}
	if err := s.at["alpha"].Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := s.at["alpha"].Delete(ctx, ns); err != nil {
			t.Error(err)
		}
	})
	s.send(t, `mutation($m: String!) { result: applyManifests(input: {instance: "alpha", manifests: $m}) { consistencyToken } }`,
		map[string]any{"m": fmt.Sprintf(moved, ns.Name, strings.Join(clusters, ", "))})
	poll.Until(t, recoverWithin, "cart runs", func(ctx context.Context) error { return s.placed(ctx, ns.Name, clusters...) })
	return ns.Name
}

// send sends a mutation that has to succeed.
func (s *scene) send(t *testing.T, mutation string, variables map[string]any) {
	t.Helper()
	r, err := s.api.Do(t.Context(), gql.Request{Query: mutation, Variables: variables})
	if err != nil || len(r.Errors) > 0 {
		t.Fatalf("%v, %v", err, r)
	}
}

// startAPI starts the API server again that was killed.
func (s *scene) startAPI(t *testing.T) {
	t.Helper()
	s.Start(t, "kairship-apiserver")
	s.server = s.PID(t, "kairship-apiserver")
}

// placed checks that cart is healthy in these clusters and sent to no other.
func (s *scene) placed(ctx context.Context, namespace string, clusters ...string) error {
	var b workv1alpha2.ResourceBinding
	if err := s.at["alpha"].Get(ctx, client.ObjectKey{Namespace: namespace, Name: "cart-statefulset"}, &b); err != nil {
		return err
	}
	var healthy []string
	for _, i := range b.Status.AggregatedStatus {
		if i.Health == workv1alpha2.ResourceHealthy {
			healthy = append(healthy, i.ClusterName)
		}
	}
	slices.Sort(healthy)
	if !slices.Equal(healthy, clusters) || len(b.Spec.Clusters) != len(clusters) {
		return fmt.Errorf("it is sent to %v, and healthy in %v", b.Spec.Clusters, healthy)
	}
	return nil
}

// TestMoveOutlivesEverything begins a move that waits for a cluster, and kills the API server that began it and the
// leader of the controller managers. No client follows it.
func TestMoveOutlivesEverything(t *testing.T) {
	s := begin(t)
	namespace := s.cartIn(t, "m2")
	policy := func(ctx context.Context) (*policyv1alpha1.PropagationPolicy, error) {
		p := &policyv1alpha1.PropagationPolicy{}
		return p, s.at["alpha"].Get(ctx, client.ObjectKey{Namespace: namespace, Name: "cart"}, p)
	}
	before, err := policy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leader := s.leader(t)
	s.Kill(t, "m1-kcm") // Nothing becomes ready in m1.
	s.send(t, `mutation($n: String!) { result: moveWorkload(input: {instance: "alpha", kind: STATEFUL_SET, namespace: $n, name: "cart", from: ["m2"], to: ["m1"]}) { finished } }`,
		map[string]any{"n": namespace})
	s.Kill(t, "kairship-apiserver", leader)
	next := s.other(leader)
	poll.Until(t, leadsWithin, next+" leads", func(ctx context.Context) error { return s.leadsNow(ctx, t, next) })
	if p, err := policy(t.Context()); err != nil || len(p.Spec.Placement.ClusterAffinity.ClusterNames) != 2 || moves.Of(p) == nil {
		t.Fatalf("%v, %+v", err, p.Spec.Placement)
	}

	s.Start(t, "m1-kcm")
	poll.Until(t, recoverWithin, "it has moved", func(ctx context.Context) error { return s.placed(ctx, namespace, "m1") })
	p, err := policy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if names := p.Spec.Placement.ClusterAffinity.ClusterNames; !slices.Equal(names, []string{"m1"}) || moves.Of(p) != nil || p.Labels[moves.Label] != "" {
		t.Errorf("the policy names %v, and records %v", names, p.Annotations)
	}
	if changes := p.Generation - before.Generation; changes != 2 {
		t.Errorf("the policy was changed %d times, want twice", changes)
	}
	s.Start(t, leader)
	s.startAPI(t)
}

// TestDrainOutlivesEverything drains a member cluster while no controller manager runs, and kills the API server. Nothing of
// the only member of beta can leave: what leaves a cluster and comes back is made anew, and the fleet has to be as before.
func TestDrainOutlivesEverything(t *testing.T) {
	longtest.Only(t, "TestMoveOutlivesEverything is about the same controller")
	s := begin(t)
	taint := func(ctx context.Context) (*corev1.Taint, error) {
		c := &clusterv1alpha1.Cluster{}
		err := s.at["beta"].Get(ctx, client.ObjectKey{Name: "m3"}, c)
		return moves.Draining(c), err
	}
	s.Kill(t, controllerManagers()...)
	s.send(t, `mutation { result: drainMemberCluster(input: {instance: "beta", name: "m3"}) { evicted } }`, nil)
	if is, err := taint(t.Context()); err != nil || is == nil || is.Value != moves.DrainEvicting {
		t.Fatalf("%v, %v", err, is)
	}
	s.Kill(t, "kairship-apiserver")
	for _, name := range controllerManagers() {
		s.Start(t, name)
	}
	poll.Until(t, recoverWithin, "all that can leave m3 has left", func(ctx context.Context) error {
		is, err := taint(ctx)
		if err != nil || is == nil || is.Value != moves.DrainEvicted {
			return fmt.Errorf("the taint is %v: %w", is, err)
		}
		return nil
	})
	s.startAPI(t)
	s.send(t, `mutation { result: drainMemberCluster(input: {instance: "beta", name: "m3", undo: true}) { returning } }`, nil)
	if is, err := taint(t.Context()); err != nil || is != nil {
		t.Fatalf("%v, %v", err, is)
	}
}
