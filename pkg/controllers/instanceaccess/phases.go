package instanceaccess

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// stop ends a reconciliation whose bindings have their conditions.
func stop(retry time.Duration) error { return &phase.Stop{Retry: retry} }

// standForInstance ends it early where there is nothing to reach. Rules inside
// an instance that is not known any more cannot be removed, and is not waited for;
// that.
func (r *Reconciler) standForInstance(_ context.Context, s *scope) error {
	if s.instance != nil && !s.idle() {
		return nil
	}
	r.instances.forget(s.name)
	r.namespaceWatches.forget(s.name)
	s.letGo()
	return stop(0)
}

// connect reads the credentials. An instance that is not reached keeps its
// rules, until it is.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	to, err := r.Credentials.OfInstance(ctx, s.instance)
	if reason := reasonOf(err); reason != "" {
		r.instances.forget(s.name)
		if s.leaving() {
			return r.abandon(ctx, s, err)
		}
		s.tell(v1alpha1.InstanceBoundUnknown(reason, err.Error()), s.stuck(err.Error()))
		return stop(0) // The Secret and the Instance are watched.
	}
	if err != nil {
		return fmt.Errorf("connect to instance %q: %w", s.name, err)
	}
	conn, err := r.Connections.Of(connections.Instance(s.name), to)
	if err != nil {
		return err
	}
	if s.inside, err = r.instances.of(s.name, conn, r.Timeout); err != nil {
		return err
	}
	s.to, s.conn = to, conn
	s.global, err = r.globalCluster(ctx)
	return err
}

// reasonOf is why a person has to do something about the credentials; empty when
// they need not.
func reasonOf(err error) string {
	switch {
	case credentials.Unproven(err):
		return v1alpha1.ReasonPending
	case errors.Is(err, connection.ErrMissing):
		return v1alpha1.ReasonCredentialsMissing
	case errors.Is(err, connection.ErrInvalid):
		return v1alpha1.ReasonCredentialsInvalid
	}
	return ""
}

// hold keeps the Instance, and every binding that is to have rules inside, from
// vanishing before these.
func (r *Reconciler) hold(ctx context.Context, s *scope) error {
	for _, b := range s.bindings {
		if !s.wanted(b) {
			continue
		}
		for _, object := range []client.Object{s.instance, b.InstanceRoleBinding} {
			if err := finalizer.Hold(ctx, r.Client, object, v1alpha1.InstanceAccessFinalizer); err != nil {
				return err
			}
		}
		b.held = true
	}
	return nil
}

// look reads what the instance has of ours.
func (r *Reconciler) look(ctx context.Context, s *scope) error {
	ours := metav1.ListOptions{LabelSelector: v1alpha1.ManagedByLabel + "=" + v1alpha1.ManagedByValue + "," + v1alpha1.RoleBindingLabel}
	wide, err := s.rbac.ClusterRoleBindings().List(ctx, ours)
	if err != nil {
		return r.unreached(ctx, s, err)
	}
	narrow, err := s.rbac.RoleBindings(metav1.NamespaceAll).List(ctx, ours)
	if err != nil {
		return r.unreached(ctx, s, err)
	}
	found, err := s.rbac.ClusterRoles().List(ctx, metav1.ListOptions{
		LabelSelector: v1alpha1.ManagedByLabel + "=" + v1alpha1.ManagedByValue + "," + v1alpha1.InstanceRoleLabel,
	})
	if err != nil {
		return r.unreached(ctx, s, err)
	}

	s.looked, s.grants, s.roles = true, map[place]*grant{}, map[string]*rbacv1.ClusterRole{}
	for i := range wide.Items {
		item := &wide.Items[i]
		s.add(&item.ObjectMeta, item.RoleRef, item.Subjects)
	}
	for i := range narrow.Items {
		item := &narrow.Items[i]
		s.add(&item.ObjectMeta, item.RoleRef, item.Subjects)
	}
	for i := range found.Items {
		s.roles[found.Items[i].Name] = &found.Items[i]
	}
	s.bound = s.boundNow()
	return nil
}

// add takes note of a grant. Another Kairship may look after the same control
// plane, and it may be registered here under two names.
func (s *scope) add(meta *metav1.ObjectMeta, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
	if meta.Labels[v1alpha1.GlobalClusterLabel] != s.global || meta.Labels[v1alpha1.InstanceLabel] != s.name {
		s.foreign++
		return
	}
	at := place{namespace: meta.Namespace, name: meta.Name}
	s.grants[at] = &grant{
		place: at, labels: meta.Labels, role: role, subjects: subjects, uid: meta.UID, version: meta.ResourceVersion,
	}
}

