package controllers_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/controllers"
)

// TestReservedNamespacesAreForAdmins has an editor and an admin of an instance write
// Namespaces there.
func TestReservedNamespacesAreForAdmins(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("reserved")
	defer w.leaveNothing("reserved")
	w.give("alice-reserved", "reserved", v1alpha1.RoleEditor)
	w.must(w.kube.Create(t.Context(), &v1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "dave-reserved"},
		Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: "reserved"}, Role: v1alpha1.RoleAdmin,
			Subject: v1alpha1.BindingSubject{Kind: v1alpha1.SubjectUser, Name: "dave"},
		},
	}))
	w.namespace("reserved-shop")
	for _, name := range []string{"karmada-cluster", "karmada-es-m1", "kube-lease"} {
		w.namespace(name)
	}
	w.reconcileAccess("reserved")
	w.wantBinding("alice-reserved", ready, "True/Bound")

	as := func(user string) client.Client {
		config := rest.CopyConfig(apitest.OtherConfig(t))
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
		made, err := client.New(config, client.Options{Scheme: controllers.Scheme()})
		w.must(err)
		return made
	}
	alice, dave := as("alice"), as("dave")
	named := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`))
	apply := client.RawPatch(types.ApplyPatchType, []byte(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"labels": {"a": "b"}}}`))
	writes := map[string]func(as client.Client, name string) error{
		"patch": func(as client.Client, name string) error {
			return as.Patch(t.Context(), named(name), label, client.DryRunAll)
		},
		"apply": func(as client.Client, name string) error {
			return as.Patch(t.Context(), named(name), apply, client.DryRunAll, client.FieldOwner("test"))
		},
		"update": func(as client.Client, name string) error {
			stored := named(name)
			w.must(w.inside.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))
			stored.Labels["a"] = "b"
			return as.Update(t.Context(), stored, client.DryRunAll)
		},
		"delete": func(as client.Client, name string) error {
			return as.Delete(t.Context(), named(name), client.DryRunAll)
		},
	}
	byPolicy := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), roles.ReservedPolicyName)
	}
	w.eventuallyAnswers("the policy is in force", true, func() bool { return byPolicy(writes["patch"](alice, "kube-system")) })
	w.eventuallyAnswers("the admin is exempt", true, func() bool { return writes["patch"](dave, "kube-system") == nil })
	for what, write := range writes {
		for _, name := range []string{"kube-system", "kube-lease", "karmada-cluster", "karmada-es-m1"} {
			// The API server itself keeps kube-system from being deleted.
			lifecycle := what == "delete" && name == "kube-system"
			if err := write(alice, name); !byPolicy(err) && (!lifecycle || !apierrors.IsForbidden(err)) {
				t.Errorf("an editor: %s %s: got %v, want the refusal of %s", what, name, err, roles.ReservedPolicyName)
			}
			if err := write(dave, name); err != nil && !lifecycle {
				t.Errorf("an admin: %s %s: %v", what, name, err)
			}
		}
		if err := write(alice, "reserved-shop"); err != nil {
			t.Errorf("an editor: %s another namespace: %v", what, err)
		}
	}
	if err := alice.Create(t.Context(), named("karmada-es-new"), client.DryRunAll); !byPolicy(err) {
		t.Errorf("an editor makes a reserved namespace: %v", err)
	}
	if err := alice.Create(t.Context(), named("reserved-new"), client.DryRunAll); err != nil {
		t.Errorf("an editor makes another one: %v", err)
	}
}

// TestNamespacesAreWrittenOnlyWhereTheyAreLimited takes the admission policy away.
func TestNamespacesAreWrittenOnlyWhereTheyAreLimited(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("unlimited")
	defer w.leaveNothing("unlimited")
	w.door.refuseWith(func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/"+roles.ReservedPolicyName) {
			return http.StatusForbidden
		}
		return 0
	})
	w.give("alice-unlimited", "unlimited", v1alpha1.RoleEditor)
	w.reconcileAccess("unlimited")
	w.wantBinding("alice-unlimited", instanceReady, "False/NamespacesWithheld", "without the right to write Namespaces", "does not let its credentials write")
	may := func(resource, group string) func() bool {
		return func() bool { return w.may(w.inside, "delete", group, resource, "", "", "kube-system") }
	}
	w.eventuallyAnswers("an editor deletes Namespaces", false, may("namespaces", ""))
	w.eventuallyAnswers("an editor writes what another policy limits", true, may("clusteroverridepolicies", "policy.karmada.io"))

	w.door.open()
	again := w.lookInside("unlimited").RequeueAfter
	if err := w.inside.Get(context.Background(), client.ObjectKey{Name: "kairship:instance-namespace-editor"}, &rbacv1.ClusterRole{}); !apierrors.IsNotFound(err) || again <= 0 {
		t.Errorf("editors write Namespaces, which may not be limited yet: %v; the next look is after %v", err, again)
	}
	w.reconcileAccess("unlimited")
	w.wantBinding("alice-unlimited", ready, "True/Bound")
	w.eventuallyAnswers("an editor deletes Namespaces", true, may("namespaces", ""))
}
