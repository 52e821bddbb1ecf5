package overrides_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
)

func TestMain(m *testing.M) { os.Exit(apitest.Run(m, apitest.WithKarmadaPolicies())) }

// kinds are the kinds that the policy is about, as objects without a spec.
var kinds = []struct{ kind, namespace string }{{"OverridePolicy", "default"}, {"ClusterOverridePolicy", ""}}

func policyOf(t *testing.T, kind, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	if content["overriders"] == nil {
		content["overriders"] = map[string]any{} // Clients in Go send it always.
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "policy.karmada.io/v1alpha1", "kind": kind, "spec": content}}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// world is an API server with the policy in force.
type world struct {
	root, editor, admin client.Client
}

func open(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	as := func(user string) client.Client {
		config := apitest.Config(t)
		if user != "" {
			config.Impersonate = rest.ImpersonationConfig{UserName: user}
		}
		c, err := client.New(config, client.Options{Scheme: scheme})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	w := &world{root: as(""), editor: as("editor"), admin: as("admin")}
	write := []rbacv1.PolicyRule{{
		APIGroups: []string{"policy.karmada.io"}, Resources: []string{"overridepolicies", "clusteroverridepolicies"},
		Verbs: []string{"get", "create", "update", "patch", "delete"},
	}}
	bypass := append([]rbacv1.PolicyRule{{APIGroups: []string{"kairship.io"}, Resources: []string{overrides.Resource}, Verbs: []string{overrides.Bypass}}}, write...)
	for name, rules := range map[string][]rbacv1.PolicyRule{"editor": write, "admin": bypass} {
		w.create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name + "-of-overrides"}, Rules: rules})
		w.create(t, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name + "-of-overrides"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name + "-of-overrides"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		})
	}
	w.create(t, overrides.Policy())
	w.create(t, overrides.Binding())
	// The API server enforces a policy once its watch has brought it.
	beyond := one("plaintext: [{path: /kind, operator: replace, value: Secret}]")
	for _, k := range kinds {
		w.eventually(t, "the policy is in force for "+k.kind, func(ctx context.Context) bool {
			err := w.editor.Create(ctx, policyOf(t, k.kind, k.namespace, "probe", beyond), client.DryRunAll)
			return err != nil && strings.Contains(err.Error(), overrides.Name)
		})
		w.eventually(t, "the admin is known", func(ctx context.Context) bool {
			return w.admin.Create(ctx, policyOf(t, k.kind, k.namespace, "probe", beyond), client.DryRunAll) == nil
		})
	}
	return w
}

func (w *world) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := w.root.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(w.root.Delete(context.Background(), object)); err != nil {
			t.Error(err)
		}
	})
}

func (w *world) eventually(t *testing.T, what string, done func(ctx context.Context) bool) {
	t.Helper()
	poll.True(t, time.Minute, what, func() bool { return done(t.Context()) })
}

// refused checks that an error is that of the policy, where one is wanted.
func refused(t *testing.T, err error, want bool) {
	t.Helper()
	switch {
	case !want && err != nil:
		t.Errorf("refused: %v", err)
	case want && err == nil:
		t.Error("the write was accepted")
	case want && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), overrides.Name) || strings.Contains(err.Error(), "resulted in error")):
		t.Errorf("refused in another way: %v", err)
	}
}

// TestPolicyAgreesWithCheck has an API server judge the cases of Check.
func TestPolicyAgreesWithCheck(t *testing.T) {
	w := open(t)
	for _, k := range kinds {
		for _, c := range cases() {
			t.Run(k.kind+": "+c.reason, func(t *testing.T) {
				err := w.editor.Create(t.Context(), policyOf(t, k.kind, k.namespace, "x", c.spec), client.DryRunAll)
				refused(t, err, len(c.wrong) > 0)
				refused(t, w.admin.Create(t.Context(), policyOf(t, k.kind, k.namespace, "x", c.spec), client.DryRunAll), false)
			})
		}
	}
}

