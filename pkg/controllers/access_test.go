package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/overrides"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

const (
	globalReady   = v1alpha1.ConditionGlobalReady
	instanceReady = v1alpha1.ConditionInstanceReady
	ready         = v1alpha1.ConditionReady
)

// eventuallyAnswers waits for an answer that has just changed: a server hears of the rules
// that were written a moment later.
func (w *accessWorld) eventuallyAnswers(question string, want bool, may func() bool) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s %v", question, want), func(context.Context) bool { return may() == want })
}

func TestABindingTakesEffectAndIsTakenBack(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("bound")
	defer w.leaveNothing("bound")
	binding := w.give("alice-bound", "bound", v1alpha1.RoleEditor)
	w.reconcileAccess("bound")

	for _, condition := range []string{globalReady, instanceReady, ready} {
		w.wantBinding("alice-bound", condition, "True/Bound")
	}
	role := get(w.world, "kairship:binding:alice-bound", &rbacv1.ClusterRole{})
	if diff := cmp.Diff(roles.Global(v1alpha1.RoleEditor, "bound", nil), role.Rules); diff != "" {
		t.Errorf("rules in the global cluster (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"app.kubernetes.io/managed-by": "kairship", "kairship.io/instance": "bound",
		"kairship.io/role-binding": "alice-bound", "kairship.io/owner-uid": string(binding.UID),
	}, role.Labels); diff != "" {
		t.Errorf("labels in the global cluster (-want +got):\n%s", diff)
	}
	if owner := metav1.GetControllerOf(role); owner == nil || owner.UID != binding.UID {
		t.Errorf("the binding does not control its ClusterRole: %+v", owner)
	}
	if diff := cmp.Diff([]string{"* kairship:editor"}, w.grants("alice-bound")); diff != "" {
		t.Errorf("bindings in the instance (-want +got):\n%s", diff)
	}

	check := func(reason string, want bool) {
		t.Helper()
		for what, may := range map[string]func() bool{
			"know of the instance":           func() bool { return w.may(w.kube, "get", "kairship.io", "instances", "", "", "bound") },
			"write, says the global cluster": func() bool { return w.may(w.kube, "create", "kairship.io", "instances", "resources", "", "bound") },
			"write, says the instance":       func() bool { return w.may(w.inside, "create", "apps", "deployments", "", "default", "") },
			"write what has no namespace": func() bool {
				return w.may(w.inside, "delete", "policy.karmada.io", "clusterpropagationpolicies", "", "", "x")
			},
		} {
			w.eventuallyAnswers(fmt.Sprintf("%s: may alice %s?", reason, what), want, may)
		}
	}
	check("bound", true)
	for what, may := range map[string]bool{
		"another instance":      w.may(w.kube, "get", "kairship.io", "instances", "", "", "other"),
		"who has which role":    w.may(w.kube, "create", "kairship.io", "instances", "access", "", "bound"),
		"access there":          w.may(w.inside, "create", "rbac.authorization.k8s.io", "clusterroles", "", "", ""),
		"what is not mentioned": w.may(w.inside, "create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "", ""),
	} {
		if may {
			t.Errorf("an editor may not touch %s", what)
		}
	}

	w.wantRecorded("bound", "instance-access CREATE InstanceRoleBinding alice-bound of bound", "instance-role-binding CREATE InstanceRoleBinding alice-bound of bound")
	t.Run("what is settled is not written again, and looked at with eight requests", func(t *testing.T) {
		writes, reads := w.writes.Load()+w.door.writes.Load(), w.door.reads.Load()
		for range 3 {
			w.lookInside("bound")
			w.bindOne("alice-bound")
		}
		if now := w.writes.Load() + w.door.writes.Load(); now != writes {
			t.Errorf("%d writes, want none", now-writes)
		}
		if now := w.door.reads.Load() - reads; now != 24 {
			t.Errorf("%d reads, want 8 for each look: the namespaces for editors of the instance", now)
		}
	})

	w.wantRecorded("settled")
	w.change("alice-bound", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = true })
	w.bindOne("alice-bound")
	w.wantBinding("alice-bound", ready, "False/Revoking")
	w.reconcileAccess("bound")
	w.wantRecorded("revoked", "instance-access DELETE InstanceRoleBinding alice-bound of bound", "instance-role-binding DELETE InstanceRoleBinding alice-bound of bound")
	check("revoked", false)
	w.wantBinding("alice-bound", globalReady, "False/Revoked")
	w.wantBinding("alice-bound", instanceReady, "False/Revoked")
	w.wantBinding("alice-bound", ready, "False/Revoked", "nothing is left")
	w.gone("kairship:binding:alice-bound", &rbacv1.ClusterRole{})
	w.gone("kairship:binding:alice-bound", &rbacv1.ClusterRoleBinding{})
	revoked := get(w.world, "alice-bound", &v1alpha1.InstanceRoleBinding{})
	if len(revoked.Finalizers) > 0 || revoked.Status.RevokedAt == nil {
		t.Errorf("a revoked binding holds on to nothing and knows since when: %v, %v", revoked.Finalizers, revoked.Status.RevokedAt)
	}

	w.change("alice-bound", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = false })
	w.reconcileAccess("bound")
	check("given back", true)
	if again := get(w.world, "alice-bound", &v1alpha1.InstanceRoleBinding{}); again.Status.RevokedAt != nil {
		t.Errorf("a role that was given back is still called revoked since %v", again.Status.RevokedAt)
	}

	w.drop("alice-bound")
	w.reconcileAccess("bound")
	check("deleted", false)
	w.gone("alice-bound", &v1alpha1.InstanceRoleBinding{})
}

