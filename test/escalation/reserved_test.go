package escalation

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// reserved are namespaces that every instance has, and that hold keys of its members.
var reserved = []string{"karmada-cluster", "karmada-system", "karmada-es-m1", "kube-system"}

// TestEditorsReachNoReservedNamespace takes the credentials of the members, which lie in
// a namespace of the instance, on every way that an editor of the instance has.
func TestEditorsReachNoReservedNamespace(t *testing.T) {
	f := fleet.Open(t)
	alpha, ns := f.Client(t, "alpha"), namespace(t, "alpha")
	member := &clusterv1alpha1.Cluster{}
	if err := alpha.Get(t.Context(), client.ObjectKey{Name: "m1"}, member); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKey{Namespace: member.Spec.SecretRef.Namespace, Name: member.Spec.SecretRef.Name}
	secret := &corev1.Secret{}
	if err := alpha.Get(t.Context(), key, secret); err != nil {
		t.Fatalf("the credentials of m1: %v", err)
	}
	token := string(secret.Data["token"])
	made(t, alpha, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "own"}, StringData: map[string]string{"a": "b"}})

	editor, admin := newPerson(t, v1alpha1.RoleEditor), newPerson(t, v1alpha1.RoleAdmin)
	for route, reached := range editor.routes() {
		t.Run(route, func(t *testing.T) {
			eventually(t, "the role is in effect", func(ctx context.Context) error {
				return reached.Get(ctx, client.ObjectKey{Namespace: ns, Name: "own"}, &corev1.Secret{})
			})
			refused := func(what string, err error) {
				t.Helper()
				if !apierrors.IsForbidden(err) {
					t.Errorf("%s: got %v, want Forbidden", what, err)
				}
			}
			refused("read m1's credentials", reached.Get(t.Context(), key, &corev1.Secret{}))
			refused("list the Secrets of all namespaces", reached.List(t.Context(), &corev1.SecretList{}))
			// A write that changes nothing answers with the whole object.
			nothing := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			refused("patch m1's credentials with nothing", reached.Patch(t.Context(), nothing, client.RawPatch(types.MergePatchType, []byte(`{}`))))
			for _, namespace := range reserved {
				object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
				label := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}`))
				refused("delete the Namespace "+namespace, reached.Delete(t.Context(), object.DeepCopy(), client.DryRunAll))
				refused("change the Namespace "+namespace, reached.Patch(t.Context(), object.DeepCopy(), label, client.DryRunAll))
				refused("list the Secrets of "+namespace, reached.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace)))
				refused("write into "+namespace, reached.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x"}}, client.DryRunAll))
				refused("be a ServiceAccount of "+namespace, reached.SubResource("token").Create(t.Context(),
					&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}, &authenticationv1.TokenRequest{}))
			}
			refused("list the Works of m1", reached.List(t.Context(), &workv1alpha1.WorkList{}, client.InNamespace("karmada-es-m1")))
			label := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"team": "shop"}}}`))
			if err := reached.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, label, client.DryRunAll); err != nil {
				t.Errorf("an editor does not change another Namespace any more: %v", err)
			}
			// Karmada would connect there with that Secret.
			elsewhere := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"apiEndpoint": "https://192.0.2.1"}}`))
			refused("lead m1 elsewhere", reached.Patch(t.Context(), member.DeepCopy(), elsewhere, client.DryRunAll))
			refused("remove m1", reached.Delete(t.Context(), member.DeepCopy(), client.DryRunAll))
		})
	}

	const values = `query Values($namespace: String!) {
		instance(name: "alpha") { resources(version: "v1", resource: "secrets", namespace: $namespace) { nodes { name manifest } } }
	}`
	type answer struct {
		Instance struct {
			Resources struct {
				Nodes []struct {
					Name     string
					Manifest any
				}
			}
		}
	}
	found, _, err := gql.Query[answer](t.Context(), editor.graphql, values, map[string]any{"namespace": key.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(found); strings.Contains(text, token) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(token))) {
		t.Error("Kairship's API shows an editor the credentials of the members")
	}
	for route, reached := range admin.routes() {
		eventually(t, "an admin changes their Namespace "+route, func(ctx context.Context) error {
			object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}}
			return reached.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"team": "shop"}}}`)), client.DryRunAll)
		})
		eventually(t, "an admin reads them "+route, func(ctx context.Context) error { return reached.Get(ctx, key, &corev1.Secret{}) })
	}

	// What editors do with members goes through Kairship, which changes no more than that.
	type cordoned struct {
		CordonMemberCluster struct{ MemberCluster struct{ Name string } }
	}
	if _, _, err := gql.Query[cordoned](t.Context(), editor.graphql,
		`mutation { cordonMemberCluster(input: { instance: "alpha", name: "m1", dryRun: true }) { memberCluster { name } } }`, nil); err != nil {
		t.Errorf("an editor does not cordon a member any more: %v", err)
	}
}

// TestEditorsWorkInNewNamespaces makes a namespace and writes into it in the next
// request, by Kairship's API.
func TestEditorsWorkInNewNamespaces(t *testing.T) {
	f, editor, name := fleet.Open(t), newPerson(t, v1alpha1.RoleEditor), unique()
	t.Cleanup(func() {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := client.IgnoreNotFound(f.Client(t, "alpha").Delete(context.Background(), ns)); err != nil {
			t.Error(err)
		}
	})
	type created struct {
		CreateNamespace struct{ Namespace struct{ Name string } }
	}
	if _, _, err := gql.Query[created](t.Context(), editor.graphql,
		`mutation New($name: String!) { createNamespace(input: { instance: "alpha", name: $name }) { namespace { name } } }`, map[string]any{"name": name}); err != nil {
		t.Fatal(err)
	}
	type applied struct {
		ApplyManifests struct{ Applied bool }
	}
	written, _, err := gql.Query[applied](t.Context(), editor.graphql,
		`mutation Write($name: String!, $yaml: String!) { applyManifests(input: { instance: "alpha", namespace: $name, manifests: $yaml }) { applied } }`,
		map[string]any{"name": name, "yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: first}\n"})
	if err != nil || !written.ApplyManifests.Applied {
		t.Errorf("the next request: %+v, %v", written, err)
	}
	for route, reached := range editor.routes() {
		eventually(t, "an editor reads what is there "+route, func(ctx context.Context) error {
			return reached.Get(ctx, client.ObjectKey{Namespace: name, Name: "first"}, &corev1.Secret{})
		})
	}
}
