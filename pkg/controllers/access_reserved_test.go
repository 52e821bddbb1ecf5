package controllers_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestEditorsOfAnInstanceReachNoReservedNamespace asks the RBAC of an instance what an
// editor of it may do, where, and when a namespace is added.
func TestEditorsOfAnInstanceReachNoReservedNamespace(t *testing.T) {
	w := newAccessWorld(t)
	w.registered("reserved")
	defer w.leaveNothing("reserved")
	for _, name := range []string{"reserved-shop", "karmada-cluster", "karmada-system", "karmada-es-m1"} {
		w.namespace(name)
	}
	w.give("alice-reserved", "reserved", v1alpha1.RoleEditor)
	w.settleAccess("reserved")
	w.wantBinding("alice-reserved", ready, "True/Bound")
	w.wantBinding("alice-reserved", instanceReady, "True/Bound", "in each of its namespaces that is not reserved")

	everything := []struct{ verb, group, resource, subresource string }{
		{"get", "", "secrets", ""},
		{"list", "", "secrets", ""},
		{"watch", "", "secrets", ""},
		{"patch", "", "secrets", ""},
		{"create", "", "serviceaccounts", "token"},
		{"create", "", "configmaps", ""},
		{"delete", "apps", "deployments", ""},
		{"create", "policy.karmada.io", "propagationpolicies", ""},
	}
	check := func(namespace string, want bool) {
		t.Helper()
		for _, a := range everything {
			w.settlesOn(fmt.Sprintf("may alice %s %s/%s in %q?", a.verb, a.resource, a.subresource, namespace), want, func() bool {
				return w.may(w.inside, a.verb, a.group, a.resource, a.subresource, namespace, "")
			})
		}
	}
	check("reserved-shop", true)
	for _, namespace := range []string{"", "karmada-cluster", "karmada-system", "karmada-es-m1", "kube-system"} {
		check(namespace, false) // "" is all namespaces at once.
	}
	for what, may := range map[string]bool{
		"Works":                w.may(w.inside, "get", "work.karmada.io", "works", "", "karmada-es-m1", ""),
		"what a Cluster holds": w.may(w.inside, "patch", "cluster.karmada.io", "clusters", "", "", "m1"),
		"a member as Karmada":  w.may(w.inside, "get", "cluster.karmada.io", "clusters", "proxy", "", "m1"),
	} {
		if may {
			t.Errorf("an editor may reach %s", what)
		}
	}
	if !w.may(w.inside, "list", "apps", "deployments", "", "", "") {
		t.Error("an editor does not list the workloads of all namespaces any more")
	}

	// A namespace is closed until the controller has come.
	w.namespace("reserved-new")
	check("reserved-new", false)
	w.settleAccess("reserved")
	check("reserved-new", true)

	// What others make of the common RoleBinding is put right.
	shared := &rbacv1.RoleBindingList{}
	w.must(w.inside.List(t.Context(), shared, client.InNamespace("reserved-new"), client.MatchingLabels{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue}))
	if len(shared.Items) != 1 {
		t.Fatalf("%d RoleBindings", len(shared.Items))
	}
	other := shared.Items[0].DeepCopy()
	other.Subjects = append(other.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "mallory"})
	w.must(w.inside.Update(t.Context(), other))
	stray := shared.Items[0].DeepCopy()
	stray.ObjectMeta = metav1.ObjectMeta{Namespace: "karmada-cluster", Name: stray.Name, Labels: stray.Labels}
	w.must(w.inside.Create(t.Context(), stray))
	check("karmada-cluster", true) // As who wrote that has it.
	w.settleAccess("reserved")
	check("karmada-cluster", false)
	w.must(w.inside.Get(t.Context(), client.ObjectKeyFromObject(other), other))
	if len(other.Subjects) != 1 {
		t.Errorf("the RoleBinding has the subjects %v", other.Subjects)
	}

	// A second editor comes, and the first one goes.
	w.must(w.kube.Create(t.Context(), &v1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bob-reserved"},
		Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: "reserved"}, Role: v1alpha1.RoleEditor,
			Subject: v1alpha1.BindingSubject{Kind: v1alpha1.SubjectUser, Name: "bob"},
		},
	}))
	w.settleAccess("reserved")
	w.change("alice-reserved", func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = true })
	w.settleAccess("reserved")
	check("reserved-shop", false)
	w.must(w.inside.Get(t.Context(), client.ObjectKeyFromObject(other), other))
	if len(other.Subjects) != 1 || other.Subjects[0].Name != "bob" {
		t.Errorf("the RoleBinding has the subjects %v", other.Subjects)
	}
	w.must(w.inside.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "reserved-new"}}))
	w.settleAccess("reserved") // A namespace that goes is no trouble.
	w.wantBinding("bob-reserved", ready, "True/Bound")
}