func TestRevokedBindingsAreRememberedForAWhile(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("memory")
	defer w.leaveNothing("memory")
	w.give("alice-memory", "memory", v1alpha1.RoleViewer)
	w.reconcileAccess("memory")
	w.change("alice-memory", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = true })
	w.reconcileAccess("memory")
	live := w.bind.Live
	w.bind.Live = nil // Many may be remembered, and each must be free.
	if left := w.bindOne("alice-memory").RequeueAfter; left <= 0 || left > time.Hour {
		t.Errorf("it is looked at again after %v, want within the retention of an hour", left)
	}
	w.bind.Live = live

	w.bind.Retention = time.Nanosecond
	stale := get(w.world, "alice-memory", &v1alpha1.InstanceRoleBinding{})
	w.bind.Client = outdated{Client: w.bind.Client, binding: stale}
	w.change("alice-memory", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = false })
	w.bindOne("alice-memory")
	get(w.world, "alice-memory", &v1alpha1.InstanceRoleBinding{}) // The cache did not know that it was given back.

	w.bind.Client = w.bind.Client.(outdated).Client //nolint:forcetypeassert // it was put there above
	w.change("alice-memory", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = true })
	w.eventually("it is removed once the second of its revocation is over", func(ctx context.Context) bool {
		w.reconcileAccess("memory")
		return apierrors.IsNotFound(w.kube.Get(ctx, client.ObjectKey{Name: "alice-memory"}, &v1alpha1.InstanceRoleBinding{}))
	})
}

func TestABindingInNamespaces(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("spaces")
	defer w.leaveNothing("spaces")
	for _, name := range []string{"spaces-shop", "spaces-ops"} {
		w.namespace(name)
	}
	want := func(reason string, grants ...string) {
		t.Helper()
		if diff := cmp.Diff(grants, w.grants("alice-spaces")); diff != "" {
			t.Errorf("%s: bindings in the instance (-want +got):\n%s", reason, diff)
		}
	}
	w.give("alice-spaces", "spaces", v1alpha1.RoleViewer, "spaces-shop", "spaces-later")
	w.reconcileAccess("spaces")
	want("a namespace that exists", "spaces-shop kairship:viewer")
	w.wantBinding("alice-spaces", instanceReady, "False/NamespacesMissing", "1 of 2 namespaces", "spaces-later")
	w.wantBinding("alice-spaces", ready, "False/NamespacesMissing")
	if retry := w.lookInside("spaces").RequeueAfter; retry <= 0 || retry > time.Minute {
		t.Errorf("a missing namespace is looked for after %v", retry)
	}
	for what, may := range map[string]func() bool{
		"read there": func() bool { return w.may(w.inside, "list", "apps", "deployments", "", "spaces-shop", "") },
		"read policies there": func() bool {
			return w.may(w.inside, "list", "policy.karmada.io", "propagationpolicies", "", "spaces-shop", "")
		},
		"say so globally": func() bool {
			return w.may(w.kube, "list", "kairship.io", "instances", "namespaces", "", "spaces:spaces-shop")
		},
	} {
		w.eventuallyAnswers(fmt.Sprintf("may alice %s?", what), true, may)
	}
	for what, may := range map[string]bool{
		"read elsewhere":       w.may(w.inside, "list", "apps", "deployments", "", "spaces-ops", ""),
		"read everywhere":      w.may(w.inside, "list", "apps", "deployments", "", "", ""),
		"read Secrets there":   w.may(w.inside, "get", "", "secrets", "", "spaces-shop", "x"),
		"read Works there":     w.may(w.inside, "get", "work.karmada.io", "works", "", "spaces-shop", "x"),
		"say so of the others": w.may(w.kube, "list", "kairship.io", "instances", "namespaces", "", "spaces:spaces-ops"),
		"say so of the whole":  w.may(w.kube, "list", "kairship.io", "instances", "resources", "", "spaces"),
	} {
		if may {
			t.Errorf("may alice %s? true, want false", what)
		}
	}

	w.namespace("spaces-later")
	w.reconcileAccess("spaces")
	want("the namespace has appeared", "spaces-later kairship:viewer", "spaces-shop kairship:viewer")
	w.wantBinding("alice-spaces", ready, "True/Bound")

	w.change("alice-spaces", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Role = v1alpha1.RoleEditor })
	w.reconcileAccess("spaces")
	want("another role", "spaces-later kairship:namespace-editor", "spaces-shop kairship:namespace-editor")
	w.eventuallyAnswers("may alice write there?", true, func() bool { return w.may(w.inside, "create", "apps", "deployments", "", "spaces-shop", "") })
	if w.may(w.inside, "delete", "", "namespaces", "", "spaces-shop", "spaces-shop") {
		t.Error("an editor of a namespace may delete it")
	}

	w.change("alice-spaces", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Namespaces = []string{"spaces-ops", "spaces-shop"} })
	w.reconcileAccess("spaces")
	want("other namespaces", "spaces-ops kairship:namespace-editor", "spaces-shop kairship:namespace-editor")

	w.change("alice-spaces", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Namespaces = nil })
	w.reconcileAccess("spaces")
	want("the whole instance", "* kairship:editor")

	w.change("alice-spaces", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Namespaces = []string{"spaces-ops"} })
	w.reconcileAccess("spaces")
	want("one namespace again", "spaces-ops kairship:namespace-editor")
}

