package escalation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// scene is a ConfigMap in a namespace of its own, which alpha sends to member m1.
type scene struct {
	*testing.T
	*fleet.Fleet
	namespace string
	alpha, m1 client.Client
}

func open(t *testing.T) *scene {
	t.Helper()
	f := fleet.Open(t)
	s := &scene{T: t, Fleet: f, namespace: namespace(t, "alpha"), alpha: f.Client(t, "alpha"), m1: f.Client(t, "m1")}
	made(t, s.alpha, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "seed"}, Data: map[string]string{"color": "white"}})
	s.propagate("v1", "ConfigMap", "seed")
	return s
}

func (s *scene) propagate(version, kind, name string) {
	s.Helper()
	made(s.T, s.alpha, &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: version, Kind: kind, Namespace: s.namespace, Name: name}},
			Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
		},
	})
}

// policy is an override policy with a spec in YAML; an OverridePolicy has a namespace.
func (s *scene) policy(kind, name, spec string) *unstructured.Unstructured {
	s.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": s.read(spec)}}
	u.SetGroupVersionKind(schema.GroupVersion(policyv1alpha1.GroupVersion).WithKind(kind))
	u.SetName(name)
	if kind == "OverridePolicy" {
		u.SetNamespace(s.namespace)
	}
	return u
}

func (s *scene) read(text string) map[string]any {
	s.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		s.Fatal(err)
	}
	return out
}

// seed selects the ConfigMap.
func (s *scene) seed() string {
	return fmt.Sprintf("resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: %s, name: seed}]\n", s.namespace)
}

// bound is the attack: the ConfigMap becomes a ClusterRoleBinding of the member, which
// binds the attacker to cluster-admin there. GraphQL has operators in capitals.
func (s *scene) bound(user, operator string) string {
	changes, _ := json.Marshal([]map[string]any{
		{"path": "/apiVersion", "operator": operator, "value": "rbac.authorization.k8s.io/v1"},
		{"path": "/kind", "operator": operator, "value": "ClusterRoleBinding"},
		{"path": "/metadata/name", "operator": operator, "value": s.namespace},
		{"path": "/metadata/namespace", "operator": operator, "value": ""},
		{"path": "/roleRef", "operator": operator, "value": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}},
		{"path": "/subjects", "operator": operator, "value": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}}},
	})
	return s.seed() + "overrideRules: [{overriders: {plaintext: " + string(changes) + "}}]"
}

// colored is an override that an editor may write.
func (s *scene) colored(color, operator string) string {
	return s.seed() + fmt.Sprintf("overrideRules: [{overriders: {plaintext: [{path: /data/color, operator: %s, value: %s}]}}]", operator, color)
}

// arrives waits until the member's ConfigMap has a color: Karmada has applied the
// policies of the instance as they are.
func (s *scene) arrives(color string) {
	s.Helper()
	poll.Until(s.T, within, "the member has color "+color, func(ctx context.Context) error {
		found := &corev1.ConfigMap{}
		if err := s.m1.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "seed"}, found); err != nil {
			return err
		}
		if found.Data["color"] != color {
			return fmt.Errorf("it has %v", found.Data)
		}
		return nil
	})
}

// nothingArrived fails when the attack left something in the member or the instance.
func (s *scene) nothingArrived() {
	s.Helper()
	err := s.m1.Get(s.Context(), client.ObjectKey{Name: s.namespace}, &rbacv1.ClusterRoleBinding{})
	if !apierrors.IsNotFound(err) {
		s.Errorf("the member has the ClusterRoleBinding of the attack: %v", err)
	}
	policies := &policyv1alpha1.OverridePolicyList{}
	if err := s.alpha.List(s.Context(), policies, client.InNamespace(s.namespace)); err != nil {
		s.Fatal(err)
	}
	for i := range policies.Items {
		if wrong := overrides.Check(&policies.Items[i].Spec); len(wrong) > 0 {
			s.Errorf("OverridePolicy %s was stored with %v", policies.Items[i].Name, wrong)
		}
	}
}

// refusedByPolicy checks that an API server refused a write of an override policy.
func (s *scene) refusedByPolicy(err error) {
	s.Helper()
	if err == nil {
		s.Error(errNoRefusal)
	} else if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), overrides.Name) || !strings.Contains(err.Error(), "overrides may change /spec") {
		s.Errorf("it was refused in another way: %v", err)
	}
}

