package faults

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// plant makes objects of another owner whose names are those of what Kairship
// makes, or nearly so, wherever it makes something.
func (c *churn) plant(t *testing.T) {
	t.Helper()
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "somebody-else"}}
	}
	within := func(namespace, name string) metav1.ObjectMeta {
		m := named(name)
		m.Namespace = namespace
		return m
	}
	const joins, binding = "karmada-cluster", "kairship:binding:"
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}
	for _, each := range []planted{
		{"global", &pediav1alpha2.PediaCluster{
			ObjectMeta: named(kairshipv1alpha1.VirtualClusterName(taken)),
			Spec:       pediav1alpha2.ClusterSpec{APIServer: "https://127.0.0.1:1", SyncResources: []pediav1alpha2.ClusterGroupResources{}},
		}},
		{"global", &kairshipv1alpha1.InstanceRegistration{ObjectMeta: named(taken)}},
		{"global", &rbacv1.ClusterRole{ObjectMeta: named(binding + taken)}},
		{"global", &rbacv1.ClusterRoleBinding{ObjectMeta: named(binding + taken), RoleRef: role}},
		{"global", &rbacv1.ClusterRole{ObjectMeta: named(binding + "chaos-foreign")}},
		{"global", &corev1.Secret{ObjectMeta: within(kairshipv1alpha1.SystemNamespace, "k-chaos-foreign-host")}},
		{"alpha", &rbacv1.ClusterRoleBinding{ObjectMeta: named(binding + taken), RoleRef: role}},
		{"alpha", &rbacv1.RoleBinding{ObjectMeta: within("default", binding+taken), RoleRef: role}},
		{"alpha", &corev1.Secret{ObjectMeta: within(joins, "m3-foreign")}},
		{"beta", &rbacv1.ClusterRole{ObjectMeta: named(binding + "chaos-foreign")}},
		{"beta", &rbacv1.RoleBinding{ObjectMeta: within("default", binding+taken), RoleRef: role}},
		{"beta", &corev1.Secret{ObjectMeta: within(joins, "m3-foreign")}},
		{"m3", &rbacv1.ClusterRole{ObjectMeta: named("karmada-controller-manager:karmada-m3-foreign")}},
		{"m3", &corev1.Namespace{ObjectMeta: named("karmada-cluster-foreign")}},
		// Their namespace has to stay while they are in it.
		{"m3", &corev1.ServiceAccount{ObjectMeta: within(joins, "karmada-m3-foreign")}},
		{"m3", &corev1.Secret{ObjectMeta: within(joins, "karmada-m3-foreign")}},
	} {
		c.createFor(t, c.at[each.where], each.object)
		c.foreign = append(c.foreign, each)
	}
}

// foreignIsUntouched checks that what belongs to others is there, and the same.
func (c *churn) foreignIsUntouched(t *testing.T) {
	t.Helper()
	for _, each := range c.foreign {
		now, _ := each.object.DeepCopyObject().(client.Object)
		if err := c.at[each.where].Get(t.Context(), client.ObjectKeyFromObject(each.object), now); err != nil {
			t.Errorf("another owner's %T in %s: %v", each.object, each.where, err)
			continue
		}
		switch {
		case now.GetUID() != each.object.GetUID() || !now.GetDeletionTimestamp().IsZero():
			t.Errorf("another owner's %T %s in %s was deleted", now, now.GetName(), each.where)
		case len(now.GetOwnerReferences()) > 0 || now.GetLabels()["team"] != "somebody-else" || now.GetLabels()[kairshipv1alpha1.ManagedByLabel] != "":
			t.Errorf("another owner's %T %s in %s was taken: labels %v, owners %v", now, now.GetName(), each.where, now.GetLabels(), now.GetOwnerReferences())
		}
	}
}