func TestFiftyBindingsCostAsManyReadsAsOne(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("many")
	defer w.leaveNothing("many")
	w.namespace("many-shop")
	for i := range 50 {
		name := fmt.Sprintf("many-%d", i)
		if i%2 == 0 {
			w.give(name, "many", v1alpha1.RoleViewer)
		} else {
			w.give(name, "many", v1alpha1.RoleEditor, "many-shop")
		}
	}
	w.reconcileAccess("many")
	w.wantBinding("many-0", ready, "True/Bound")
	w.wantBinding("many-49", ready, "True/Bound")
	reads := w.door.reads.Load()
	w.lookInside("many")
	if now := w.door.reads.Load() - reads; now != 7 {
		t.Errorf("a look cost %d reads, want 7", now)
	}
}

// TestDriftIsRepaired changes what was written, one thing at a time.
func TestDriftIsRepaired(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("drift")
	defer w.leaveNothing("drift")
	w.namespace("drift-shop")
	w.give("alice-drift", "drift", v1alpha1.RoleViewer)
	w.give("alice-drift-shop", "drift", v1alpha1.RoleEditor, "drift-shop")
	w.reconcileAccess("drift")
	snapshot := func() map[string]any {
		t.Helper()
		found := map[string]any{}
		for where, kube := range map[string]client.Client{"global": w.kube, "inside": w.inside} {
			roleList, wide, narrow := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
			ours := client.MatchingLabels{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue}
			w.must(kube.List(t.Context(), roleList, ours))
			w.must(kube.List(t.Context(), wide, ours))
			w.must(kube.List(t.Context(), narrow, ours))
			policies, inForce := &admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{}
			w.must(kube.List(t.Context(), policies, ours))
			w.must(kube.List(t.Context(), inForce, ours))
			for _, item := range policies.Items {
				found[where+" policy "+item.Name] = []any{item.Labels, item.Spec}
			}
			for _, item := range inForce.Items {
				found[where+" policy in force "+item.Name] = []any{item.Labels, item.Spec}
			}
			for _, item := range roleList.Items {
				found[where+" role "+item.Name] = []any{item.Labels, item.Rules, item.AggregationRule}
			}
			for _, item := range wide.Items {
				found[where+" binding "+item.Name] = []any{item.Labels, item.RoleRef, item.Subjects}
			}
			for _, item := range narrow.Items {
				found[where+" binding "+item.Namespace+" "+item.Name] = []any{item.Labels, item.RoleRef, item.Subjects}
			}
		}
		return found
	}
	want := snapshot()
	if len(want) != 2*2+15+2+2*2 {
		t.Fatalf("%d objects, want two in the global cluster for each binding, fifteen roles, two bindings, and two admission policies with their bindings inside", len(want))
	}

	const role, shop = "kairship:binding:alice-drift", "kairship:binding:alice-drift-shop"
	mallory := []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "mallory"}}
	everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	changed := func(kube client.Client, namespace, name string, object client.Object, change func()) {
		t.Helper()
		w.must(kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object))
		change()
		w.must(kube.Update(t.Context(), object))
	}
	for _, c := range []struct {
		reason string
		drift  func(t *testing.T)
	}{
		{"the role in the global cluster permits more", func(*testing.T) {
			o := &rbacv1.ClusterRole{}
			changed(w.kube, "", role, o, func() { o.Rules = everything })
		}},
		{"the role in the global cluster is deleted", func(t *testing.T) {
			w.must(w.kube.Delete(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}}))
		}},
		{"another subject is bound in the global cluster", func(*testing.T) {
			o := &rbacv1.ClusterRoleBinding{}
			changed(w.kube, "", role, o, func() { o.Subjects = mallory })
		}},
		{"the binding in the global cluster is deleted", func(t *testing.T) {
			w.must(w.kube.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role}}))
		}},
		{"a label in the global cluster is removed", func(*testing.T) {
			o := &rbacv1.ClusterRole{}
			changed(w.kube, "", role, o, func() { delete(o.Labels, v1alpha1.InstanceLabel) })
		}},
		{"another subject is bound in the instance", func(*testing.T) {
			o := &rbacv1.ClusterRoleBinding{}
			changed(w.inside, "", role, o, func() { o.Subjects = append(o.Subjects, mallory...) })
		}},
		{"the binding in the instance is deleted", func(t *testing.T) {
			w.must(w.inside.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role}}))
		}},
		{"the binding in a namespace is deleted", func(t *testing.T) {
			w.must(w.inside.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "drift-shop", Name: shop}}))
		}},
		{"the binding in a namespace refers to another role", func(t *testing.T) {
			o := &rbacv1.RoleBinding{}
			w.must(w.inside.Get(t.Context(), client.ObjectKey{Namespace: "drift-shop", Name: shop}, o))
			w.must(w.inside.Delete(t.Context(), o))
			o.ResourceVersion, o.UID = "", ""
			o.RoleRef.Name = "cluster-admin"
			w.must(w.inside.Create(t.Context(), o))
		}},
		{"a role of the instance permits more", func(*testing.T) {
			o := &rbacv1.ClusterRole{}
			changed(w.inside, "", "kairship:karmada-viewer", o, func() { o.Rules = everything })
		}},
		{"a role of the instance takes in more", func(*testing.T) {
			o := &rbacv1.ClusterRole{}
			changed(w.inside, "", "kairship:viewer", o, func() {
				o.AggregationRule.ClusterRoleSelectors = append(o.AggregationRule.ClusterRoleSelectors,
					metav1.LabelSelector{MatchLabels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-edit": "true"}})
			})
		}},
		{"a role of the instance is deleted", func(t *testing.T) {
			w.must(w.inside.Delete(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kairship:karmada-editor"}}))
		}},
		{"the admission policy permits more", func(*testing.T) {
			o := &admissionv1.ValidatingAdmissionPolicy{}
			changed(w.inside, "", overrides.Name, o, func() { o.Spec.Validations[0].Expression = "true" })
		}},
		{"the admission policy looks away", func(*testing.T) {
			o := &admissionv1.ValidatingAdmissionPolicy{}
			changed(w.inside, "", overrides.Name, o, func() { o.Spec.FailurePolicy = ptr.To(admissionv1.Ignore) })
		}},
		{"the admission policy is deleted", func(t *testing.T) {
			w.must(w.inside.Delete(t.Context(), &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: overrides.Name}}))
		}},
		{"the admission policy only warns", func(*testing.T) {
			o := &admissionv1.ValidatingAdmissionPolicyBinding{}
			changed(w.inside, "", overrides.Name, o, func() { o.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn} })
		}},
		{"the admission policy is out of force", func(t *testing.T) {
			w.must(w.inside.Delete(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: overrides.Name}}))
		}},
		{"a role that we do not know has our labels", func(t *testing.T) {
			w.must(w.inside.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kairship:earlier", Labels: map[string]string{
				v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue, v1alpha1.InstanceRoleLabel: "viewer",
			}}}))
		}},
		{"rules are left over from a deleted binding", func(t *testing.T) {
			binding := w.give("alice-left", "drift", v1alpha1.RoleAdmin)
			w.lookInside("drift")
			binding = get(w.world, binding.Name, binding)
			binding.Finalizers = nil // A user takes our finalizers off, so it goes before its rules.
			w.must(w.kube.Update(t.Context(), binding))
			w.must(w.kube.Delete(t.Context(), binding))
			if got := w.grants("alice-left"); len(got) != 1 {
				t.Fatalf("the test needs a leftover, got %v", got)
			}
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			c.drift(t)
			if cmp.Equal(want, snapshot()) {
				t.Fatal("nothing has drifted")
			}
			w.reconcileAccess("drift")
			if diff := cmp.Diff(want, snapshot()); diff != "" {
				t.Errorf("after the repair (-want +got):\n%s", diff)
			}
			w.wantBinding("alice-drift", ready, "True/Bound")
			w.wantBinding("alice-drift-shop", ready, "True/Bound")
		})
	}
}