// mutate sends a mutation and returns its payload.
func (s *scene) mutate(as *gql.Client, name, selection string, input map[string]any) (payload map[string]any, errs []gql.Error) {
	s.Helper()
	query := fmt.Sprintf("mutation($input: %s%sInput!) { %s(input: $input) { %s } }", strings.ToUpper(name[:1]), name[1:], name, selection)
	result := as.Must(s.T, gql.Request{Query: query, Variables: map[string]any{"input": input}})
	var data map[string]map[string]any
	if len(result.Data) > 0 {
		if err := json.Unmarshal(result.Data, &data); err != nil {
			s.Fatalf("%s: %v: %s", name, err, result.Body)
		}
	}
	return data[name], result.Errors
}

// refusedAt checks that a mutation was refused for one input.
func (s *scene) refusedAt(argument string, errs []gql.Error) {
	s.Helper()
	if len(errs) != 1 || errs[0].Extensions.Code != "INVALID" || errs[0].Extensions.Argument != argument || !strings.Contains(errs[0].Message, "overrides may change /spec") {
		s.Errorf("got %v, want INVALID at %s with what is allowed", errs, argument)
	}
}

// TestOverridesOfANamespaceReachNoFurther is the attack of an editor of one namespace, who
// tries to become cluster-admin of a member, in every form.
func TestOverridesOfANamespaceReachNoFurther(t *testing.T) {
	s := open(t)
	editor := newPerson(t, v1alpha1.RoleEditor, s.namespace)
	eventually(t, "the editor writes overrides", func(ctx context.Context) error {
		return editor.proxied.Create(ctx, s.policy("OverridePolicy", "harmless", s.colored("red", "replace")))
	})
	s.arrives("red")
	s.attack(editor, "OverridePolicy")

	t.Run("the editor's own overrides go on", func(t *testing.T) {
		of := s.policy("OverridePolicy", "harmless", s.colored("blue", "replace"))
		err := editor.proxied.Patch(t.Context(), of, client.Apply, client.FieldOwner("test"), client.ForceOwnership) //nolint:staticcheck // the typed form needs generated types
		if err != nil {
			t.Fatal(err)
		}
		s.arrives("blue")
	})
	s.nothingArrived()
}

// TestOverridesOfAnInstanceReachNoFurther is the same attack of an editor of the whole
// instance.
func TestOverridesOfAnInstanceReachNoFurther(t *testing.T) {
	s := open(t)
	editor := newPerson(t, v1alpha1.RoleEditor)
	for _, kind := range []string{"OverridePolicy", "ClusterOverridePolicy"} {
		name := "harmless"
		if kind == "ClusterOverridePolicy" {
			name = s.namespace
		}
		of := s.policy(kind, name, s.colored("red", "replace"))
		eventually(t, "the editor writes overrides", func(ctx context.Context) error { return editor.proxied.Create(ctx, of) })
		t.Cleanup(func() { _ = s.alpha.Delete(context.Background(), of) })
		s.attack(editor, kind)
	}
	s.arrives("red")
	s.nothingArrived()
}

