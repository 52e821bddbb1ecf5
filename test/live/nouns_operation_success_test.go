package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// begins sends a mutation that begins an operation.
func begins(t *testing.T, as *gql.Client, mutation string, input m) string {
	t.Helper()
	title := strings.ToUpper(mutation[:1]) + mutation[1:]
	data, _ := gql.MustQuery[map[string]struct{ Operation *string }](t, as,
		"mutation($input: "+title+"Input!) { "+mutation+"(input: $input) { operation } }", m{"input": input})
	if data[mutation].Operation == nil {
		t.Fatalf("%s answers with no operation", mutation)
	}
	return *data[mutation].Operation
}

// comesTo reads an operation until it is over, and checks that no step that was done
// is undone on the way.
func comesTo(t *testing.T, as *gql.Client, operation, kind, state, steps string) progress {
	t.Helper()
	all := progressOf(t, as, operation)
	done := 0
	for i, p := range all {
		now := strings.Count(p.steps(), " DONE")
		if now < done {
			t.Errorf("event %d of %d goes back: %s", i, len(all), p.steps())
		}
		if done = now; i < len(all)-1 && p.State != "RUNNING" {
			t.Errorf("event %d of %d is no end and says %+v", i, len(all), p)
		}
	}
	end := last(all)
	if end.Kind != kind || end.State != state || end.steps() != steps {
		t.Errorf("it ends with %s %s, steps %s, %+v; want %s %s, steps %s", end.Kind, end.State, end.steps(), end, kind, state, steps)
	}
	return end
}

// What runs in a member is taken over, and that is followed to its end.
func TestOperationThatPromotes(t *testing.T) {
	f := fleet.Open(t)
	alice, ns := person(t, "alice"), namespaceIn(t, "alpha")
	f.ReachMember(t, "alice", "view")
	m1 := f.Client(t, "m1")
	poll.Until(t, within, "the namespace is in m1", func(ctx context.Context) error {
		return m1.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{})
	})
	create(t, "m1", deployment(ns, "legacy", 2))
	t.Cleanup(func() { // Before it is removed from m1.
		if err := client.IgnoreNotFound(f.Client(t, "alpha").Delete(context.Background(), deployment(ns, "legacy", 2))); err != nil {
			t.Error(err)
		}
		f.LetGo(context.Background(), t, "m1", map[string]string{
			workv1alpha2.ResourceBindingNamespaceAnnotationKey: ns, workv1alpha2.ResourceBindingNameAnnotationKey: workload.BindingName("Deployment", "legacy"),
		})
	})
	input := m{"instance": "alpha", "cluster": "m1", "group": "apps", "version": "v1", "resource": "deployments", "namespace": ns, "name": "legacy"}
	poll.Until(t, within, "m1 is reached through alpha", func(ctx context.Context) error {
		dry := m{"dryRun": true}
		maps.Copy(dry, input)
		_, _, err := gql.Query[any](ctx, alice, `mutation($input: PromoteResourceInput!) { promoteResource(input: $input) { promoted } }`, m{"input": dry})
		return err
	})
	end := comesTo(t, alice, begins(t, alice, "promoteResource", input), "PROMOTE_RESOURCE", "SUCCEEDED",
		"WRITTEN DONE, SCHEDULED DONE, APPLIED DONE, HEALTHY DONE")
	if len(end.Clusters) != 1 || end.Clusters[0].Name != "m1" || end.Clusters[0].Healthy != 1 || end.Clusters[0].Objects != 1 {
		t.Errorf("clusters: %+v", end.Clusters)
	}
}

