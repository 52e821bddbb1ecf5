package bindings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

const (
	// soon is how long the controllers may need for what they hear of at once, on
	// a machine that has other things to do.
	soon = 20 * time.Second
	// lookedAt is how long a change of rules inside an instance may go unseen: the
	// interval of half a minute, its jitter, and soon. A deleted namespace takes as
	// long.
	lookedAt = time.Minute
	// prefix begins the names of everything that these tests make.
	prefix = "bindings-suite-"
)

// scene is the fleet as these tests use it.
type scene struct {
	*testing.T
	fleet         *fleet.Fleet
	global, alpha client.Client
}

func open(t *testing.T) *scene {
	t.Helper()
	f := fleet.Open(t)
	return &scene{T: t, fleet: f, global: f.Client(t, "global"), alpha: f.Client(t, "alpha")}
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// give creates a binding for the length of the test. Its subject is a user who
// has its name.
func (s *scene) give(name, instance string, role v1alpha1.Role, namespaces ...string) *v1alpha1.InstanceRoleBinding {
	s.Helper()
	binding := &v1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: prefix + name},
		Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: instance},
			Subject:     v1alpha1.BindingSubject{Kind: v1alpha1.SubjectUser, Name: prefix + name},
			Role:        role, Namespaces: namespaces,
		},
	}
	s.must(s.global.Create(s.Context(), binding))
	s.Cleanup(func() { s.removed(s.global, binding) })
	return binding
}

// removed deletes an object, and waits until it is removed; it may be gone already.
func (s *scene) removed(cluster client.Client, object client.Object) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), lookedAt)
	defer cancel()
	err := client.IgnoreNotFound(cluster.Delete(ctx, object))
	if err == nil {
		err = poll.Try(ctx, lookedAt, func(ctx context.Context) error { return gone(ctx, cluster, object) })
	}
	if err != nil {
		s.Errorf("removing %T %s: %v", object, object.GetName(), err)
	}
}

func gone(ctx context.Context, cluster client.Client, object client.Object) error {
	copied, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", object)
	}
	err := cluster.Get(ctx, client.ObjectKeyFromObject(object), copied)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%T %s exists", object, object.GetName())
}

// change changes the spec of a binding.
func (s *scene) change(binding *v1alpha1.InstanceRoleBinding, change func(*v1alpha1.InstanceRoleBindingSpec)) {
	s.Helper()
	poll.Until(s.T, soon, "the binding can be changed", func(ctx context.Context) error {
		if err := s.global.Get(ctx, client.ObjectKeyFromObject(binding), binding); err != nil {
			return err
		}
		change(&binding.Spec)
		return s.global.Update(ctx, binding)
	})
}

// becomes waits until a condition of a binding, for its present form, is as
// wanted: status and reason.
func (s *scene) becomes(binding *v1alpha1.InstanceRoleBinding, condition, want string, says ...string) {
	s.Helper()
	s.becomesWithin(soon, binding, condition, want, says...)
}

func (s *scene) becomesWithin(within time.Duration, binding *v1alpha1.InstanceRoleBinding, condition, want string, says ...string) {
	s.Helper()
	poll.Until(s.T, within, fmt.Sprintf("%s of %s is %s", condition, binding.Name, want), func(ctx context.Context) error {
		stored := &v1alpha1.InstanceRoleBinding{}
		if err := s.global.Get(ctx, client.ObjectKeyFromObject(binding), stored); err != nil {
			return err
		}
		found := meta.FindStatusCondition(stored.Status.Conditions, condition)
		if found == nil || found.ObservedGeneration != stored.Generation {
			return errors.New("it is not said yet")
		}
		if got := string(found.Status) + "/" + found.Reason; got != want {
			return fmt.Errorf("it is %s: %s", got, found.Message)
		}
		for _, part := range says {
			if !strings.Contains(found.Message, part) {
				return fmt.Errorf("it does not say %q: %s", part, found.Message)
			}
		}
		return nil
	})
}

// bound gives a role and waits until it has taken effect.
func (s *scene) bound(name string, role v1alpha1.Role, namespaces ...string) *v1alpha1.InstanceRoleBinding {
	s.Helper()
	binding := s.give(name, "alpha", role, namespaces...)
	s.becomes(binding, v1alpha1.ConditionReady, "True/Bound")
	return binding
}

// namespace makes a namespace in alpha for the length of the test.
func (s *scene) namespace(name string) {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: prefix + name}}
	s.must(s.alpha.Create(s.Context(), namespace))
	s.Cleanup(func() { s.removed(s.alpha, namespace) })
}

// action is something that a user may or may not do.
type action struct {
	verb, group, resource, subresource, namespace, name string
}

func (a action) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s.%s %s/%s %s", a.verb, a.resource, a.group, a.namespace, a.name, a.subresource))
}

// may asks the RBAC of a cluster.
func may(ctx context.Context, cluster client.Client, user string, a action) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: []string{"system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: a.verb, Group: a.group, Resource: a.resource, Subresource: a.subresource, Namespace: a.namespace, Name: a.name,
		},
	}}
	err := cluster.Create(ctx, review)
	return review.Status.Allowed, err
}

// left returns what either cluster still has of a binding.
func (s *scene) left(ctx context.Context, binding string) error {
	name := "kairship:binding:" + binding
	for where, cluster := range map[string]client.Client{"global": s.global, "alpha": s.alpha} {
		for _, object := range []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
			object.SetName(name)
			if err := gone(ctx, cluster, object); err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
		}
	}
	list := &rbacv1.RoleBindingList{}
	if err := s.alpha.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		if list.Items[i].Name == name {
			return fmt.Errorf("alpha: RoleBinding %s exists in namespace %s", name, list.Items[i].Namespace)
		}
	}
	return nil
}