// attack tries every form of a write of an override policy. One that is harmless is there.
func (s *scene) attack(as *person, kind string) {
	s.Helper()
	name := "harmless"
	where := map[string]any{"instance": "alpha", "namespace": s.namespace}
	if kind == "ClusterOverridePolicy" {
		name = s.namespace
		delete(where, "namespace")
	}
	input := func(more map[string]any) map[string]any {
		out := map[string]any{}
		maps.Copy(out, where)
		maps.Copy(out, more)
		return out
	}
	spec, there := s.read(s.bound(as.user, "REPLACE")), s.policy(kind, name, "{}")
	if err := s.alpha.Get(s.Context(), client.ObjectKeyFromObject(there), there); err != nil {
		s.Fatal(err)
	}
	const first = "spec.overrideRules[0].overriders.plaintext[0].path"
	manifest, _ := yaml.Marshal(s.policy(kind, "attack", s.bound(as.user, "replace")).Object)

	s.T.Run(kind+" by GraphQL", func(t *testing.T) {
		s := &scene{T: t, Fleet: s.Fleet, namespace: s.namespace, alpha: s.alpha, m1: s.m1}
		for _, dryRun := range []bool{true, false} {
			_, errs := s.mutate(as.graphql, "create"+kind, "consistencyToken", input(map[string]any{"name": "attack", "spec": spec, "dryRun": dryRun}))
			s.refusedAt("input."+first, errs)
			_, errs = s.mutate(as.graphql, "update"+kind, "consistencyToken",
				input(map[string]any{"name": name, "spec": spec, "resourceVersion": there.GetResourceVersion(), "dryRun": dryRun}))
			s.refusedAt("input."+first, errs)
		}

		changes, _, _ := unstructured.NestedSlice(s.policy(kind, "", s.bound(as.user, "replace")).Object, "spec", "overrideRules")
		resource := strings.ToLower(strings.TrimSuffix(kind, "Policy")) + "policies"
		patched := input(map[string]any{"group": "policy.karmada.io", "version": "v1alpha1", "resource": resource, "name": name})
		for of, patch := range map[string]any{
			"MERGE": map[string]any{"spec": map[string]any{"overrideRules": changes}},
			"JSON":  []any{map[string]any{"op": "replace", "path": "/spec/overrideRules", "value": changes}},
			"APPLY": map[string]any{"spec": map[string]any{"overrideRules": changes}},
		} {
			patched["type"], patched["patch"], patched["force"] = of, patch, of == "APPLY"
			_, errs := s.mutate(as.graphql, "patchResource", "consistencyToken", patched)
			s.refusedAt(map[string]string{"MERGE": "input.patch.spec", "JSON": "input.patch", "APPLY": "input.patch." + first}[of], errs)
		}

		for _, mutation := range []string{"applyManifests", "deployApplication"} {
			payload, errs := s.mutate(as.graphql, mutation, "results { action error { code argument message } }", map[string]any{"instance": "alpha", "manifests": string(manifest)})
			said, _ := json.Marshal(payload)
			if len(errs) > 0 || !strings.Contains(string(said), `"code":"INVALID"`) || !strings.Contains(string(said), `"argument":"input.manifests[0].`+first+`"`) {
				t.Errorf("%s: got %s and %v", mutation, said, errs)
			}
		}
	})

	for route, reached := range as.routes() {
		s.T.Run(kind+" "+route, func(t *testing.T) {
			s := &scene{T: t, Fleet: s.Fleet, namespace: s.namespace, alpha: s.alpha, m1: s.m1}
			plaintext := func(path string) string {
				return s.seed() + fmt.Sprintf("overrideRules: [{overriders: {plaintext: [{path: %q, operator: replace, value: x}]}}]", path)
			}
			for reason, spec := range map[string]string{
				"the whole attack":                  s.bound(as.user, "replace"),
				"another namespace":                 plaintext("/metadata/namespace"),
				"the metadata as a whole":           plaintext("/metadata"),
				"the object as a whole":             plaintext(""),
				"a path that begins with no slash":  plaintext("spec/kind"),
				"an escaped key of Karmada":         plaintext("/metadata/annotations/work.karmada.io~1conflict-resolution"),
				"an image in the place of a kind":   s.seed() + "overrideRules: [{overriders: {imageOverrider: [{predicate: {path: /kind}, component: Repository, operator: replace, value: secret}]}}]",
				"a document in the place of a name": s.seed() + "overrideRules: [{overriders: {fieldOverrider: [{fieldPath: /metadata/name, json: [{subPath: /a, operator: remove}]}]}}]",
				"a label of Karmada":                s.seed() + "overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {karmada.io/managed: 'true'}}]}}]",
				"an annotation of Karmada":          s.seed() + "overrideRules: [{overriders: {annotationsOverrider: [{operator: add, value: {work.karmada.io/conflict-resolution: overwrite}}]}}]",
				"the deprecated form":               s.seed() + "overriders: {plaintext: [{path: /kind, operator: replace, value: Secret}]}",
			} {
				t.Run(reason, func(t *testing.T) {
					s := &scene{T: t, Fleet: s.Fleet, namespace: s.namespace, alpha: s.alpha, m1: s.m1}
					s.refusedByPolicy(reached.Create(t.Context(), s.policy(kind, "attack", spec)))
					changed := there.DeepCopy()
					changed.Object["spec"] = s.read(spec)
					s.refusedByPolicy(reached.Update(t.Context(), changed))
					merge, _ := json.Marshal(map[string]any{"spec": s.read(spec)})
					s.refusedByPolicy(reached.Patch(t.Context(), there.DeepCopy(), client.RawPatch(types.MergePatchType, merge)))
				})
			}
		})
	}
}

