package bindings

import (
	"context"
	"errors"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

// TestDriftIsRepaired meddles with the rules of a binding: in the global
// cluster that is heard of, in the instance it is seen at the next look.
func TestDriftIsRepaired(t *testing.T) {
	s := open(t)
	s.namespace("drift")
	whole, narrow := s.bound("drift", v1alpha1.RoleViewer), s.bound("drift-namespace", v1alpha1.RoleEditor, prefix+"drift")
	name, narrowName := roles.BindingName(whole.Name), roles.BindingName(narrow.Name)
	mallory := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: prefix + "mallory"}
	everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}

	role := &rbacv1.ClusterRole{}
	s.must(s.global.Get(t.Context(), client.ObjectKey{Name: name}, role))
	role.Rules = everything
	s.must(s.global.Update(t.Context(), role))
	s.must(s.global.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	poll.Until(t, soon, "the rules in the global cluster are put right", func(ctx context.Context) error {
		if err := s.global.Get(ctx, client.ObjectKey{Name: name}, role); err != nil {
			return err
		}
		if !equality.Semantic.DeepEqual(role.Rules, roles.Global(v1alpha1.RoleViewer, "alpha", nil)) {
			return fmt.Errorf("they are %v", role.Rules)
		}
		return s.global.Get(ctx, client.ObjectKey{Name: name}, &rbacv1.ClusterRoleBinding{})
	})

	wide := &rbacv1.ClusterRoleBinding{}
	s.must(s.alpha.Get(t.Context(), client.ObjectKey{Name: name}, wide))
	wide.Subjects = append(wide.Subjects, mallory)
	s.must(s.alpha.Update(t.Context(), wide))
	s.must(s.alpha.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: prefix + "drift", Name: narrowName}}))
	part := &rbacv1.ClusterRole{}
	s.must(s.alpha.Get(t.Context(), client.ObjectKey{Name: "kairship:karmada-viewer"}, part))
	part.Rules = everything
	s.must(s.alpha.Update(t.Context(), part))
	poll.Until(t, lookedAt, "the rules in the instance are put right", func(ctx context.Context) error {
		if err := s.alpha.Get(ctx, client.ObjectKey{Name: name}, wide); err != nil {
			return err
		}
		if len(wide.Subjects) != 1 || wide.Subjects[0].Name != whole.Spec.Subject.Name {
			return fmt.Errorf("%s binds %v", name, wide.Subjects)
		}
		if err := s.alpha.Get(ctx, client.ObjectKey{Namespace: prefix + "drift", Name: narrowName}, &rbacv1.RoleBinding{}); err != nil {
			return err
		}
		if allowed, err := may(ctx, s.alpha, whole.Spec.Subject.Name, action{verb: "get", resource: "secrets", namespace: "shop", name: "x"}); err != nil || allowed {
			return errors.Join(err, fmt.Errorf("a viewer may read Secrets: %v", allowed))
		}
		return nil
	})
}

// TestRevocationTakesEverythingAway looks for what is left of a role, in both
// clusters, after it was revoked and after its binding was deleted.
func TestRevocationTakesEverythingAway(t *testing.T) {
	s := open(t)
	s.namespace("revoked")
	reads := action{verb: "list", group: "apps", resource: "deployments", namespace: prefix + "revoked"}
	for _, c := range []struct {
		reason   string
		name     string
		in       []string
		takeBack func(*v1alpha1.InstanceRoleBinding)
	}{
		{"revoked on the whole instance", "revoked", nil, s.revoke},
		{"revoked in a namespace", "revoked-namespace", []string{prefix + "revoked"}, s.revoke},
		{"deleted on the whole instance", "deleted", nil, func(b *v1alpha1.InstanceRoleBinding) { s.must(s.global.Delete(t.Context(), b)) }},
		{"deleted in a namespace", "deleted-namespace", []string{prefix + "revoked"}, func(b *v1alpha1.InstanceRoleBinding) { s.must(s.global.Delete(t.Context(), b)) }},
	} {
		t.Run(c.reason, func(t *testing.T) {
			binding := s.bound(c.name, v1alpha1.RoleEditor, c.in...)
			poll.Until(t, soon, "the role permits something", func(ctx context.Context) error {
				if allowed, err := may(ctx, s.alpha, binding.Spec.Subject.Name, reads); err != nil || !allowed {
					return errors.Join(err, errors.New("not yet"))
				}
				return nil
			})
			c.takeBack(binding)
			poll.Until(t, soon, "nothing is left of the role", func(ctx context.Context) error {
				if err := s.left(ctx, binding.Name); err != nil {
					return err
				}
				for where, cluster := range map[string]client.Client{"global": s.global, "alpha": s.alpha} {
					asked := reads
					if where == "global" {
						asked = action{verb: "get", group: "kairship.io", resource: "instances", name: "alpha"}
					}
					if allowed, err := may(ctx, cluster, binding.Spec.Subject.Name, asked); err != nil || allowed {
						return errors.Join(err, fmt.Errorf("%s: it still permits something: %v", where, allowed))
					}
				}
				return nil
			})
		})
	}
}

func (s *scene) revoke(binding *v1alpha1.InstanceRoleBinding) {
	s.Helper()
	s.change(binding, func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = true })
	s.becomes(binding, v1alpha1.ConditionReady, "False/Revoked", "nothing is left")
}
