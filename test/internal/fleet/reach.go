package fleet

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var reached atomic.Int64

// ReachMember lets a user reach member m1 through alpha until the test ends, with a
// ClusterRole in m1.
func (f *Fleet) ReachMember(t testing.TB, user, role string) {
	t.Helper()
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	create := func(cluster string, o client.Object) {
		c := f.Client(t, cluster)
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(c.Delete(context.Background(), o)); err != nil {
				t.Errorf("taking the role back: %v", err)
			}
		})
	}
	name := fmt.Sprintf("kairship-suite-%d-%d", os.Getpid(), reached.Add(1))
	create("alpha", &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"cluster.karmada.io"}, Resources: []string{"clusters/proxy"}, ResourceNames: []string{"m1"}, Verbs: []string{"get"},
	}}})
	binding := func(of string) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: of}}
	}
	create("alpha", binding(name))
	create("m1", binding(role))
}
