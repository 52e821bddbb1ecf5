package instancerolebinding

import (
	"context"
	"errors"
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/projection"
)

// afterNameTaken is when to look again whether another owner's object is deleted.
// Objects of others are not watched.
const afterNameTaken = 30 * time.Second

// hold keeps the binding from vanishing before its rules.
func (r *Reconciler) hold(ctx context.Context, s *scope) error {
	return finalizer.Hold(ctx, r.Client, s.binding, v1alpha1.RoleBindingFinalizer)
}

// writeRole keeps the ClusterRole, which says what the role permits. Where its
// name belongs to another owner, no subject may be bound to what that one permits.
func (r *Reconciler) writeRole(ctx context.Context, s *scope) error {
	stored := &rbacv1.ClusterRole{}
	err := r.Client.Get(ctx, s.key(), stored)
	switch {
	case apierrors.IsNotFound(err):
		created := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.key().Name}}
		s.shapeRole(created)
		return r.unbindWhenTaken(ctx, s, r.create(ctx, s, "ClusterRole", created, &rbacv1.ClusterRole{}))
	case err != nil:
		return fmt.Errorf("read ClusterRole %q: %w", s.key().Name, err)
	case !s.owner.Owns(stored):
		return r.unbindWhenTaken(ctx, s, s.taken("ClusterRole", stored))
	}
	updated := stored.DeepCopy()
	s.shapeRole(updated)
	return r.update(ctx, s, "ClusterRole", stored, updated)
}

// unbindWhenTaken takes our ClusterRoleBinding away when the ClusterRole that it
// refers to turned out to belong to another owner.
func (r *Reconciler) unbindWhenTaken(ctx context.Context, s *scope, err error) error {
	var stop *phase.Stop
	if !errors.As(err, &stop) {
		return err
	}
	if err := r.removeOne(ctx, s, &rbacv1.ClusterRoleBinding{}); err != nil {
		return err
	}
	return stop
}

// writeBinding keeps the ClusterRoleBinding, which has the subject of the role.
func (r *Reconciler) writeBinding(ctx context.Context, s *scope) error {
	created := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: s.key().Name}}
	s.shapeBinding(created)
	stored := &rbacv1.ClusterRoleBinding{}
	err := r.Client.Get(ctx, s.key(), stored)
	switch {
	case apierrors.IsNotFound(err):
		err = r.create(ctx, s, "ClusterRoleBinding", created, &rbacv1.ClusterRoleBinding{})
	case err != nil:
		err = fmt.Errorf("read ClusterRoleBinding %q: %w", s.key().Name, err)
	case !s.owner.Owns(stored):
		err = s.taken("ClusterRoleBinding", stored)
	case stored.RoleRef != created.RoleRef:
		err = r.replace(ctx, s, stored) // What it refers to cannot be changed.
	default:
		updated := stored.DeepCopy()
		s.shapeBinding(updated)
		err = r.update(ctx, s, "ClusterRoleBinding", stored, updated)
	}
	if err != nil {
		return err
	}
	bound := v1alpha1.GlobalBound("The role is bound in the global cluster.")
	s.global = &bound
	return nil
}

// create creates an object that the caches do not have. It may be there
// nevertheless: they hold only what is marked as ours.
func (r *Reconciler) create(ctx context.Context, s *scope, kind string, created, stored client.Object) error {
	err := r.Client.Create(ctx, created)
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("create %s %q: %w", kind, created.GetName(), err)
		}
		s.wrote(projection.ActivityCreate)
		return nil
	}
	if readErr := r.Live.Get(ctx, s.key(), stored); readErr != nil {
		return fmt.Errorf("read %s %q: %w", kind, created.GetName(), readErr)
	}
	if s.owner.Owns(stored) {
		return err // The cache has not seen it yet.
	}
	return s.taken(kind, stored)
}