// A member leaves its instance and joins it again, and both are followed to their end.
func TestOperationsThatMoveAMember(t *testing.T) {
	f, admin := fleet.Open(t), person(t, "admin")
	in := m{"instance": "beta", "cluster": "m3"}
	t.Cleanup(func() {
		// However far the test came, beta has its member back.
		c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m3"}}
		back := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"instanceRef":{"name":"beta","removalPolicy":"Block"}}}`))
		if err := f.Client(t, "global").Patch(context.Background(), c, back); err != nil {
			t.Error(err)
		}
		f.Heal(t)
	})
	forced := m{"force": true}
	maps.Copy(forced, in)
	comesTo(t, admin, begins(t, admin, "unjoinCluster", forced), "UNJOIN_CLUSTER", "SUCCEEDED", "WRITTEN DONE, LEFT DONE")
	end := comesTo(t, admin, begins(t, admin, "joinCluster", in), "JOIN_CLUSTER", "SUCCEEDED",
		"WRITTEN DONE, CREDENTIALS DONE, REGISTERED DONE, READY DONE")
	if len(end.Clusters) != 1 || end.Clusters[0].Name != "m3" || end.Clusters[0].Healthy != 1 {
		t.Errorf("clusters: %+v", end.Clusters)
	}
	poll.Until(t, within, "beta's workloads run in m3 again", func(ctx context.Context) error {
		got, _, err := gql.Query[struct {
			Instance struct {
				Workloads struct {
					Nodes []struct{ Name, Health string }
				}
			}
		}](ctx, admin, `{ instance(name: "beta") { workloads { nodes { name health } } } }`, nil)
		if err != nil {
			return err
		}
		for _, w := range got.Instance.Workloads.Nodes {
			if w.Health != "HEALTHY" {
				return fmt.Errorf("%s is %s", w.Name, w.Health)
			}
		}
		return nil
	})
}

// An instance that runs already is registered, and that is followed to its end: until
// all that it has is in the index.
func TestOperationThatRegisters(t *testing.T) {
	admin, name := person(t, "admin"), unique("live")
	alias := fleet.Open(t).Alias(t, "beta")
	removesInstance(t, name)
	comesTo(t, admin, begins(t, admin, "registerInstance", m{"instance": name, "kubeconfig": string(alias.Kubeconfig(t, name))}), "CREATE_INSTANCE", "SUCCEEDED",
		"WRITTEN DONE, REACHABLE DONE, READY DONE, INDEXED DONE")
	type counted struct {
		Workloads struct{ TotalCount int }
	}
	got, _, err := gql.Query[struct{ Beta, Alias counted }](t.Context(), admin,
		`query($alias: String!) { beta: instance(name: "beta") { workloads { totalCount } } alias: instance(name: $alias) { workloads { totalCount } } }`, m{"alias": name})
	if err != nil {
		t.Fatal(err)
	}
	// The operation is over: all that the control plane has is listed, without waiting.
	if got.Beta.Workloads.TotalCount == 0 || got.Alias != got.Beta {
		t.Errorf("of beta's workloads, which the alias has too, are listed: %+v", got)
	}
}

// An instance that is to be installed gets as far as the fleet lets it: without an
// operator, it is not installed; with one (deploy/local --operator), its pods are
// simulated, and nothing answers in their place. Either way it is said why.
func TestOperationThatInstalls(t *testing.T) {
	t.Parallel()
	admin, name := person(t, "admin"), unique("live")
	removesInstance(t, name)
	id := begins(t, admin, "createInstance", m{"instance": name, "hostCluster": "m3", "karmadaVersion": "v1.18.2", "deletionPolicy": "DELETE"})
	end := comesTo(t, admin, id, "CREATE_INSTANCE", "FAILED", "WRITTEN DONE, INSTALLED FAILED, REACHABLE PENDING, READY PENDING, INDEXED PENDING")
	if end.Reason == nil || end.Message == nil || !slices.Contains([]string{v1alpha1.ReasonOperatorMissing, v1alpha1.ReasonInstallationFailed}, *end.Reason) {
		t.Errorf("it fails without saying why: %+v", end)
		return
	}
	t.Logf("it fails as %s: %s", *end.Reason, *end.Message)
}

// removesInstance removes an Instance after the test.
func removesInstance(t *testing.T, name string) {
	t.Helper()
	global := fleet.Open(t).Client(t, "global")
	t.Cleanup(func() {
		i := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}}
		force := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+v1alpha1.ForceDeleteAnnotation+`":"true"}}}`))
		if err := client.IgnoreNotFound(global.Patch(context.Background(), i, force)); err != nil {
			t.Error(err)
		}
		if err := client.IgnoreNotFound(global.Delete(context.Background(), i)); err != nil {
			t.Error(err)
		}
		err := poll.Try(context.Background(), within, func(ctx context.Context) error {
			switch err := global.Get(ctx, client.ObjectKeyFromObject(i), i); {
			case apierrors.IsNotFound(err):
				return nil
			case err != nil:
				return err
			}
			return fmt.Errorf("Instance %s stays", name)
		})
		if err != nil {
			t.Error(err)
		}
	})
}
