package writes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

const writtenFields = `consistencyToken results { argument kind name action message error { code message argument } rollback { outcome message } }`

type written struct {
	Deployed, Promoted bool
	PolicyName         string
	ConsistencyToken   *string
	Results            []struct {
		Argument, Kind, Name, Action, Message string
		Error                                 *struct{ Code, Message, Argument string }
		Rollback                              *struct{ Outcome, Message string }
	}
}

func (w written) String() string {
	var parts []string
	for _, r := range w.Results {
		part := r.Kind + " " + r.Action
		if r.Rollback != nil {
			part += " " + r.Rollback.Outcome
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func TestDeployApplication(t *testing.T) {
	alice := person(t, "alice")
	namespace := namespaceIn(t)
	policy := func(cluster string) map[string]any {
		return map[string]any{"name": "a", "spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}},
			"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{cluster}}},
		}}
	}
	override := map[string]any{"name": "a", "spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}},
		"overrideRules": []any{map[string]any{"overriders": map[string]any{
			"plaintext": []any{map[string]any{"path": "/data/key", "operator": "REPLACE", "value": "overridden"}}}}},
	}}
	input := map[string]any{
		"instance": "alpha", "namespace": namespace, "manifests": configMap(namespace, "a", "1"),
		"propagationPolicies": []any{policy("m1")}, "overridePolicies": []any{override},
	}
	deploy := func(deployed bool, want string, more ...any) written {
		t.Helper()
		p := must[written](t, alice, "deployApplication", but(input, more...), "deployed "+writtenFields)
		if p.Deployed != deployed || p.String() != want {
			t.Errorf("deployed: %t: %s, want %t: %s (%+v)", p.Deployed, p, deployed, want, p)
		}
		return p
	}
	if p := deploy(true, "ConfigMap CREATED, OverridePolicy CREATED, PropagationPolicy CREATED", "dryRun", true); p.ConsistencyToken != nil {
		t.Error("a dry run has a token")
	}
	if _, there := stored(t, namespace, "a", &corev1.ConfigMap{}); there {
		t.Error("a dry run wrote it")
	}
	if p := deploy(true, "ConfigMap CREATED, OverridePolicy CREATED, PropagationPolicy CREATED"); p.ConsistencyToken == nil {
		t.Error("there is no token")
	}
	eventually(t, "the ConfigMap is in m1 with its override", func() bool {
		c, there := storedIn(t, "m1", namespace, "a", &corev1.ConfigMap{})
		return there && c.Data["key"] == "overridden"
	})
	for _, who := range []string{"bob", "mallory"} {
		refused(t, person(t, who), "deployApplication", input, "NOT_FOUND", "input.instance")
	}
	refused(t, alice, "deployApplication", but(input, "manifests", "", "propagationPolicies", nil, "overridePolicies", nil), "INVALID", "input.manifests")

	t.Run("invalid", func(t *testing.T) {
		wrong := policy("m1")
		wrong["spec"].(map[string]any)["placement"].(map[string]any)["spreadConstraints"] = []any{map[string]any{"spreadByField": "CLUSTER", "spreadByLabel": "x", "minGroups": 1}}
		refused(t, alice, "deployApplication", but(input, "propagationPolicies", []any{wrong}), "INVALID", "input.propagationPolicies[0].spec.placement.spreadConstraints[0].spreadByLabel")
		p := deploy(false, "ConfigMap SKIPPED, OverridePolicy SKIPPED, PropagationPolicy FAILED",
			"manifests", configMap(namespace, "never", "1"), "propagationPolicies", []any{but(policy("m1"), "name", "No")})
		if e := p.Results[2].Error; e == nil || e.Code != "INVALID" || e.Argument != "input.propagationPolicies[0].name" {
			t.Errorf("%+v", e)
		}
		if _, there := stored(t, namespace, "never", &corev1.ConfigMap{}); there {
			t.Error("something was written")
		}
	})
	t.Run("late failure", func(t *testing.T) {
		// Each by itself may have the port, so the dry runs find nothing wrong.
		service := func(name string) string {
			return fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: %s}\nspec: {type: NodePort, selector: {app: a}, ports: [{port: 80, nodePort: 31986}]}\n", name, namespace)
		}
		text := configMap(namespace, "a", "2") + service("b") + service("c")
		deploy(false, "ConfigMap CONFIGURED RESTORED, Service CREATED DELETED, Service FAILED, OverridePolicy SKIPPED, PropagationPolicy SKIPPED",
			"manifests", text, "rollback", true)
		if c, _ := stored(t, namespace, "a", &corev1.ConfigMap{}); c.Data["key"] != "1" {
			t.Errorf("a holds %v", c.Data)
		}
		if _, there := stored(t, namespace, "b", &corev1.Service{}); there {
			t.Error("b is still there")
		}
	})
}

