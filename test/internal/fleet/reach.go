package fleet

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
)

var reached atomic.Int64

// ReachMember lets a user reach member m1 through alpha until the test ends, with a
// ClusterRole in m1. It returns once Karmada may impersonate the user there.
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
	f.waitForImpersonation(t, name, user)
}

// waitForImpersonation waits until Karmada's role in m1 names a user, and goes on naming it: an earlier
// role of the same user may just have been taken back. Karmada compares what it wants in m1 with its cache
// of Works, and leaves a change out that comes right after another. Any change of a ClusterRole of alpha
// has it compare again.
func (f *Fleet) waitForImpersonation(t testing.TB, clusterRole, user string) {
	t.Helper()
	const lasting, again = 2 * time.Second, 3 * time.Second
	alpha, m1 := f.Client(t, "alpha"), f.Client(t, "m1")
	changed := time.Now()
	var since time.Time
	poll.Until(t, time.Minute, "Karmada may impersonate "+user+" in m1", func(ctx context.Context) error {
		var role rbacv1.ClusterRole
		if err := m1.Get(ctx, client.ObjectKey{Name: "karmada-impersonator"}, &role); err != nil {
			return err
		}
		if slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Resources, "users") && slices.Contains(r.ResourceNames, user)
		}) {
			if since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) > lasting {
				return nil
			}
			return fmt.Errorf("the role %s has had the user %s for less than %s", role.Name, user, lasting)
		}
		since = time.Time{}
		if time.Since(changed) > again {
			changed = time.Now()
			change := fmt.Appendf(nil, `{"metadata": {"annotations": {"suite.kairship.io/changed": %q}}}`, changed.Format(time.RFC3339Nano))
			if err := alpha.Patch(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: clusterRole}}, client.RawPatch(types.MergePatchType, change)); err != nil {
				return err
			}
		}
		return fmt.Errorf("the role %s has no user %s", role.Name, user)
	})
}