// TestOverridesOfEverydayWork are those that an editor of a namespace needs, from
// GraphQL to the member.
func TestOverridesOfEverydayWork(t *testing.T) {
	s := open(t)
	editor := newPerson(t, v1alpha1.RoleEditor, s.namespace)
	labels := map[string]string{"app": "web"}
	made(t, s.alpha, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example.com/web:1", Args: []string{"--quiet"}}}},
			},
		},
	})
	s.propagate("apps/v1", "Deployment", "web")
	spec := s.read(`{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web, namespace: ` + s.namespace + `}], overrideRules: [{overriders: {
		imageOverrider: [{component: TAG, operator: REPLACE, value: "2"}],
		argsOverrider: [{containerName: web, operator: ADD, value: [--canary]}],
		labelsOverrider: [{operator: ADD, value: [{key: example.com/tier, value: canary}]}],
		annotationsOverrider: [{operator: ADD, value: [{key: example.com/note, value: x}]}],
		plaintext: [{path: /spec/replicas, operator: REPLACE, value: 3}, {path: /metadata/labels/team, operator: ADD, value: a}]}}]}`)
	eventually(t, "the editor writes overrides", func(context.Context) error {
		_, errs := s.mutate(editor.graphql, "createOverridePolicy", "consistencyToken", map[string]any{"instance": "alpha", "namespace": s.namespace, "name": "web", "spec": spec})
		if len(errs) > 0 {
			return fmt.Errorf("%v", errs)
		}
		return nil
	})
	poll.Until(t, within, "the overrides reach the member", func(ctx context.Context) error {
		found := &appsv1.Deployment{}
		if err := s.m1.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "web"}, found); err != nil {
			return err
		}
		container := found.Spec.Template.Spec.Containers[0]
		got := fmt.Sprintln(container.Image, container.Args, found.Labels["example.com/tier"], found.Labels["team"], found.Annotations["example.com/note"], *found.Spec.Replicas)
		if want := fmt.Sprintln("registry.example.com/web:2", "[--quiet --canary]", "canary", "a", "x", 3); got != want {
			return fmt.Errorf("it has %s, want %s", got, want)
		}
		return nil
	})
}

// TestAdminsOverrideAnything tries what editors are refused as an admin of the instance.
func TestAdminsOverrideAnything(t *testing.T) {
	s := open(t)
	admin := newPerson(t, v1alpha1.RoleAdmin)
	for _, kind := range []string{"OverridePolicy", "ClusterOverridePolicy"} {
		for route, reached := range admin.routes() {
			eventually(t, kind+" "+route, func(ctx context.Context) error {
				return reached.Create(ctx, s.policy(kind, "anything", s.bound(admin.user, "replace")), client.DryRunAll)
			})
		}
	}
	_, errs := s.mutate(admin.graphql, "createOverridePolicy", "consistencyToken", map[string]any{
		"instance": "alpha", "namespace": s.namespace, "name": "anything", "spec": s.read(s.bound(admin.user, "REPLACE")), "dryRun": true,
	})
	if len(errs) > 0 {
		t.Errorf("by GraphQL: %v", errs)
	}
	// An admin of a namespace is none of the instance.
	limited := newPerson(t, v1alpha1.RoleAdmin, s.namespace)
	eventually(t, "the admin of a namespace writes overrides", func(ctx context.Context) error {
		return limited.proxied.Create(ctx, s.policy("OverridePolicy", "harmless", s.colored("red", "replace")), client.DryRunAll)
	})
	for _, reached := range limited.routes() {
		s.refusedByPolicy(reached.Create(t.Context(), s.policy("OverridePolicy", "anything", s.bound(limited.user, "replace")), client.DryRunAll))
	}
}