// What runs in a member is taken over while it runs on.
func TestPromoteResource(t *testing.T) {
	f := fleet.Open(t)
	alice := person(t, "alice")
	namespace := namespaceIn(t)
	m1 := f.Client(t, "m1")
	eventually(t, "the namespace is in m1", func() bool {
		_, there := storedIn(t, "m1", "", namespace, &corev1.Namespace{})
		return there
	})
	labels := map[string]string{"app": "legacy"}
	replicas := int32(2)
	deployment := &appsv1.Deployment{ObjectMeta: meta(namespace, "legacy"), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: "example.com/app:1",
			EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
		}}}},
	}}
	settings := &corev1.ConfigMap{ObjectMeta: meta(namespace, "settings"), Data: map[string]string{"by": "hand"}}
	if err := m1.Create(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	if err := m1.Create(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	pods := func() map[string]bool {
		list, err := f.Kubernetes(t, "m1").CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=legacy"})
		if err != nil {
			t.Fatal(err)
		}
		uids := map[string]bool{}
		for _, p := range list.Items {
			uids[string(p.UID)] = true
		}
		return uids
	}
	eventually(t, "the pods run", func() bool { return len(pods()) == 2 })
	before := pods()

	input := map[string]any{"instance": "alpha", "cluster": "m1", "group": "apps", "version": "v1", "resource": "deployments", "namespace": namespace, "name": "legacy"}
	for _, who := range []string{"bob", "mallory"} {
		refused(t, person(t, who), "promoteResource", input, "NOT_FOUND", "input.instance")
	}
	refused(t, alice, "promoteResource", input, "FORBIDDEN", "") // She edits alpha, and may not reach its members.
	reachMember(t, "alice")
	eventually(t, "m1 is reached through alpha", func() bool {
		_, errs := mutate[written](t, alice, "promoteResource", but(input, "dryRun", true), "promoted")
		return len(errs) == 0
	})
	dry := must[written](t, alice, "promoteResource", but(input, "dryRun", true), "promoted policyName "+writtenFields)
	if !dry.Promoted || dry.String() != "PropagationPolicy CREATED, ConfigMap CREATED, Deployment CREATED" || dry.ConsistencyToken != nil {
		t.Errorf("%+v", dry)
	}
	if _, there := stored(t, namespace, "legacy", &appsv1.Deployment{}); there {
		t.Error("a dry run wrote it")
	}
	refused(t, alice, "promoteResource", but(input, "name", "none"), "NOT_FOUND", "input.name")
	refused(t, alice, "promoteResource", but(input, "policyName", "No"), "INVALID", "input.policyName")

	p := must[written](t, alice, "promoteResource", input, "promoted policyName "+writtenFields)
	if !p.Promoted || p.ConsistencyToken == nil {
		t.Fatalf("%+v", p)
	}
	if _, there := stored(t, namespace, p.PolicyName, &policyv1alpha1.PropagationPolicy{}); !there {
		t.Error("there is no policy")
	}
	for _, o := range []string{"legacy", "settings"} {
		eventually(t, o+" is Karmada's in m1", func() bool {
			if o == "legacy" {
				d, _ := storedIn(t, "m1", namespace, o, &appsv1.Deployment{})
				return d.Labels["karmada.io/managed"] == "true"
			}
			c, _ := storedIn(t, "m1", namespace, o, &corev1.ConfigMap{})
			return c.Labels["karmada.io/managed"] == "true"
		})
	}
	time.Sleep(3 * time.Second) // A roll-out would have begun by then.
	after := pods()
	for uid := range before {
		if !after[uid] || len(after) != len(before) {
			t.Fatalf("the pods were %v and are %v", before, after)
		}
	}
	refused(t, alice, "promoteResource", input, "ALREADY_EXISTS", "input.name")
}

// reachMember lets a person read m1 through Karmada's proxy, until the test ends.
func reachMember(t *testing.T, name string) {
	t.Helper()
	f := fleet.Open(t)
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}
	create := func(cluster string, o client.Object) {
		c := f.Client(t, cluster)
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(c.Delete(context.Background(), o)); err != nil {
				t.Errorf("taking the role back: %v", err)
			}
		})
	}
	const role = "kairship-writes-test"
	create("alpha", &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"cluster.karmada.io"}, Resources: []string{"clusters/proxy"}, ResourceNames: []string{"m1"}, Verbs: []string{"get"},
	}}})
	binding := func(of string) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: of}}
	}
	create("alpha", binding(role))
	create("m1", binding("view"))
}

// eventually waits for what Karmada, the members and controllers do in their time.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s it is not so that %s", within, what)
		}
	}
}
