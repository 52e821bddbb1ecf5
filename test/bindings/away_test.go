package bindings

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// door passes connections on to a server while it is open. While it is shut it
// takes them and says nothing, which is worse than refusing them: every request
// lasts its whole timeout.
type door struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	isOpen bool
	conns  []net.Conn
}

func newDoor(t *testing.T, target string) *door {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{listener: listener, target: target}
	go d.serve()
	t.Cleanup(func() {
		_ = listener.Close()
		d.set(false)
	})
	return d
}

func (d *door) serve() {
	for {
		in, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		d.conns = append(d.conns, in)
		pass := d.isOpen
		d.mu.Unlock()
		if pass {
			go d.pass(in)
		}
	}
}

func (d *door) pass(in net.Conn) {
	out, err := net.Dial("tcp", d.target)
	if err != nil {
		_ = in.Close()
		return
	}
	d.mu.Lock()
	d.conns = append(d.conns, out)
	d.mu.Unlock()
	go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
	_, _ = io.Copy(in, out)
	_ = in.Close()
}

// set opens or shuts it. Connections that are there break.
func (d *door) set(isOpen bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isOpen = isOpen
	for _, c := range d.conns {
		_ = c.Close()
	}
	d.conns = nil
}

// away registers an alias of alpha, under a name of this suite and behind a door.
func (s *scene) away(alias *fleet.Alias) *v1alpha1.Instance {
	s.Helper()
	kubeconfig := alias.Kubeconfig(s, prefix+"away")
	own := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: prefix + "away"},
		Data:       map[string][]byte{v1alpha1.KubeconfigSecretKey: kubeconfig},
	}
	s.must(s.global.Create(s.Context(), own))
	s.Cleanup(func() { s.removed(s.global, own) })
	instance := &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: prefix + "away"},
		Spec: v1alpha1.InstanceSpec{
			Mode:                v1alpha1.InstanceModeExternal,
			KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Name: own.Name}},
		},
	}
	s.must(s.global.Create(s.Context(), instance))
	s.Cleanup(func() { s.removed(s.global, instance) })
	return instance
}

// TestAnInstanceThatHangsBlocksNoOther has many bindings on an instance that
// takes connections and answers nothing, and gives, revokes and deletes others
// meanwhile.
func TestAnInstanceThatHangsBlocksNoOther(t *testing.T) {
	s := open(t)
	alias := s.fleet.Alias(t, "alpha")
	d := newDoor(t, alias.Host)
	d.set(true)
	alias.Host = d.listener.Addr().String()
	instance := s.away(alias)
	const many = 30
	var bindings []*v1alpha1.InstanceRoleBinding
	for i := range many {
		bindings = append(bindings, s.give(fmt.Sprintf("away-%d", i), instance.Name, v1alpha1.RoleViewer))
	}
	for _, binding := range bindings {
		s.becomes(binding, v1alpha1.ConditionReady, "True/Bound")
	}
	others := s.bound("beside", v1alpha1.RoleViewer)

	d.set(false)
	deleted, revoked := bindings[0], bindings[1]
	s.must(s.global.Delete(t.Context(), deleted))
	s.change(revoked, func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = true })
	for _, binding := range bindings[2:] {
		s.becomes(binding, v1alpha1.ConditionReady, "False/Unreachable", "does not answer")
	}
	s.becomes(revoked, v1alpha1.ConditionReady, "False/Revoking", "does not answer")
	s.becomes(deleted, v1alpha1.ConditionReady, "False/Deleting", "does not answer")
	for _, binding := range []*v1alpha1.InstanceRoleBinding{deleted, revoked} {
		rules := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roles.BindingName(binding.Name)}}
		poll.Until(t, soon, "the global cluster does not wait for the instance", func(ctx context.Context) error { return gone(ctx, s.global, rules) })
		s.must(s.alpha.Get(t.Context(), client.ObjectKeyFromObject(rules), rules)) // It cannot be removed there yet.
	}

	// All the others go on as if nothing was.
	begin := time.Now()
	s.bound("besides", v1alpha1.RoleEditor)
	s.revoke(others)
	if took := time.Since(begin); took > soon {
		t.Errorf("giving and revoking a role on another instance took %s", took)
	}

	d.set(true)
	poll.Until(t, lookedAt, "the deleted binding goes once the instance answers", func(ctx context.Context) error { return gone(ctx, s.global, deleted) })
	s.becomes(revoked, v1alpha1.ConditionReady, "False/Revoked")
	for _, binding := range bindings[2:] {
		s.becomes(binding, v1alpha1.ConditionReady, "True/Bound")
	}
	for _, binding := range []*v1alpha1.InstanceRoleBinding{deleted, revoked} {
		if err := s.left(t.Context(), binding.Name); err != nil {
			t.Error(err)
		}
	}

	// When the Instance goes in good order it takes its rules with it, and leaves
	// those of the same control plane under its other name.
	stays := s.bound("stays", v1alpha1.RoleViewer)
	s.removed(s.global, instance)
	list := &rbacv1.ClusterRoleBindingList{}
	s.must(s.alpha.List(t.Context(), list, client.MatchingLabels{v1alpha1.InstanceLabel: instance.Name}))
	if len(list.Items) > 0 {
		t.Errorf("alpha still has %d bindings of an instance that was deleted", len(list.Items))
	}
	s.becomes(bindings[2], v1alpha1.ConditionReady, "False/NoInstance", instance.Name)
	s.becomes(stays, v1alpha1.ConditionReady, "True/Bound")
}
