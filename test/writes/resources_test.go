package writes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

const applyFields = `applied consistencyToken results { document kind namespace name action message resource { name } error { code message argument fields { argument message } } }`

type applied struct {
	Applied          bool
	ConsistencyToken *string
	Results          []struct {
		Document              int
		Kind, Namespace, Name string
		Action                string
		Message               string
		Resource              *struct{ Name string }
		Error                 *problem
	}
}

// problem is why one of several objects was not written.
type problem struct {
	Code, Message, Argument string
	Fields                  []struct{ Argument, Message string }
}

// actions are what became of the documents, in their order.
func (a applied) actions() string {
	var parts []string
	for _, r := range a.Results {
		parts = append(parts, r.Kind+" "+r.Action)
	}
	return strings.Join(parts, ", ")
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func configMap(namespace, name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {key: %q}\n", name, namespace, value)
}

// TestApplyWhatWasTried applies what a dry run saw, and nothing else.
func TestApplyWhatWasTried(t *testing.T) {
	t.Parallel()
	alice, namespace := person(t, "alice"), namespaceIn(t)
	type tried struct {
		Applied     bool
		Fingerprint *string
	}
	input := map[string]any{"instance": "alpha", "manifests": configMap(namespace, "tried", "1") + "---\n" + configMap(namespace, "fresh", "1")}
	value := func() string {
		c, _ := stored(t, namespace, "tried", &corev1.ConfigMap{})
		return c.Data["key"]
	}
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "tried", "0")}, applyFields)
	try := func() string {
		t.Helper()
		p := must[tried](t, alice, "applyManifests", but(input, "dryRun", true), "applied fingerprint")
		if p.Fingerprint == nil {
			t.Fatal("there is no fingerprint")
		}
		return *p.Fingerprint
	}
	first := try()
	if again := try(); again != first {
		t.Errorf("it was %s and is %s, and nothing was changed", first, again)
	}
	refused(t, alice, "applyManifests", but(input, "expect", first, "manifests", configMap(namespace, "tried", "2")), "CONFLICT", "input.expect")
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "tried", "theirs")}, applyFields)
	refused(t, alice, "applyManifests", but(input, "expect", first), "CONFLICT", "input.expect")
	if value() != "theirs" {
		t.Errorf("it is %s: what was refused was written", value())
	}
	second := try()
	if p := must[tried](t, alice, "applyManifests", but(input, "expect", second), "applied fingerprint"); !p.Applied || value() != "1" {
		t.Errorf("got %+v, and it is %s", p, value())
	}
	refused(t, alice, "applyManifests", but(input, "expect", second), "CONFLICT", "input.expect")
	bad := but(input, "dryRun", true, "manifests", configMap(namespace, "tried", "1")+"---\napiVersion: v1\nkind: None\nmetadata: {name: a}\n")
	if p := must[tried](t, alice, "applyManifests", bad, "applied fingerprint"); p.Applied || p.Fingerprint != nil {
		t.Errorf("what cannot be applied has the fingerprint %v", p.Fingerprint)
	}
}