// taken reports that an object of another owner has the name that is needed.
func (s *scope) taken(kind string, stored client.Object) error {
	return &phase.Stop{
		Condition: v1alpha1.GlobalNotBound(v1alpha1.ReasonNameTaken, s.owner.Taken(kind, stored)),
		Retry:     afterNameTaken,
	}
}

func (r *Reconciler) update(ctx context.Context, s *scope, kind string, stored, updated client.Object) error {
	if equality.Semantic.DeepEqual(stored, updated) {
		return nil
	}
	patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, updated, patch); err != nil {
		return fmt.Errorf("update %s %q: %w", kind, stored.GetName(), err)
	}
	s.wrote(projection.ActivityUpdate)
	return nil
}

// replace deletes an object of ours that cannot be changed into what it should
// be. Its end wakes us to make it anew.
func (r *Reconciler) replace(ctx context.Context, s *scope, stored client.Object) error {
	uid := stored.GetUID()
	if err := r.Client.Delete(ctx, stored, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("replace %q: %w", stored.GetName(), err)
	}
	s.wrote(projection.ActivityUpdate)
	return &phase.Stop{Condition: v1alpha1.GlobalNotBound(v1alpha1.ReasonPending, "The rules in the global cluster are being replaced."), Retry: time.Second}
}

// remove deletes the rules: first the ClusterRoleBinding, then the ClusterRole.
func (r *Reconciler) remove(ctx context.Context, s *scope) error {
	for _, object := range []client.Object{&rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRole{}} {
		written, err := r.wasWritten(ctx, s, object)
		if err == nil && written {
			err = r.removeOne(ctx, s, object)
		}
		if err != nil {
			return err
		}
	}
	condition := v1alpha1.GlobalNotBound(v1alpha1.ReasonRevoked, "The role was taken away, and nothing is left of it in the global cluster.")
	if !s.binding.DeletionTimestamp.IsZero() {
		condition = v1alpha1.GlobalNotBound(v1alpha1.ReasonDeleting, "Nothing is left of the role in the global cluster.")
	}
	s.global = &condition
	return nil
}

// wasWritten saves the live reads for the bindings that were revoked long ago,
// of which there may be many: nothing is written before the binding is held.
func (r *Reconciler) wasWritten(ctx context.Context, s *scope, cached client.Object) (bool, error) {
	if controllerutil.ContainsFinalizer(s.binding, v1alpha1.RoleBindingFinalizer) {
		return true, nil
	}
	err := r.Client.Get(ctx, s.key(), cached)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %q: %w", cached, s.key().Name, err)
	}
	return true, nil
}

func (r *Reconciler) removeOne(ctx context.Context, s *scope, stored client.Object) error {
	err := r.Live.Get(ctx, s.key(), stored)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %T %q: %w", stored, s.key().Name, err)
	case !s.owner.Owns(stored):
		return nil // It belongs to another owner, and stays.
	}
	uid := stored.GetUID()
	err = r.Client.Delete(ctx, stored, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %T %q: %w", stored, s.key().Name, err)
	}
	if err == nil {
		s.wrote(projection.ActivityDelete)
	}
	return nil
}

// release lets the binding go, as far as the global cluster is concerned.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	if err := finalizer.Release(ctx, r.Client, s.binding, v1alpha1.RoleBindingFinalizer); err != nil {
		return err
	}
	s.gone = !s.binding.DeletionTimestamp.IsZero() && len(s.binding.Finalizers) == 0
	return nil
}

// retire deletes a revoked binding once no event can be so late any more that
// it has to be remembered.
func (r *Reconciler) retire(ctx context.Context, s *scope) error {
	if left := time.Until(s.revokedAt.Add(r.Retention)); left > 0 {
		return &phase.Stop{Condition: *s.global, Retry: left}
	}
	// The version too: it may have been given back in this moment.
	uid, version := s.binding.UID, s.binding.ResourceVersion
	if err := r.Client.Delete(ctx, s.binding, client.Preconditions{UID: &uid, ResourceVersion: &version}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the revoked binding %q: %w", s.binding.Name, err)
	}
	s.gone = true
	return nil
}
