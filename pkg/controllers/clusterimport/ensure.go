package clusterimport

import (
	"context"
	"fmt"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/projection"
)

// ensure makes an object in an instance or a member, or puts right the one that
// is there, which adjust does. What belongs to others is an error, *taken, and
// stays as it is.
func (r *Reconciler) ensure(ctx context.Context, s *scope, in *remote, wanted client.Object, adjust func(stored, wanted client.Object)) (client.Object, error) {
	kind := kindOf(wanted)
	stored, _ := wanted.DeepCopyObject().(client.Object)
	err := in.Get(ctx, client.ObjectKeyFromObject(wanted), stored)
	if apierrors.IsNotFound(err) {
		created, _ := wanted.DeepCopyObject().(client.Object)
		s.ownerLabels.put(created)
		if err := r.verify(ctx, s); err != nil {
			return nil, err
		}
		if err := in.Create(ctx, created, client.FieldOwner(Name)); err != nil {
			return nil, r.failed(in, err, "create %s %q", kind, wanted.GetName())
		}
		r.pauses.forget(s.cluster.Name) // What was in its way is removed.
		return created, nil
	}
	if err != nil {
		return nil, r.failed(in, err, "read %s %q", kind, wanted.GetName())
	}
	if !stored.GetDeletionTimestamp().IsZero() {
		return nil, r.onItsWayOut(s, in, stored)
	}
	if err := r.takeOver(ctx, s, in, stored); err != nil {
		return nil, err
	}
	updated, _ := stored.DeepCopyObject().(client.Object)
	s.ownerLabels.put(updated)
	adjust(updated, wanted)
	if equality.Semantic.DeepEqual(stored, updated) {
		return stored, nil
	}
	if err := r.verify(ctx, s); err != nil {
		return nil, err
	}
	err = in.Patch(ctx, updated, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}), client.FieldOwner(Name))
	return updated, r.failed(in, err, "change %s %q", kind, wanted.GetName())
}

// onItsWayOut waits until an object that is being deleted has been removed, and can be created
// again. Usually that is soon, and does not change the condition; otherwise the condition names the
// object to look at.
func (r *Reconciler) onItsWayOut(s *scope, in *remote, stored client.Object) error {
	if r.pauses.quick(s.cluster.Name) {
		return &phase.Stop{Retry: whileBusy}
	}
	return &phase.Stop{Retry: r.pauses.next(s.cluster.Name), Condition: v1alpha1.NotJoined(v1alpha1.ReasonJoining, fmt.Sprintf(
		"The %s is busy removing the %s %q, and not done. It is made again when it is gone: its conditions and finalizers say what that waits for.",
		in.place, kindOf(stored), stored.GetName()))}
}

// takeOver makes sure that an object is ours, or was left behind by a Cluster that
// no longer exists. A token that was left behind may be known to others, so that one and
// its account are made anew.
func (r *Reconciler) takeOver(ctx context.Context, s *scope, in *remote, stored client.Object) error {
	whose := s.ownerLabels.of(stored)
	if whose == ownedByUs {
		return nil
	}
	if whose == ownedByAnother {
		orphaned, err := r.orphaned(ctx, stored)
		if err != nil {
			return err
		}
		if orphaned {
			_, account := stored.(*corev1.ServiceAccount)
			secret, token := stored.(*corev1.Secret)
			if token {
				token = secret.Type == corev1.SecretTypeServiceAccountToken
			}
			if !account && !token {
				return nil
			}
			if err := r.delete(ctx, s, in, stored); err != nil {
				return err
			}
			return &phase.Stop{Retry: r.pauses.busy(s.cluster.Name)}
		}
	}
	return &taken{by: whose, place: in.place, object: stored, kind: kindOf(stored)}
}

// remove deletes an object in an instance or a member, if it is ours.
func (r *Reconciler) remove(ctx context.Context, s *scope, in *remote, object client.Object) error {
	stored, _ := object.DeepCopyObject().(client.Object)
	err := in.Get(ctx, client.ObjectKeyFromObject(object), stored)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return r.failed(in, err, "read %s %q", kindOf(object), object.GetName())
	case s.ownerLabels.of(stored) != ownedByUs:
		return nil // It belongs to another owner, and stays.
	}
	return r.delete(ctx, s, in, stored)
}

// delete deletes what was read, and nothing that took its place since or that became
// part of another membership.
func (r *Reconciler) delete(ctx context.Context, s *scope, in *remote, stored client.Object) error {
	if err := r.verify(ctx, s); err != nil {
		return err
	}
	err := deleteAsRead(ctx, in, stored)
	if err == nil {
		r.recordMember(s.instance, projection.ActivityDelete, stored)
	}
	return r.failed(in, client.IgnoreNotFound(err), "delete %s %q", kindOf(stored), stored.GetName())
}

// recordMember records a change of a member of an instance. What else is made for one is not recorded.
func (r *Reconciler) recordMember(instance *v1alpha1.Instance, verb projection.ActivityVerb, object client.Object) {
	if member, ok := object.(*clusterv1alpha1.Cluster); ok && instance != nil {
		r.Activity.Record(activity.InInstance(instance, verb, clusterv1alpha1.GroupName, clusterv1alpha1.ResourceKindCluster, member))
	}
}

// deleteAsRead deletes an object, provided that it is as it was read.
func deleteAsRead(ctx context.Context, in *remote, stored client.Object, opts ...client.DeleteOption) error {
	uid, version := stored.GetUID(), stored.GetResourceVersion()
	return in.Delete(ctx, stored, append(opts, client.Preconditions{UID: &uid, ResourceVersion: &version})...)
}

func kindOf(object client.Object) string {
	gvk, err := apiutil.GVKForObject(object, remoteScheme)
	if err != nil {
		return fmt.Sprintf("%T", object)
	}
	return gvk.Kind
}
