package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

type memberShown struct {
	ResourceVersion string
	Labels          []struct{ Key, Value string }
	Taints          []struct{ Key, Effect string }
}

type memberPayload struct {
	MemberCluster    memberShown
	ConsistencyToken *string
}

const memberFields = "memberCluster { resourceVersion labels { key value } taints { key effect } } consistencyToken"

func karmadaCluster(t *testing.T, name string) *clusterv1alpha1.Cluster {
	t.Helper()
	c, ok := stored(t, "", name, &clusterv1alpha1.Cluster{})
	if !ok {
		t.Fatalf("alpha has no member %s", name)
	}
	return c
}

func cordonedIn(c *clusterv1alpha1.Cluster) bool {
	for _, taint := range c.Spec.Taints {
		if taint.Key == "cluster.karmada.io/unschedulable" && taint.Effect == corev1.TaintEffectNoSchedule {
			return true
		}
	}
	return false
}

// A cordoned member gets nothing new.
func TestCordonMemberCluster(t *testing.T) {
	alice, in := person(t, "alice"), map[string]any{"instance": "alpha", "name": "m2"}
	t.Cleanup(func() {
		c := fleet.Open(t).Client(t, "alpha")
		var m2 clusterv1alpha1.Cluster
		if err := c.Get(context.Background(), client.ObjectKey{Name: "m2"}, &m2); err == nil && cordonedIn(&m2) {
			t.Log("uncordoning m2:", c.Patch(context.Background(), &m2, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"taints":null}}`))))
		}
	})
	if p := must[memberPayload](t, alice, "cordonMemberCluster", but(in, "dryRun", true), memberFields); p.ConsistencyToken != nil || len(p.MemberCluster.Taints) == 0 {
		t.Errorf("the dry run says %+v", p)
	}
	if cordonedIn(karmadaCluster(t, "m2")) {
		t.Error("a dry run cordoned m2")
	}
	refused(t, alice, "cordonMemberCluster", but(in, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
	refused(t, alice, "cordonMemberCluster", but(in, "name", "m9"), "NOT_FOUND", "input.name")
	if p := must[memberPayload](t, alice, "cordonMemberCluster", in, memberFields); p.ConsistencyToken == nil || !cordonedIn(karmadaCluster(t, "m2")) {
		t.Fatalf("m2 is not cordoned: %+v", p)
	}
	must[memberPayload](t, alice, "cordonMemberCluster", in, memberFields) // Twice is once.

	f, namespace := fleet.Open(t), namespaceIn(t)
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": fmt.Sprintf(application, namespace)}, applyFields)
	key := client.ObjectKey{Namespace: namespace, Name: "web"}
	poll.Until(t, within, "both replicas run in m1", func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := f.Client(t, "m1").Get(ctx, key, &d); err != nil {
			return err
		}
		if d.Status.ReadyReplicas != 2 {
			return fmt.Errorf("%d are ready", d.Status.ReadyReplicas)
		}
		return nil
	})
	if _, there := storedIn(t, "m2", namespace, "web", &appsv1.Deployment{}); there {
		t.Error("it was scheduled to the cordoned member")
	}
	tried("cordonMemberCluster", tookEffect)

	if p := must[memberPayload](t, alice, "uncordonMemberCluster", but(in, "dryRun", true), memberFields); p.ConsistencyToken != nil || len(p.MemberCluster.Taints) != 0 {
		t.Errorf("the dry run says %+v", p)
	}
	refused(t, alice, "uncordonMemberCluster", but(in, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
	for _, name := range []string{"cordonMemberCluster", "uncordonMemberCluster"} {
		refused(t, alice, name, but(in, "name", "../m2"), "INVALID", "input.name")
	}
	refused(t, alice, "uncordonMemberCluster", but(in, "name", "m9"), "NOT_FOUND", "input.name")
	p := must[memberPayload](t, alice, "uncordonMemberCluster", in, memberFields)
	if cordonedIn(karmadaCluster(t, "m2")) {
		t.Error("m2 is still cordoned")
	}
	if shown := memberNow(t, p.ConsistencyToken); len(shown.Taints) != 0 {
		t.Errorf("who brings the token still reads the taints %v", shown.Taints)
	}
	must[memberPayload](t, alice, "uncordonMemberCluster", in, memberFields) // It is not cordoned, and that is fine.
	second := namespaceIn(t)
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": fmt.Sprintf(application, second)}, applyFields)
	follows(t, "uncordonMemberCluster", "m2 gets a replica again", func(ctx context.Context) error {
		var d appsv1.Deployment
		return f.Client(t, "m2").Get(ctx, client.ObjectKey{Namespace: second, Name: "web"}, &d)
	})
}

// memberNow reads m2 over another connection, with a token.
func memberNow(t *testing.T, token *string) memberShown {
	t.Helper()
	if token == nil {
		t.Fatal("there is no token")
	}
	got, _, err := gql.Query[struct {
		Instance struct{ MemberCluster memberShown }
	}](t.Context(), reader(t, "alice", *token), `{ instance(name: "alpha") { memberCluster(name: "m2") { resourceVersion labels { key value } taints { key effect } } } }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got.Instance.MemberCluster
}

// A cordoning client reads it with the next request, every time, although Karmada
// and the index are busy with the same cluster.
func TestCordonIsReadAtOnce(t *testing.T) {
	alice, in := person(t, "alice"), map[string]any{"instance": "alpha", "name": "m2"}
	for round := range 10 {
		for _, name := range []string{"cordonMemberCluster", "uncordonMemberCluster"} {
			p := must[memberPayload](t, alice, name, in, memberFields)
			if got := memberNow(t, p.ConsistencyToken); len(got.Taints) != len(p.MemberCluster.Taints) {
				t.Errorf("round %d: after %s the next request reads %v", round, name, got.Taints)
			}
		}
	}
}

// Many who change the same cluster at the same time all have their way: what a
// change is based on is read again when something came between.
func TestCordonWhileOthersWrite(t *testing.T) {
	f := fleet.Open(t)
	alpha := f.Client(t, "alpha")
	stop := make(chan struct{})
	var others sync.WaitGroup
	writes := 0
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				begun := time.Now()
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"writes-test":"%d"}}}`, writes)
				if err := alpha.Patch(context.Background(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
					t.Error(err)
				}
				writes++
				// A slow machine is slow for both: this leaves room for other writes on any.
				time.Sleep(max(20*time.Millisecond, 4*time.Since(begun)))
			}
		}
	})
	alice, in := person(t, "alice"), map[string]any{"instance": "alpha", "name": "m2"}
	failed := 0
	for range 10 {
		for _, name := range []string{"cordonMemberCluster", "uncordonMemberCluster"} {
			if _, errs := mutate[memberPayload](t, alice, name, in, memberFields); len(errs) > 0 {
				t.Log(errs)
				failed++
			}
		}
	}
	close(stop)
	others.Wait()
	_ = alpha.Patch(t.Context(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"writes-test":null}}}`)))
	if failed > 0 {
		t.Errorf("%d of 20 changes failed beside %d of another client", failed, writes)
	}
}

