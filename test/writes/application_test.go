package writes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

const writtenFields = `consistencyToken results { argument kind name action message error { code message argument } rollback { outcome message error { code message argument } } }`

type written struct {
	Deployed, Promoted bool
	PolicyName         string
	ConsistencyToken   *string
	Results            []struct {
		Argument, Kind, Name, Action, Message string
		Error                                 *problem
		Rollback                              *struct {
			Outcome, Message string
			Error            *problem
		}
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
	poll.True(t, within, "the ConfigMap is in m1 with its override", func() bool {
		c, there := storedIn(t, "m1", namespace, "a", &corev1.ConfigMap{})
		return there && c.Data["key"] == "overridden"
	})
	tried("deployApplication", tookEffect)
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
	t.Run("conflict", func(t *testing.T) {
		c, _ := stored(t, namespace, "a", &corev1.ConfigMap{})
		c.Data["key"] = "theirs"
		if err := fleet.Open(t).Client(t, "alpha").Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		p := deploy(false, "ConfigMap FAILED, OverridePolicy SKIPPED, PropagationPolicy SKIPPED", "rollback", true)
		if e := p.Results[0].Error; e == nil || e.Code != "CONFLICT" || e.Argument != "input.manifests[0].data.key" {
			t.Errorf("%+v", e)
		}
		deploy(true, "ConfigMap CONFIGURED, OverridePolicy UNCHANGED, PropagationPolicy UNCHANGED", "force", true)
	})
	t.Run("policies of other namespaces, with labels", func(t *testing.T) {
		other := namespaceIn(t)
		op := but(override, "namespace", other, "labels", pairs("team", "shop"), "annotations", pairs("note", "first"))
		pp := but(policy("m2"), "namespace", other, "labels", pairs("team", "shop"), "annotations", pairs("note", "first"))
		deploy(true, "ConfigMap CREATED, OverridePolicy CREATED, PropagationPolicy CREATED",
			"manifests", configMap(other, "a", "1"), "propagationPolicies", []any{pp}, "overridePolicies", []any{op})
		for _, o := range []client.Object{&policyv1alpha1.PropagationPolicy{}, &policyv1alpha1.OverridePolicy{}} {
			if got, there := stored(t, other, "a", o); !there || got.GetLabels()["team"] != "shop" || got.GetAnnotations()["note"] != "first" {
				t.Errorf("%T: %v", o, got)
			}
		}
		poll.True(t, within, "the ConfigMap of the other namespace is in m2", func() bool {
			c, there := storedIn(t, "m2", other, "a", &corev1.ConfigMap{})
			return there && c.Data["key"] == "overridden"
		})
	})
	t.Run("what cannot be undone is told", func(t *testing.T) {
		// The instance lets dry runs pass, and then neither this Deployment nor the
		// deletion of this Service.
		refuseLate(t, namespace, `!(request.kind.kind == "Deployment" && request.operation == "CREATE") && !(request.name == "kept" && request.operation == "DELETE")`)
		text := configMap(namespace, "a", "3") +
			fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: %s}\nstringData: {password: hunter2}\n", namespace) +
			fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {name: kept, namespace: %s}\nspec: {selector: {app: a}, ports: [{port: 80}]}\n", namespace) +
			fmt.Sprintf("---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: late, namespace: %s}\nspec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}}\n", namespace)
		before, _ := stored(t, namespace, "a", &corev1.ConfigMap{})
		p := deploy(false, "ConfigMap CONFIGURED RESTORED, Secret CREATED DELETED, Service CREATED FAILED, Deployment FAILED, OverridePolicy SKIPPED, PropagationPolicy SKIPPED",
			"manifests", text, "rollback", true)
		if e := p.Results[3].Error; e == nil || !strings.Contains(e.Message, "not now") || !strings.HasPrefix(e.Argument, "input.manifests[3]") {
			t.Errorf("the Deployment was refused: %+v", e)
		}
		if e := p.Results[2].Rollback.Error; e == nil || !strings.Contains(e.Message, "not now") {
			t.Errorf("the Service could not be deleted: %+v", e)
		}
		if p.ConsistencyToken == nil {
			t.Error("there is no token for what was written and undone")
		}
		after, _ := stored(t, namespace, "a", &corev1.ConfigMap{})
		if after.Data["key"] != before.Data["key"] || after.UID != before.UID {
			t.Errorf("a held %v and holds %v", before.Data, after.Data)
		}
		if _, there := stored(t, namespace, "s", &corev1.Secret{}); there {
			t.Error("the Secret is still there")
		}
		if _, there := stored(t, namespace, "kept", &corev1.Service{}); !there {
			t.Error("the Service was deleted, and its deletion is said to have failed")
		}
		// Without rollback it is told just as exactly, and left.
		deploy(false, "ConfigMap CONFIGURED, Secret CREATED, Service UNCHANGED, Deployment FAILED, OverridePolicy SKIPPED, PropagationPolicy SKIPPED", "manifests", text)
		if c, _ := stored(t, namespace, "a", &corev1.ConfigMap{}); c.Data["key"] != "3" {
			t.Errorf("a holds %v", c.Data)
		}
	})
	t.Run("late failure", func(t *testing.T) {
		// Each alone may have the port, so the dry runs find nothing wrong.
		service := func(name string) string {
			return fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: %s}\nspec: {type: NodePort, selector: {app: a}, ports: [{port: 80, nodePort: 31986}]}\n", name, namespace)
		}
		text := configMap(namespace, "a", "2") + service("b") + service("c")
		deploy(false, "ConfigMap CONFIGURED RESTORED, Service CREATED DELETED, Service FAILED, OverridePolicy SKIPPED, PropagationPolicy SKIPPED",
			"manifests", text, "rollback", true)
		if c, _ := stored(t, namespace, "a", &corev1.ConfigMap{}); c.Data["key"] != "3" {
			t.Errorf("a holds %v", c.Data)
		}
		if _, there := stored(t, namespace, "b", &corev1.Service{}); there {
			t.Error("b is still there")
		}
	})
}

// refuseLate has alpha refuse what a condition does not allow in a namespace, but
// for dry runs, until the test ends.
func refuseLate(t *testing.T, namespace, condition string) {
	t.Helper()
	c := fleet.Open(t).Client(t, "alpha")
	name := "late." + namespace
	fail := admissionregistrationv1.Fail
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionregistrationv1.MatchResources{NamespaceSelector: selector, ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
			},
		}}},
		Validations: []admissionregistrationv1.Validation{
			{Expression: "(has(request.dryRun) && request.dryRun) || (" + condition + ")", Message: "not now"},
			// It shows whether the policy is in force.
			{Expression: `request.name != "canary"`, Message: "in force"},
		},
	}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}}
	for _, o := range []client.Object{policy, binding} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(c.Delete(context.Background(), o)); err != nil {
				t.Errorf("removing %s: %v", o.GetName(), err)
			}
		})
	}
	poll.True(t, within, "alpha refuses what it is told to", func() bool {
		err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta(namespace, "canary")}, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "in force")
	})
}

// reachMember lets a person read m1 through Karmada's proxy, with a role there,
// until the test ends.
func reachMember(t *testing.T, name, as string) {
	t.Helper()
	fleet.Open(t).ReachMember(t, name, as)
}
