package controllers_test

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/controllers"
)

// TestBindingsTogether runs all controllers with their real watches and caches.
func TestBindingsTogether(t *testing.T) {
	w := newAccessWorld(t)
	startManager(w.world)
	instance := w.registered("live")
	w.give("alice-live", "live", v1alpha1.RoleViewer)
	defer func() {
		w.must(client.IgnoreNotFound(w.kube.Delete(t.Context(), instance)))
		w.eventually("everything is taken back", func(ctx context.Context) bool {
			return apierrors.IsNotFound(w.kube.Get(ctx, client.ObjectKey{Name: "live"}, &v1alpha1.Instance{}))
		})
	}()

	word := func(ctx context.Context, name string) string {
		binding := &v1alpha1.InstanceRoleBinding{}
		if err := w.kube.Get(ctx, client.ObjectKey{Name: name}, binding); err != nil {
			return ""
		}
		if found := meta.FindStatusCondition(binding.Status.Conditions, ready); found != nil && found.ObservedGeneration == binding.Generation {
			return string(found.Status) + "/" + found.Reason
		}
		return ""
	}
	becomes := func(name, want string) {
		t.Helper()
		w.eventually(name+" is "+want, func(ctx context.Context) bool { w.aggregate(); return word(ctx, name) == want })
	}
	becomes("alice-live", "True/Bound")

	const name = "kairship:binding:alice-live"
	w.must(w.kube.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	w.eventually("what is deleted from the global cluster comes back", func(ctx context.Context) bool {
		return w.kube.Get(ctx, client.ObjectKey{Name: name}, &rbacv1.ClusterRoleBinding{}) == nil
	})
	role := get(w.world, name, &rbacv1.ClusterRole{})
	role.Rules[0].Verbs = []string{"*"}
	w.must(w.kube.Update(t.Context(), role))
	w.eventually("what is changed in the global cluster is put right", func(ctx context.Context) bool {
		w.must(w.kube.Get(ctx, client.ObjectKey{Name: name}, role))
		return role.Rules[0].Verbs[0] == "get"
	})

	// The caches hold nothing of others, so that it is there is found out by the way.
	foreign := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kairship:binding:carol-live"}}
	w.must(w.kube.Create(t.Context(), foreign))
	w.give("carol-live", "live", v1alpha1.RoleViewer)
	becomes("carol-live", "False/NameTaken")
	w.drop("carol-live")
	w.eventually("a binding whose name is taken goes", func(ctx context.Context) bool { return word(ctx, "carol-live") == "" })
	w.must(w.kube.Delete(t.Context(), foreign))

	w.change("alice-live", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = true })
	becomes("alice-live", "False/Revoked")
	w.gone(name, &rbacv1.ClusterRole{})
	w.change("alice-live", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked, spec.Role = false, v1alpha1.RoleAdmin })
	becomes("alice-live", "True/Bound")
	if got := w.grants("alice-live"); len(got) != 1 || got[0] != "* kairship:admin" {
		t.Errorf("the instance has %v", got)
	}
	w.drop("alice-live")
	w.give("erin-live", "live", v1alpha1.RoleEditor)
	becomes("erin-live", "True/Bound")
	w.namespace("live-new")
	w.eventually("an editor of the instance is bound in a namespace that was added", func(ctx context.Context) bool {
		found := &rbacv1.RoleBindingList{}
		w.must(w.inside.List(ctx, found, client.InNamespace("live-new")))
		return len(found.Items) == 1 && found.Items[0].RoleRef.Name == "kairship:namespace-editor"
	})
	w.drop("erin-live")
	w.eventually("a deleted binding goes", func(ctx context.Context) bool { return word(ctx, "alice-live") == "" && word(ctx, "erin-live") == "" })
}

// TestTheRolesCanBeGivenAwayByWhoHoldsThem runs the reconciler as a user with exactly the
// permissions that its kubebuilder markers request: RBAC refuses to write rules that the writer
// does not have.
func TestTheRolesCanBeGivenAwayByWhoHoldsThem(t *testing.T) {
	w := newAccessWorld(t)
	const user = "test:kairship:controller-manager"
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	needed := []rbacv1.PolicyRule{
		rule("kairship.io", "instancerolebindings", "get", "list", "watch", "patch", "delete"),
		rule("kairship.io", "instancerolebindings/status", "patch"),
		rule("kairship.io", "instancerolebindings/finalizers", "update"),
		rule("rbac.authorization.k8s.io", "clusterroles", "get", "list", "watch", "create", "patch", "delete"),
		rule("rbac.authorization.k8s.io", "clusterrolebindings", "get", "list", "watch", "create", "patch", "delete"),
	}
	holder := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test:holder"}, Rules: append(needed, roles.Grantable()...)}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test:holder"},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "test:holder"},
		Subjects:   []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: user}},
	}
	w.must(w.kube.Create(t.Context(), holder))
	w.must(w.kube.Create(t.Context(), binding))
	defer func() {
		w.must(w.kube.Delete(t.Context(), holder))
		w.must(w.kube.Delete(t.Context(), binding))
	}()
	config := apitest.Config(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	asHolder, err := client.New(config, client.Options{Scheme: controllers.Scheme()})
	w.must(err)
	w.bind.Client, w.bind.Live = asHolder, asHolder

	defer w.leaveNothing("held")
	for _, role := range v1alpha1.Roles() {
		for _, namespaces := range [][]string{nil, {"shop"}} {
			name := "held-" + string(role)
			w.give(name, "held", role, namespaces...)
			w.eventually("the role may be given away", func(context.Context) bool { // RBAC reads its rules from a cache.
				_, err := w.bind.Reconcile(t.Context(), named(name))
				return err == nil || !apierrors.IsForbidden(err)
			})
			w.wantBinding(name, globalReady, "True/Bound")
			w.drop(name)
			w.bindOne(name)
		}
	}

	holder.Rules = needed
	w.must(w.kube.Update(t.Context(), holder))
	w.give("held-refused", "held", v1alpha1.RoleViewer)
	w.eventually("a role that is not held is refused", func(context.Context) bool {
		_, err := w.bind.Reconcile(t.Context(), named("held-refused"))
		if err == nil {
			w.must(client.IgnoreNotFound(w.kube.Delete(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kairship:binding:held-refused"}})))
		}
		return apierrors.IsForbidden(err)
	})
	w.wantBinding("held-refused", globalReady, "False/NotAllowed", "kairship-controller-manager", "instances/resources")
}
