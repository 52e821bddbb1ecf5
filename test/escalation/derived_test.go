package escalation

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestEditorsWriteNothingThatKarmadaAppliesAsItIs tries to write what Karmada makes of
// policies, limits and admission, in an instance where Karmada's own installer has added
// its rules to Kubernetes' roles.
func TestEditorsWriteNothingThatKarmadaAppliesAsItIs(t *testing.T) {
	f := fleet.Open(t)
	alpha, ns := f.Client(t, "alpha"), namespace(t, "alpha")
	made(t, alpha, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: unique(), Labels: map[string]string{
			"kubernetes.io/bootstrapping": "rbac-defaults", "rbac.authorization.k8s.io/aggregate-to-edit": "true",
		}},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"work.karmada.io"}, Resources: []string{"resourcebindings", "works"}, Verbs: []string{"create", "delete", "deletecollection", "patch", "update"}},
			{APIGroups: []string{"policy.karmada.io"}, Resources: []string{"overridepolicies", "federatedresourcequotas"}, Verbs: []string{"create", "patch", "update"}},
		},
	})
	object := func(version, kind, namespace, name string, spec any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "spec": spec}}
		u.SetNamespace(namespace)
		u.SetName(name)
		return u
	}
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "namespace": "kube-system", "name": "any"}
	policy := object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", overrides.Name, nil)
	inForce := object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "", overrides.Name, nil)

	for who, p := range map[string]*person{
		"an editor of a namespace": newPerson(t, v1alpha1.RoleEditor, ns), "an admin of a namespace": newPerson(t, v1alpha1.RoleAdmin, ns), "an editor of the instance": newPerson(t, v1alpha1.RoleEditor),
	} {
		for route, reached := range p.routes() {
			t.Run(who+" "+route, func(t *testing.T) {
				eventually(t, "the role is in effect", func(ctx context.Context) error {
					return reached.Create(ctx, object("v1", "ConfigMap", ns, "x", nil), client.DryRunAll)
				})
				refused := func(what string, err error) {
					t.Helper()
					if !apierrors.IsForbidden(err) {
						t.Errorf("%s: got %v, want Forbidden", what, err)
					}
				}
				for what, o := range map[string]*unstructured.Unstructured{
					"a binding of another namespace's object": object("work.karmada.io/v1alpha2", "ResourceBinding", ns, "x", map[string]any{"resource": secret, "clusters": []any{map[string]any{"name": "m1"}}}),
					"a binding of an object without one":      object("work.karmada.io/v1alpha2", "ClusterResourceBinding", "", "x", map[string]any{"resource": secret}),
					"a Work":                                  object("work.karmada.io/v1alpha1", "Work", "karmada-es-m1", "x", map[string]any{"workload": map[string]any{"manifests": []any{}}}),
					"a Work in the own namespace":             object("work.karmada.io/v1alpha1", "Work", ns, "x", map[string]any{"workload": map[string]any{"manifests": []any{}}}),
					"a quota over all members":                object("policy.karmada.io/v1alpha1", "FederatedResourceQuota", ns, "x", map[string]any{"overall": map[string]any{"cpu": "1"}}),
					"a quota":                                 object("v1", "ResourceQuota", ns, "x", map[string]any{}),
					"a ClusterRole":                           object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "x", nil),
					"a ClusterRoleBinding":                    object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "x", nil),
					"an admission policy":                     object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", "x.example.com", map[string]any{}),
				} {
					refused("create "+what, reached.Create(t.Context(), o, client.DryRunAll))
				}
				for _, o := range []*unstructured.Unstructured{policy, inForce} {
					refused("delete the "+o.GetKind()+" for overrides", reached.Delete(t.Context(), o.DeepCopy()))
					patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"app.kubernetes.io/managed-by": "x"}}}`))
					refused("change the "+o.GetKind()+" for overrides", reached.Patch(t.Context(), o.DeepCopy(), patch))
				}
			})
		}
	}
}
