package instanceaccess

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

func TestRolesThatArePutTogetherGoFirst(t *testing.T) {
	found := map[string]*rbacv1.ClusterRole{}
	for _, role := range roles.ClusterRoles() {
		found[role.Name] = role.DeepCopy()
	}
	pieces := 0
	for _, role := range planRoles(nil, found).remove {
		if role.AggregationRule == nil {
			pieces++
		} else if pieces > 0 {
			t.Errorf("%s is put together from what goes before it: the cluster would bring it back", role.Name)
		}
	}
	if pieces == 0 || pieces == len(found) {
		t.Errorf("%d of %d roles are pieces: nothing is tested", pieces, len(found))
	}
}

func TestRemnants(t *testing.T) {
	by := func(managers ...string) []metav1.ManagedFieldsEntry {
		var entries []metav1.ManagedFieldsEntry
		for _, manager := range managers {
			entries = append(entries, metav1.ManagedFieldsEntry{Manager: manager})
		}
		return entries
	}
	for _, c := range []struct {
		reason string
		role   rbacv1.ClusterRole
		want   bool
	}{
		{"the cluster alone made it", rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{ManagedFields: by(aggregator)}}, true},
		{"a person made it", rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{ManagedFields: by("kubectl")}}, false},
		{"a person changed it", rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{ManagedFields: by(aggregator, "kubectl")}}, false},
		{"nothing says who made it", rbacv1.ClusterRole{}, false},
		{"it has labels, so a user gave it these", rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{ManagedFields: by(aggregator), Labels: map[string]string{"team": "a"}}}, false},
		{"it is put together, so a user said from what", rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{ManagedFields: by(aggregator)}, AggregationRule: &rbacv1.AggregationRule{}}, false},
	} {
		if got := remnant(&c.role); got != c.want {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
}

func TestCreateRole(t *testing.T) {
	role := &rbacv1.ClusterRole{
		ObjectMeta:      metav1.ObjectMeta{Name: "kairship:editor", Labels: map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue}},
		AggregationRule: &rbacv1.AggregationRule{},
	}
	left := func(manager string) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
			Name: role.Name, UID: "left", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationApply}},
		}}
	}
	for _, c := range []struct {
		reason string
		there  []*rbacv1.ClusterRole
		want   bool
	}{
		{"nothing is in the way", nil, true},
		{"what the cluster brought back is made whole", []*rbacv1.ClusterRole{left(aggregator)}, true},
		{"what a user made is left alone", []*rbacv1.ClusterRole{left("kubectl")}, false},
	} {
		kube := fake.NewClientset()
		for _, there := range c.there {
			if err := kube.Tracker().Add(there); err != nil {
				t.Fatal(err)
			}
		}
		_, err := createRole(t.Context(), kube.RbacV1().ClusterRoles(), role)
		stored, readErr := kube.RbacV1().ClusterRoles().Get(t.Context(), role.Name, metav1.GetOptions{})
		if readErr != nil {
			t.Fatal(readErr)
		}
		if ours := stored.AggregationRule != nil && len(stored.Labels) == 1; ours != c.want || (err == nil) != c.want {
			t.Errorf("%s: %v, %+v", c.reason, err, stored)
		}
	}
}