func TestApplyManifests(t *testing.T) {
	alice := person(t, "alice")
	namespace := namespaceIn(t)
	apply := func(manifests string, more ...any) applied {
		t.Helper()
		return must[applied](t, alice, "applyManifests", but(map[string]any{"instance": "alpha", "manifests": manifests}, more...), applyFields)
	}
	wants := func(p applied, applied bool, actions string) {
		t.Helper()
		if p.Applied != applied || p.actions() != actions {
			t.Errorf("applied: %v: %s, want %v: %s (%+v)", p.Applied, p.actions(), applied, actions, p)
		}
	}
	dry := apply(configMap(namespace, "a", "1"), "dryRun", true)
	wants(dry, true, "ConfigMap CREATED")
	if _, there := stored(t, namespace, "a", &corev1.ConfigMap{}); there || dry.ConsistencyToken != nil {
		t.Error("a dry run wrote it")
	}
	p := apply(configMap(namespace, "a", "1"))
	wants(p, true, "ConfigMap CREATED")
	if p.ConsistencyToken == nil {
		t.Error("there is no token")
	}
	wants(apply(configMap(namespace, "a", "1")), true, "ConfigMap UNCHANGED")
	wants(apply(configMap(namespace, "a", "2")), true, "ConfigMap CONFIGURED")
	if c, _ := stored(t, namespace, "a", &corev1.ConfigMap{}); c.Data["key"] != "2" {
		t.Errorf("it holds %v", c.Data)
	}
	wants(apply(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json"}, "data": {"n": "9007199254740993"}}`, "namespace", namespace), true, "ConfigMap CREATED")

	t.Run("none of it when one is refused", func(t *testing.T) {
		bad := strings.Replace(configMap(namespace, "c", "1"), "\ndata:", "\ndta:", 1)
		p := apply(configMap(namespace, "b", "1") + "---\n" + bad)
		wants(p, false, "ConfigMap SKIPPED, ConfigMap FAILED")
		if e := p.Results[1].Error; e == nil || e.Code != "INVALID" || e.Argument != "input.manifests[1].dta" {
			t.Errorf("%+v", e)
		}
		if _, there := stored(t, namespace, "b", &corev1.ConfigMap{}); there || p.ConsistencyToken != nil {
			t.Error("something was written")
		}
	})
	t.Run("conflict with another manager", func(t *testing.T) {
		c, _ := stored(t, namespace, "a", &corev1.ConfigMap{})
		c.Data["key"] = "theirs"
		if err := fleet.Open(t).Client(t, "alpha").Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		p := apply(configMap(namespace, "a", "ours"))
		wants(p, false, "ConfigMap FAILED")
		if e := p.Results[0].Error; e == nil || e.Code != "CONFLICT" || e.Argument != "input.manifests[0].data.key" {
			t.Errorf("%+v", e)
		}
		wants(apply(configMap(namespace, "a", "ours"), "force", true), true, "ConfigMap CONFIGURED")
	})
	t.Run("a namespace and what is in it", func(t *testing.T) {
		fresh := namespace + "-fresh"
		text := configMap(fresh, "a", "1") + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + fresh + "}\n"
		wants(apply(text, "dryRun", true), true, "ConfigMap UNVERIFIED, Namespace CREATED")
		if _, there := stored(t, "", fresh, &corev1.Namespace{}); there {
			t.Error("a dry run made the namespace")
		}
		wants(apply(text), true, "ConfigMap CREATED, Namespace CREATED")
		must[map[string]any](t, alice, "deleteNamespace", map[string]any{"instance": "alpha", "name": fresh}, "deleted")
	})
	t.Run("a definition and what it defines", func(t *testing.T) {
		admin := administrator(t, "admin")
		group := strings.ReplaceAll(namespace, "-", "") + ".example.com"
		text := fmt.Sprintf(`apiVersion: %[1]s/v1
kind: Widget
metadata: {name: one, namespace: %[2]s}
spec: {size: 3}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}
`, group, namespace)
		input := map[string]any{"instance": "alpha", "manifests": text}
		wants(must[applied](t, admin, "applyManifests", but(input, "dryRun", true), applyFields), true, "Widget UNVERIFIED, CustomResourceDefinition CREATED")
		wants(must[applied](t, admin, "applyManifests", input, applyFields), true, "Widget CREATED, CustomResourceDefinition CREATED")
		must[map[string]any](t, admin, "deleteResource", map[string]any{
			"instance": "alpha", "group": "apiextensions.k8s.io", "version": "v1", "resource": "customresourcedefinitions", "name": "widgets." + group,
		}, "deleted")
	})
	t.Run("a late failure says what was written", func(t *testing.T) {
		// Each alone may have the port, so the dry runs find nothing wrong.
		service := func(name string) string {
			return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: %s}\nspec: {type: NodePort, selector: {app: a}, ports: [{port: 80, nodePort: 31987}]}\n---\n", name, namespace)
		}
		last := fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: late, namespace: %s}\nspec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}}\n", namespace)
		p := apply(service("one") + service("two") + last)
		wants(p, false, "Service CREATED, Service FAILED, Deployment SKIPPED")
		if p.ConsistencyToken == nil || p.Results[0].Resource == nil {
			t.Errorf("what was written is not said: %+v", p)
		}
		if _, there := stored(t, namespace, "one", &corev1.Service{}); !there {
			t.Error("the first was not written")
		}
		if _, there := stored(t, namespace, "late", &appsv1.Deployment{}); there {
			t.Error("the last was written")
		}
	})
	t.Run("what alice may not", func(t *testing.T) {
		p := apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: mine}\nrules: []\n")
		wants(p, false, "ClusterRole FAILED")
		if e := p.Results[0].Error; e == nil || e.Code != "FORBIDDEN" {
			t.Errorf("%+v", e)
		}
	})
	for _, tt := range []struct{ manifests, argument string }{
		{"", "input.manifests"},
		{"---\n", "input.manifests"},
		{configMap(namespace, "a", "1") + "---\n{", "input.manifests[1]"},
		{"a: 1\na: 2\n", "input.manifests[0]"},
		{"apiVersion: v1\nkind: ConfigMap\n", "input.manifests[0]"},
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n", "input.manifests[0]"},
	} {
		refused(t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": tt.manifests}, "INVALID", tt.argument)
	}
	unrelated(t, "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "x", "1")})
}

func TestPatchAndDeleteResource(t *testing.T) {
	t.Parallel()
	alice := person(t, "alice")
	namespace := namespaceIn(t)
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "a", "1")}, applyFields)
	target := map[string]any{"instance": "alpha", "group": "", "version": "v1", "resource": "configmaps", "namespace": namespace, "name": "a"}
	// It is sent to both members.
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": fmt.Sprintf(`
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: a, namespace: %s}
spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: a}], placement: {clusterAffinity: {clusterNames: [m1, m2]}}}
`, namespace)}, applyFields)
	everywhere := func(mutation, want string) {
		t.Helper()
		follows(t, mutation, fmt.Sprintf("the members have it as %q", want), func(context.Context) error {
			for _, member := range fleet.Open(t).Members("alpha") {
				if c, _ := storedIn(t, member, namespace, "a", &corev1.ConfigMap{}); c.Data["key"] != want {
					return fmt.Errorf("%s has %v", member, c.Data)
				}
			}
			return nil
		})
	}
	everywhere("applyManifests", "1")
	value := func() string {
		c, _ := stored(t, namespace, "a", &corev1.ConfigMap{})
		return c.Data["key"]
	}
	merge := func(v string) map[string]any {
		return but(target, "patch", map[string]any{"data": map[string]any{"key": v}})
	}

	must[map[string]any](t, alice, "patchResource", but(merge("dry"), "dryRun", true), "consistencyToken resource { name }")
	if value() != "1" {
		t.Error("a dry run wrote it")
	}
	for _, tt := range []struct {
		name  string
		input map[string]any
	}{
		{"merge", merge("merge")},
		{"Merge", but(merge("Merge"), "type", "MERGE")},
		{"strategic", but(merge("strategic"), "type", "STRATEGIC")},
		{"json", but(target, "type", "JSON", "patch", []any{map[string]any{"op": "replace", "path": "/data/key", "value": "json"}})},
		{"apply", but(merge("apply"), "type", "APPLY", "force", true)},
	} {
		c, _ := stored(t, namespace, "a", &corev1.ConfigMap{})
		refused(t, alice, "patchResource", but(tt.input, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
		must[map[string]any](t, alice, "patchResource", but(tt.input, "resourceVersion", c.ResourceVersion), "consistencyToken resource { name }")
		if value() != tt.name {
			t.Errorf("after %s it is %q", tt.name, value())
		}
		everywhere("patchResource", tt.name)
	}
	refused(t, alice, "patchResource", but(merge("x"), "type", "APPLY", "patch", map[string]any{"dta": map[string]any{}}), "INVALID", "input.patch.dta")
	refused(t, alice, "patchResource", but(target, "patch", "text"), "INVALID", "input.patch")
	refused(t, alice, "patchResource", but(target, "patch", map[string]any{}, "type", "JSON"), "INVALID", "input.patch")
	refused(t, alice, "patchResource", but(merge("x"), "name", "none"), "NOT_FOUND", "input.name")
	refused(t, alice, "patchResource", but(merge("x"), "resource", "nonsense"), "INVALID", "input.resource")
	refused(t, alice, "patchResource", but(merge("x"), "namespace", nil), "INVALID", "input.namespace")
	unrelated(t, "patchResource", merge("x"))

	refused(t, alice, "deleteResource", but(target, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
	refused(t, alice, "deleteResource", but(target, "uid", "1"), "CONFLICT", "input.uid")
	refused(t, alice, "deleteResource", but(target, "name", "none"), "NOT_FOUND", "input.name")
	refused(t, alice, "deleteResource", but(target, "name", "../secrets/a"), "INVALID", "input.name")
	refused(t, alice, "deleteResource", but(target, "version", "v9"), "INVALID", "input.resource")
	refused(t, alice, "deleteResource", but(target, "namespace", nil), "INVALID", "input.namespace")
	unrelated(t, "deleteResource", target)
	must[map[string]any](t, alice, "deleteResource", but(target, "dryRun", true), "deleted")
	if _, there := stored(t, namespace, "a", &corev1.ConfigMap{}); !there {
		t.Fatal("a dry run deleted it")
	}
	p := must[struct{ Deleted bool }](t, alice, "deleteResource", but(target, "propagationPolicy", "BACKGROUND"), "deleted")
	if _, there := stored(t, namespace, "a", &corev1.ConfigMap{}); there || !p.Deleted {
		t.Error("it was not deleted")
	}
	everywhere("deleteResource", "")
}

// What an object owns goes with it, before it, or stays.
func TestDeletionPropagates(t *testing.T) {
	t.Parallel()
	alice, namespace := person(t, "alice"), namespaceIn(t)
	for policy, want := range map[string]struct{ deleted, ownedGoes bool }{
		"BACKGROUND": {true, true}, "FOREGROUND": {false, true}, "ORPHAN": {false, false},
	} {
		name := strings.ToLower(policy)
		p := must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, name, "1")}, applyFields)
		owner, _ := stored(t, namespace, name, &corev1.ConfigMap{})
		if !p.Applied {
			t.Fatalf("%+v", p)
		}
		owned := &corev1.ConfigMap{ObjectMeta: meta(namespace, name+"-owned")}
		block := true
		owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: owner.UID, BlockOwnerDeletion: &block}}
		if err := fleet.Open(t).Client(t, "alpha").Create(t.Context(), owned); err != nil {
			t.Fatal(err)
		}
		input := map[string]any{"instance": "alpha", "version": "v1", "resource": "configmaps", "namespace": namespace, "name": name, "propagationPolicy": policy}
		must[map[string]any](t, alice, "deleteResource", but(input, "dryRun", true), "deleted")
		got := must[struct{ Deleted bool }](t, alice, "deleteResource", input, "deleted")
		if got.Deleted != want.deleted {
			t.Errorf("%s: deleted is %t, want %t", policy, got.Deleted, want.deleted)
		}
		poll.Until(t, within, policy+" is done", func(context.Context) error {
			_, owner := stored(t, namespace, name, &corev1.ConfigMap{})
			now, there := stored(t, namespace, name+"-owned", &corev1.ConfigMap{})
			if owner || there == want.ownedGoes || len(now.OwnerReferences) > 0 {
				return fmt.Errorf("the owner is there: %t; what it owned is there: %t, with owners %v", owner, there, now.OwnerReferences)
			}
			return nil
		})
	}
}

// What Karmada's webhooks refuse of a policy is said at the field of the manifest,
// or of the patch, as the mutations of policies say it.
func TestKarmadaRefusesManifests(t *testing.T) {
	t.Parallel()
	alice, namespace := person(t, "alice"), namespaceIn(t)
	policy := func(name, spec string) string {
		return fmt.Sprintf("---\napiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: %s, namespace: %s}\nspec: %s\n", name, namespace, spec)
	}
	const (
		good = `{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: a}], placement: {clusterAffinity: {clusterNames: [m1]}}}`
		bad  = `{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: default}], preemption: Always}`
	)
	p := must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "a", "1") + policy("p", bad)}, applyFields)
	if p.Applied || p.Results[1].Error == nil {
		t.Fatalf("%+v", p)
	}
	e := p.Results[1].Error
	var at []string
	for _, f := range e.Fields {
		at = append(at, f.Argument)
	}
	want := []string{"input.manifests[1].spec.resourceSelectors[0].namespace", "input.manifests[1].spec.resourceSelectors[0].name"}
	if e.Code != "INVALID" || e.Argument != want[0] || !slices.Equal(at, want) {
		t.Errorf("got %+v", e)
	}
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": policy("p", good)}, applyFields)
	target := map[string]any{"instance": "alpha", "group": "policy.karmada.io", "version": "v1alpha1", "resource": "propagationpolicies", "namespace": namespace, "name": "p"}
	both := map[string]any{"spec": map[string]any{"suspension": map[string]any{"dispatching": true, "dispatchingOnClusters": map[string]any{"clusterNames": []any{"m1"}}}}}
	refused(t, alice, "patchResource", but(target, "patch", both), "INVALID", "input.patch.spec.suspension")
	whole := map[string]any{"spec": but(both["spec"].(map[string]any), "resourceSelectors", []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}})}
	refused(t, alice, "patchResource", but(target, "patch", whole, "type", "APPLY"), "INVALID", "input.patch.spec.suspension")
	steps := []any{map[string]any{"op": "add", "path": "/spec/suspension", "value": both["spec"].(map[string]any)["suspension"]}}
	refused(t, alice, "patchResource", but(target, "patch", steps, "type", "JSON"), "INVALID", "input.patch")
	refused(t, alice, "patchResource", but(target, "patch", map[string]any{"spec": map[string]any{"schedulerName": "x"}}), "INVALID", "input.patch.spec.schedulerName")
	refused(t, alice, "patchResource", but(target, "patch", map[string]any{"metadata": map[string]any{"labels": map[string]any{"propagationpolicy.karmada.io/permanent-id": "x"}}}), "INVALID", "input.patch.metadata.labels")
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	namespace := namespaceIn(t)
	alice := person(t, "alice")
	text := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: %s}\nimmutable: true\nstringData: {password: hunter2}\n", namespace)
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": text}, applyFields)
	p := must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": strings.Replace(text, "hunter2", "swordfish", 1)}, applyFields)
	if p.Applied {
		t.Fatal("an immutable Secret was changed")
	}
	if e := fmt.Sprintf("%+v", *p.Results[0].Error); strings.Contains(e, "hunter2") || strings.Contains(e, "swordfish") {
		t.Errorf("the error tells a secret: %s", e)
	}
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	alice := person(t, "alice")
	name := namespaceIn(t) + "-made"
	input := map[string]any{"instance": "alpha", "name": name, "labels": pairs("team", "a"), "annotations": pairs("note", "first")}
	inMember := func(mutation, what string, is func(*corev1.Namespace, bool) bool) {
		t.Helper()
		follows(t, mutation, what, func(context.Context) error {
			for _, member := range fleet.Open(t).Members("alpha") {
				if ns, there := storedIn(t, member, "", name, &corev1.Namespace{}); !is(ns, there) {
					return fmt.Errorf("in %s it is there: %t, with labels %v", member, there, ns.Labels)
				}
			}
			return nil
		})
	}
	fields := "consistencyToken namespace { name labels { key value } resourceVersion }"
	type payload struct {
		Namespace struct {
			ResourceVersion string
			Labels          []struct{ Key, Value string }
		}
		ConsistencyToken *string
	}
	must[payload](t, alice, "createNamespace", but(input, "dryRun", true), fields)
	if _, there := stored(t, "", name, &corev1.Namespace{}); there {
		t.Error("a dry run made it")
	}
	made := must[payload](t, alice, "createNamespace", input, fields)
	if ns, _ := stored(t, "", name, &corev1.Namespace{}); ns.Labels["team"] != "a" || ns.Annotations["note"] != "first" {
		t.Errorf("it has the labels %v and annotations %v", ns.Labels, ns.Annotations)
	}
	inMember("createNamespace", "the members have it", func(ns *corev1.Namespace, there bool) bool { return there && ns.Labels["team"] == "a" })
	refused(t, alice, "createNamespace", but(input, "name", name+"2", "annotations", append(pairs("a", "1"), pairs("a", "2")...)), "INVALID", "input.annotations[1].key")
	refused(t, alice, "createNamespace", input, "ALREADY_EXISTS", "input.name")
	refused(t, alice, "createNamespace", but(input, "name", "No"), "INVALID", "input.name")
	refused(t, alice, "createNamespace", but(input, "name", name+"2", "labels", []any{map[string]any{"key": "-", "value": "a"}}), "INVALID", "input.labels")
	unrelated(t, "createNamespace", input)

	update := map[string]any{"instance": "alpha", "name": name, "resourceVersion": made.Namespace.ResourceVersion, "labels": []any{map[string]any{"key": "stage", "value": "b"}}}
	refused(t, alice, "updateNamespace", but(update, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
	refused(t, alice, "updateNamespace", but(update, "name", "none"), "NOT_FOUND", "input.name")
	refused(t, alice, "updateNamespace", but(update, "labels", []any{map[string]any{"key": "a", "value": "a b"}}), "INVALID", "input.labels")
	unrelated(t, "updateNamespace", update)
	must[payload](t, alice, "updateNamespace", but(update, "dryRun", true), fields)
	if ns, _ := stored(t, "", name, &corev1.Namespace{}); ns.Labels["team"] != "a" {
		t.Errorf("a dry run wrote it: %v", ns.Labels)
	}
	must[payload](t, alice, "updateNamespace", update, fields)
	inMember("updateNamespace", "the members have its label", func(ns *corev1.Namespace, _ bool) bool { return ns.Labels["stage"] == "b" })
	ns, _ := stored(t, "", name, &corev1.Namespace{})
	if ns.Labels["stage"] != "b" || ns.Labels["team"] != "" || ns.Labels[corev1.LabelMetadataName] != name {
		t.Errorf("its labels are %v", ns.Labels)
	}

	gone := map[string]any{"instance": "alpha", "name": name}
	refused(t, alice, "deleteNamespace", but(gone, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
	refused(t, alice, "deleteNamespace", but(gone, "uid", "1"), "CONFLICT", "input.uid")
	refused(t, alice, "deleteNamespace", but(gone, "name", "No"), "INVALID", "input.name")
	refused(t, alice, "deleteNamespace", but(gone, "name", "none"), "NOT_FOUND", "input.name")
	unrelated(t, "deleteNamespace", gone)
	must[map[string]any](t, alice, "deleteNamespace", but(gone, "dryRun", true), "deleted")
	if ns, there := stored(t, "", name, &corev1.Namespace{}); !there || ns.DeletionTimestamp != nil {
		t.Error("a dry run deleted it")
	}
	must[map[string]any](t, alice, "deleteNamespace", gone, "deleted")
	if ns, there := stored(t, "", name, &corev1.Namespace{}); there && ns.DeletionTimestamp == nil {
		t.Error("it was not deleted")
	}
	inMember("deleteNamespace", "the members have it no longer", func(ns *corev1.Namespace, there bool) bool { return !there || ns.DeletionTimestamp != nil })
}