func TestUpdateMemberCluster(t *testing.T) {
	alice, before := person(t, "alice"), karmadaCluster(t, "m2")
	labels := []any{map[string]any{"key": "tier", "value": "gold"}}
	for key, value := range before.Labels {
		labels = append(labels, map[string]any{"key": key, "value": value})
	}
	input := func(more ...any) map[string]any {
		return but(map[string]any{"instance": "alpha", "name": "m2", "resourceVersion": karmadaCluster(t, "m2").ResourceVersion}, more...)
	}
	// Karmada writes the status whenever pods change; an update reads again.
	send := func(more ...any) (p memberPayload, errs []gql.Error) {
		t.Helper()
		poll.Until(t, within, "nothing comes between reading and sending", func(context.Context) error {
			p, errs = mutate[memberPayload](t, alice, "updateMemberCluster", input(more...), memberFields)
			if moved(errs) {
				return fmt.Errorf("%v", errs)
			}
			return nil
		})
		return p, errs
	}
	update := func(more ...any) memberPayload {
		t.Helper()
		p, errs := send(more...)
		if len(errs) > 0 {
			t.Fatalf("updateMemberCluster(%v): %v", more, errs)
		}
		return p
	}
	invalid := func(argument string, more ...any) {
		t.Helper()
		if _, errs := send(more...); len(errs) != 1 || errs[0].Extensions.Code != "INVALID" || errs[0].Extensions.Argument != argument {
			t.Fatalf("updateMemberCluster(%v): got %v, want one INVALID at %q", more, errs, argument)
		}
	}
	update("labels", labels, "dryRun", true)
	if karmadaCluster(t, "m2").Labels["tier"] != "" {
		t.Error("a dry run set a label")
	}
	t.Cleanup(func() {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"tier":null}}}`))
		if err := fleet.Open(t).Client(t, "alpha").Patch(context.Background(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}, patch); err != nil {
			t.Error(err)
		}
	})
	p := update("labels", labels)
	if shown := memberNow(t, p.ConsistencyToken); !slices.ContainsFunc(shown.Labels, func(l struct{ Key, Value string }) bool { return l.Key == "tier" && l.Value == "gold" }) {
		t.Errorf("who brings the token reads the labels %v", shown.Labels)
	}
	if got := karmadaCluster(t, "m2"); got.Labels["tier"] != "gold" || p.ConsistencyToken == nil || got.Spec.Region != before.Spec.Region {
		t.Errorf("m2 has %v in %q, the payload says %+v", got.Labels, got.Spec.Region, p)
	}
	refused(t, alice, "updateMemberCluster", input("resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
	taint := func(key, effect string) []any { return []any{map[string]any{"key": key, "effect": effect}} }
	invalid("input.taints[0].effect", "taints", taint("dedicated", "Never"))
	invalid("input.taints[0].key", "taints", taint("cluster.karmada.io/not-ready", "NoSchedule"))
	invalid("input.region", "region", "no region!")
	invalid("input.labels[1].key", "labels", append(pairs("a", "1"), pairs("a", "2")...))
	invalid("input.labels", "labels", pairs("a", "not a value"))
	invalid("input.zones", "zones", []any{"a", "a b"})

	// A policy that asks for the label, the provider and the zone sends to m2 alone.
	update("provider", "someone", "zones", []any{"z-1", "z-2"}, "dryRun", true)
	t.Cleanup(func() {
		raw, err := json.Marshal(map[string]any{"spec": map[string]any{
			"provider": before.Spec.Provider, "region": before.Spec.Region, "zones": before.Spec.Zones, "taints": before.Spec.Taints,
		}})
		if err == nil {
			err = fleet.Open(t).Client(t, "alpha").Patch(context.Background(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}, client.RawPatch(types.MergePatchType, raw))
		}
		if err != nil {
			t.Error(err)
		}
	})
	update("provider", "someone", "region", "", "zones", []any{"z-1", "z-2"})
	s := newPolicyScene(t)
	spec := s.to()
	spec["placement"] = map[string]any{"clusterAffinity": map[string]any{
		"labelSelector": map[string]any{"matchLabels": pairs("tier", "gold")},
		"fieldSelector": map[string]any{"matchExpressions": []any{
			map[string]any{"key": "provider", "operator": "IN", "values": []any{"someone"}}, map[string]any{"key": "zone", "operator": "IN", "values": []any{"z-1", "z-2"}},
		}},
	}}
	mustWrite(t, s.alice, "create", pp, s.input(pp, map[string]any{"spec": spec}))
	s.color(t, "m2", "blue")
	s.color(t, "m1", "")
	tried("updateMemberCluster", tookEffect)

	// A taint of one's own keeps what does not tolerate it away.
	tainted := update("taints", []any{map[string]any{"key": "dedicated", "value": "batch", "effect": "NoExecute"}})
	if len(tainted.MemberCluster.Taints) != 1 {
		t.Errorf("the taints are %+v", tainted.MemberCluster.Taints)
	}
	must[memberPayload](t, alice, "cordonMemberCluster", map[string]any{"instance": "alpha", "name": "m2"}, memberFields)
	// Karmada's own stays when the person's own are replaced.
	if kept := update("taints", []any{}); len(kept.MemberCluster.Taints) != 1 || !cordonedIn(karmadaCluster(t, "m2")) {
		t.Errorf("the taints are %+v", kept.MemberCluster.Taints)
	}
	must[memberPayload](t, alice, "uncordonMemberCluster", map[string]any{"instance": "alpha", "name": "m2"}, memberFields)
}

// Joining writes the inventory, for those whom the global cluster lets do it.
func TestJoinCluster(t *testing.T) {
	global := fleet.Open(t).Client(t, "global")
	name := fmt.Sprintf("free-%d", numbers.Add(1))
	c := &kairshipv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kairshipv1alpha1.ClusterSpec{
		Type: kairshipv1alpha1.ClusterTypePhysical, APIEndpoint: "https://127.0.0.1:1",
		CredentialsSecretRef: &kairshipv1alpha1.ClusterCredentialsReference{SecretReference: kairshipv1alpha1.SecretReference{Namespace: "kairship-system", Name: name}},
	}}
	if err := global.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = global.Delete(context.Background(), c) })
	joined := func() string {
		now, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Cluster{})
		if now.Spec.InstanceRef == nil {
			return ""
		}
		return now.Spec.InstanceRef.Name
	}
	admin, in := person(t, "admin"), map[string]any{"instance": "alpha", "cluster": name}
	type payload struct{ Requested bool }
	if must[payload](t, admin, "joinCluster", but(in, "dryRun", true), "requested").Requested || joined() != "" {
		t.Error("a dry run joined it")
	}
	refused(t, person(t, "alice"), "joinCluster", in, "FORBIDDEN", "")
	refused(t, admin, "joinCluster", but(in, "cluster", "none"), "NOT_FOUND", "input.cluster")
	refused(t, admin, "joinCluster", but(in, "cluster", "k-beta"), "INVALID", "input.cluster")
	if !must[payload](t, admin, "joinCluster", in, "requested").Requested || joined() != "alpha" {
		t.Errorf("it is joined to %q", joined())
	}
	tried("joinCluster", tookEffect)
	refused(t, admin, "joinCluster", but(in, "instance", "beta"), "CONFLICT", "input.cluster")
	refused(t, admin, "unjoinCluster", but(in, "instance", "beta"), "CONFLICT", "input.cluster")

	move := but(in, "to", "beta")
	if must[payload](t, admin, "moveCluster", but(move, "dryRun", true), "requested blockedBy { count }").Requested || joined() != "alpha" {
		t.Error("a dry run moved it")
	}
	refused(t, admin, "moveCluster", but(move, "to", "alpha"), "INVALID", "input.to")
	refused(t, admin, "moveCluster", but(move, "to", "none"), "NOT_FOUND", "input.to")
	refused(t, admin, "moveCluster", but(move, "instance", "beta", "to", "alpha"), "CONFLICT", "input.cluster")
	refused(t, admin, "moveCluster", but(move, "cluster", "m3"), "CONFLICT", "input.cluster")
	refused(t, person(t, "alice"), "moveCluster", move, "FORBIDDEN", "")
	if !must[payload](t, admin, "moveCluster", but(move, "force", true), "requested").Requested || joined() != "beta" {
		t.Errorf("it is joined to %q", joined())
	}
	tried("moveCluster", tookEffect)
	if !must[payload](t, admin, "moveCluster", but(in, "instance", "beta", "to", "alpha"), "requested operation").Requested || joined() != "alpha" {
		t.Errorf("it is joined to %q", joined())
	}
	refused(t, admin, "unjoinCluster", but(in, "cluster", "../"+name), "INVALID", "input.cluster")
	if must[payload](t, admin, "unjoinCluster", but(in, "dryRun", true), "requested").Requested || joined() != "alpha" {
		t.Error("a dry run had it leave")
	}
	if !must[payload](t, admin, "unjoinCluster", in, "requested").Requested || joined() != "" {
		t.Errorf("it is still joined to %q", joined())
	}
	tried("unjoinCluster", tookEffect)

	poll.Until(t, within, "it is free again", func(context.Context) error {
		if _, errs := mutate[payload](t, admin, "joinCluster", in, "requested"); len(errs) > 0 {
			return fmt.Errorf("%v", errs)
		}
		return nil
	})
	must[payload](t, admin, "unjoinCluster", but(in, "force", true, "dryRun", true), "requested")
	must[payload](t, admin, "unjoinCluster", but(in, "force", true), "requested")
	if now, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Cluster{}); now.Spec.RemovalPolicy() != kairshipv1alpha1.RemovalForce || joined() != "" {
		t.Errorf("its workloads hold it: %+v", now.Spec)
	}
}