// clean removes the grants that no binding wants, before anything else is done: what
// was taken away is not to wait for what is given.
func (r *Reconciler) clean(ctx context.Context, s *scope) error {
	wanted := s.wantedGrants(s.wanted)
	left := map[string]error{}
	for _, g := range planGrants(wanted, s.grants).remove {
		if err := s.removeGrant(ctx, g); err != nil {
			if !refusal(err) {
				return r.unreached(ctx, s, err)
			}
			left[g.labels[v1alpha1.RoleBindingLabel]], s.incomplete = err, true
			continue
		}
		delete(s.grants, g.place)
	}
	for _, b := range s.bindings {
		if err := left[b.Name]; err != nil {
			said := v1alpha1.InstanceNotBound(v1alpha1.ReasonNotAllowed, notAllowed("remove rules that it is not to have any more", err))
			b.said, s.incomplete = &said, true
			continue
		}
		b.cleaned = !s.wanted(b)
	}
	if len(left) > 0 && s.leaving() {
		return r.unreached(ctx, s, errors.Join(slices.Collect(maps.Values(left))...))
	}
	return nil
}

// writeRoles keeps the ClusterRoles that bindings refer to. When no subject is bound
// any more, not from another global cluster either, they go.
func (r *Reconciler) writeRoles(ctx context.Context, s *scope) error {
	wanted := roles.ClusterRoles(s.notLimited()...)
	if !s.anybodyWanted() {
		wanted = nil
		if s.foreign > 0 || len(s.grants) > 0 {
			return nil
		}
	}
	plan := planRoles(wanted, s.roles)
	for _, role := range plan.remove {
		uid := role.UID
		err := s.rbac.ClusterRoles().Delete(ctx, role.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) && !refusal(err) {
			return r.unreached(ctx, s, err)
		}
	}
	for _, role := range plan.update {
		stored, err := s.rbac.ClusterRoles().Update(ctx, role, metav1.UpdateOptions{FieldManager: Name})
		if err != nil {
			return r.roleFailed(ctx, s, role, err)
		}
		s.roles[role.Name] = stored
	}
	for _, role := range plan.create {
		stored, err := createRole(ctx, s.rbac.ClusterRoles(), role)
		if err != nil {
			return r.roleFailed(ctx, s, role, err)
		}
		s.roles[role.Name] = stored
		s.rolesAreNew = true
	}
	return nil
}

func (s *scope) anybodyWanted() bool { return slices.ContainsFunc(s.bindings, s.wanted) }

// roleFailed ends a reconciliation in which a ClusterRole could not be written.
// No subject may stay bound to a role that is not known to be ours.
func (r *Reconciler) roleFailed(ctx context.Context, s *scope, role *rbacv1.ClusterRole, err error) error {
	switch {
	case apierrors.IsConflict(err):
		return err
	case apierrors.IsAlreadyExists(err):
		stored, readErr := s.rbac.ClusterRoles().Get(ctx, role.Name, metav1.GetOptions{})
		if readErr != nil {
			return r.unreached(ctx, s, readErr)
		}
		if contains(stored.Labels, map[string]string{
			v1alpha1.ManagedByLabel:    role.Labels[v1alpha1.ManagedByLabel],
			v1alpha1.InstanceRoleLabel: role.Labels[v1alpha1.InstanceRoleLabel],
		}) {
			return err // Another Kairship has made it since we looked.
		}
		for at, g := range s.grants {
			if err := s.removeGrant(ctx, g); err != nil {
				return r.unreached(ctx, s, err)
			}
			delete(s.grants, at)
		}
		message := fmt.Sprintf("The instance has a ClusterRole %q that was not made by Kairship. It is left alone; delete it to go on.", role.Name)
		s.tell(v1alpha1.InstanceNotBound(v1alpha1.ReasonNameTaken, message), s.gone)
		return stop(afterIncomplete)
	case refusal(err):
		message := notAllowed(fmt.Sprintf("write ClusterRole %q", role.Name), err)
		s.tell(v1alpha1.InstanceNotBound(v1alpha1.ReasonNotAllowed, message), s.gone)
		return stop(afterIncomplete)
	}
	return r.unreached(ctx, s, err)
}

// releaseInstance lets the Instance go, once nothing is left inside.
func (r *Reconciler) releaseInstance(ctx context.Context, s *scope) error {
	if s.anybodyWanted() || len(s.grants) > 0 {
		return nil
	}
	s.looked = false // There is nothing to look at any more.
	r.instances.forget(s.name)
	r.namespaceWatches.forget(s.name)
	return r.letInstanceGo(ctx, s)
}

func (r *Reconciler) letInstanceGo(ctx context.Context, s *scope) error {
	if s.instance == nil {
		return nil
	}
	return finalizer.Release(ctx, r.Client, s.instance, v1alpha1.InstanceAccessFinalizer)
}