func TestPolicyJudgesChanges(t *testing.T) {
	w := open(t)
	const beyond = `[{"path": "/kind", "operator": "replace", "value": "Secret"}]`
	within := one("plaintext: [{path: /data/a, operator: remove}]")
	for _, k := range kinds {
		t.Run(k.kind, func(t *testing.T) {
			stored := policyOf(t, k.kind, k.namespace, "changed", within)
			w.create(t, stored)

			changed := stored.DeepCopy()
			changed.Object["spec"] = policyOf(t, k.kind, k.namespace, "", one("plaintext: "+beyond)).Object["spec"]
			refused(t, w.editor.Update(t.Context(), changed), true)
			for of, patch := range map[types.PatchType]string{
				types.MergePatchType: fmt.Sprintf(`{"spec": {"overrideRules": [{"overriders": {"plaintext": %s}}]}}`, beyond),
				types.JSONPatchType:  fmt.Sprintf(`[{"op": "replace", "path": "/spec/overrideRules/0/overriders/plaintext", "value": %s}]`, beyond),
				types.ApplyPatchType: fmt.Sprintf(`{"apiVersion": "policy.karmada.io/v1alpha1", "kind": %q, "metadata": {"name": "changed"}, "spec": {"overriders": {"plaintext": %s}}}`, k.kind, beyond),
			} {
				options := []client.PatchOption{client.FieldOwner("test")}
				if of == types.ApplyPatchType {
					options = append(options, client.ForceOwnership)
				}
				refused(t, w.editor.Patch(t.Context(), stored.DeepCopy(), client.RawPatch(of, []byte(patch)), options...), true)
			}
			refused(t, w.admin.Update(t.Context(), changed.DeepCopy(), client.DryRunAll), false)

			// Other users may write the policy of an admin if they do not change the spec.
			if err := w.admin.Update(t.Context(), changed); err != nil {
				t.Fatal(err)
			}
			finalizer := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": ["example.com/x"]}}`))
			refused(t, w.editor.Patch(t.Context(), changed.DeepCopy(), finalizer), false)
			refused(t, w.editor.Patch(t.Context(), changed.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": []}}`))), false)
			refused(t, w.editor.Patch(t.Context(), changed.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec": {"resourceSelectors": []}}`))), true)
		})
	}
}

// TestPolicyJudgesManyChanges writes as many changes as a person ever will: what an API
// server spends on a policy is limited, and beyond that it refuses.
func TestPolicyJudgesManyChanges(t *testing.T) {
	w := open(t)
	const many = 1000
	changes := make([]string, many)
	for i := range changes {
		changes[i] = fmt.Sprintf("{path: /spec/template/spec/containers/0/env/%d/value, operator: replace, value: a value of some length}", i)
	}
	spec := configMaps + "overrideRules: [{overriders: {plaintext: [" + strings.Join(changes, ", ") + "]}}]"
	refused(t, w.editor.Create(t.Context(), policyOf(t, "OverridePolicy", "default", "many", spec), client.DryRunAll), false)
	changes[many-1] = "{path: /kind, operator: replace, value: Secret}"
	spec = configMaps + "overrideRules: [{overriders: {plaintext: [" + strings.Join(changes, ", ") + "]}}]"
	refused(t, w.editor.Create(t.Context(), policyOf(t, "OverridePolicy", "default", "many", spec), client.DryRunAll), true)
}

// TestPolicyRefusesOverridersOfLaterVersions gives the kind an overrider that the policy
// does not know.
func TestPolicyRefusesOverridersOfLaterVersions(t *testing.T) {
	w := open(t)
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "overridepolicies.policy.karmada.io"}}
	later, _ := json.Marshal([]map[string]any{{
		"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/overrideRules/items/properties/overriders/properties/later",
		"value": map[string]any{"type": "string"},
	}})
	if err := w.root.Patch(t.Context(), crd, client.RawPatch(types.JSONPatchType, later)); err != nil {
		t.Fatal(err)
	}
	policy := policyOf(t, "OverridePolicy", "default", "later", one("later: x"))
	w.eventually(t, "the kind has its new field", func(ctx context.Context) bool {
		stored := policy.DeepCopy()
		if err := w.root.Create(ctx, stored, client.DryRunAll); err != nil {
			return false
		}
		rules, _, _ := unstructured.NestedSlice(stored.Object, "spec", "overrideRules")
		return strings.Contains(fmt.Sprint(rules), "later")
	})
	refused(t, w.editor.Create(t.Context(), policy.DeepCopy(), client.DryRunAll), true)
	refused(t, w.admin.Create(t.Context(), policy.DeepCopy(), client.DryRunAll), false)
}
