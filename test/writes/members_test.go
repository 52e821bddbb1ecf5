package writes

import (
	"context"
	"fmt"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/poll"
)

type memberPayload struct {
	MemberCluster struct {
		ResourceVersion string
		Labels          []struct{ Key, Value string }
		Taints          []struct{ Key, Effect string }
	}
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
	must[memberPayload](t, alice, "uncordonMemberCluster", in, memberFields)
	if cordonedIn(karmadaCluster(t, "m2")) {
		t.Error("m2 is still cordoned")
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
	must[memberPayload](t, alice, "updateMemberCluster", input("labels", labels, "dryRun", true), memberFields)
	if karmadaCluster(t, "m2").Labels["tier"] != "" {
		t.Error("a dry run set a label")
	}
	t.Cleanup(func() {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"tier":null}}}`))
		if err := fleet.Open(t).Client(t, "alpha").Patch(context.Background(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}, patch); err != nil {
			t.Error(err)
		}
	})
	p := must[memberPayload](t, alice, "updateMemberCluster", input("labels", labels), memberFields)
	if got := karmadaCluster(t, "m2"); got.Labels["tier"] != "gold" || p.ConsistencyToken == nil || got.Spec.Region != before.Spec.Region {
		t.Errorf("m2 has %v in %q, the payload says %+v", got.Labels, got.Spec.Region, p)
	}
	refused(t, alice, "updateMemberCluster", input("resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
	taint := func(key, effect string) []any { return []any{map[string]any{"key": key, "effect": effect}} }
	refused(t, alice, "updateMemberCluster", input("taints", taint("dedicated", "Never")), "INVALID", "input.taints[0].effect")
	refused(t, alice, "updateMemberCluster", input("taints", taint("cluster.karmada.io/not-ready", "NoSchedule")), "INVALID", "input.taints[0].key")
	refused(t, alice, "updateMemberCluster", input("region", "no region!"), "INVALID", "input.region")
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
	refused(t, admin, "joinCluster", but(in, "instance", "beta"), "CONFLICT", "input.cluster")
	refused(t, admin, "unjoinCluster", but(in, "instance", "beta"), "CONFLICT", "input.cluster")
	if !must[payload](t, admin, "unjoinCluster", in, "requested").Requested || joined() != "" {
		t.Errorf("it is still joined to %q", joined())
	}
}
