package clusterimport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	"github.com/karmada-io/karmada/pkg/util/names"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// Karmada keeps its Works for a member in one namespace, the execution
// namespace, which it removes before its Cluster object. It sees in its cache that the
// namespace no longer exists; and a cache that has not heard yet of a namespace that was made
// a moment ago, as after the instance's API server was away, says so too early.
// Then the Cluster object goes first, and Karmada refuses for good to finish Works
// of a member that it does not know: they keep their finalizers and the namespace
// terminates for ever. Such a space is orphaned, and finished here.

// markExecutionNamespace sets the owner labels on the execution namespace before Karmada is asked
// to delete it, so that this controller may finish the deletion.
func (r *Reconciler) markExecutionNamespace(ctx context.Context, s *scope) error {
	namespace, err := r.readExecutionNamespace(ctx, s)
	if err != nil || namespace == nil {
		return err
	}
	return r.labelExecutionNamespace(ctx, s, namespace)
}

func (r *Reconciler) labelExecutionNamespace(ctx context.Context, s *scope, namespace *corev1.Namespace) error {
	if s.ownerLabels.of(namespace) == ownedByUs {
		return nil
	}
	marked := namespace.DeepCopy()
	s.ownerLabels.put(marked)
	if err := r.verify(ctx, s); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(namespace, client.MergeFromWithOptimisticLock{})
	err := s.control.Patch(ctx, marked, patch, client.FieldOwner(Name))
	return r.failed(s.control, client.IgnoreNotFound(err), "mark namespace %q", namespace.Name)
}

// readExecutionNamespace reads the execution namespace; nil when there is none.
func (r *Reconciler) readExecutionNamespace(ctx context.Context, s *scope) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names.GenerateExecutionSpaceName(s.cluster.Name)}}
	err := s.control.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // None is an answer here, not an error.
	}
	return namespace, r.failed(s.control, err, "read namespace %q", namespace.Name)
}

// removeExecutionNamespace waits until the execution namespace is removed. Should a user have
// forced Karmada's object away, it is removed here; and finished when it is orphaned.
func (r *Reconciler) removeExecutionNamespace(ctx context.Context, s *scope) error {
	namespace, err := r.readExecutionNamespace(ctx, s)
	if err != nil || namespace == nil {
		return err
	}
	orphaned, err := r.withoutMember(ctx, s.control, s.cluster.Name)
	if err != nil {
		return err
	}
	if !orphaned || s.membership.MemberUID == "" && s.ownerLabels.of(namespace) != ownedByUs {
		return nil // It is of a member of this name that another client joined.
	}
	if err := r.labelExecutionNamespace(ctx, s, namespace); err != nil {
		return err
	}
	if namespace.DeletionTimestamp.IsZero() {
		if err := r.delete(ctx, s, s.control, namespace); err != nil {
			return err
		}
	} else if err := r.finishExecutionNamespace(ctx, s.control, namespace, r.undoing(s)); err != nil {
		return err
	}
	if r.lost(s) {
		s.leftBehindf("namespace %q in instance %q", namespace.Name, s.membership.Instance)
		return nil
	}
	return &phase.Stop{Retry: whileRemoving, Condition: v1alpha1.NotJoined(v1alpha1.ReasonLeaving,
		fmt.Sprintf("Instance %q is removing namespace %q.", s.membership.Instance, namespace.Name))}
}

// withoutMember reports whether an instance has no Cluster of a name, regardless of its owner.
func (r *Reconciler) withoutMember(ctx context.Context, control *remote, name string) (bool, error) {
	err := control.Get(ctx, client.ObjectKey{Name: name}, &clusterv1alpha1.Cluster{})
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return true, nil
	}
	return false, r.failed(control, err, "read Cluster %q", name)
}

// finishExecutionNamespace does for the Works of an orphaned execution namespace what Karmada no
// longer does: it deletes the objects that they created, and removes Karmada's finalizer from them.
// It only touches Works that are being deleted.
func (r *Reconciler) finishExecutionNamespace(ctx context.Context, control *remote, namespace *corev1.Namespace, undo func(context.Context, *workv1alpha1.Work) error) error {
	works := &workv1alpha1.WorkList{}
	if err := control.List(ctx, works, client.InNamespace(namespace.Name)); err != nil {
		return r.failed(control, err, "list Works")
	}
	for i := range works.Items {
		work := &works.Items[i]
		finished := work.DeepCopy()
		if work.DeletionTimestamp.IsZero() || !controllerutil.RemoveFinalizer(finished, karmadautil.ExecutionControllerFinalizer) {
			continue
		}
		if err := undo(ctx, work); err != nil {
			return err
		}
		patch := client.MergeFromWithOptions(work, client.MergeFromWithOptimisticLock{})
		err := control.Patch(ctx, finished, patch, client.FieldOwner(Name))
		if client.IgnoreNotFound(err) != nil {
			return r.failed(control, err, "finish Work %q", work.Name)
		}
		r.Metrics.orphanedWorks.Inc()
		log.FromContext(ctx).Info("Finished a Work of a member that Karmada does not know any more", "namespace", work.Namespace, "work", work.Name)
	}
	return nil
}

// undoing returns a function that deletes from the member the objects that a Work created. It waits
// for a member that cannot be reached as long as the whole removal does.
func (r *Reconciler) undoing(s *scope) func(context.Context, *workv1alpha1.Work) error {
	var member *remote
	return func(ctx context.Context, work *workv1alpha1.Work) (err error) {
		if member == nil {
			member, err = r.reachWidely(ctx, s)
		}
		if err == nil {
			err = r.undo(ctx, s, member, work)
		}
		if err != nil && ctx.Err() == nil && !s.outdated && (r.lost(s) || s.deleting() && r.patienceIsOver(s)) {
			s.leftWorkBehind(work.Name, strings.TrimSuffix(why(err), "."))
			return nil
		}
		return err
	}
}

// reachWidely connects to the member that was joined, with a client for any kind.
func (r *Reconciler) reachWidely(ctx context.Context, s *scope) (*remote, error) {
	to, err := r.Credentials.OfCluster(ctx, s.cluster)
	if errors.Is(err, connection.ErrMissing) || errors.Is(err, connection.ErrInvalid) {
		return nil, r.cannotBeCleaned(s, err)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %q: %w", s.cluster.Name, err)
	}
	member, err := r.reachForAnyKind(s.cluster.Name, to)
	if err != nil {
		return nil, err
	}
	id, err := r.systemIDOf(ctx, member)
	if err != nil {
		return nil, err
	}
	if joined := s.membership.KubeSystemID; joined != "" && id != joined {
		return nil, &phase.Stop{Retry: r.pauses.next(s.cluster.Name), Condition: v1alpha1.NotJoined(v1alpha1.ReasonLeaving, fmt.Sprintf(
			"The cluster that was joined to instance %q (%s) cannot be cleaned: %s is another one (%s).", s.membership.Instance, joined, to.Endpoint, id))}
	}
	return member, nil
}

// undo deletes from the member the objects that one Work created, and no others: their annotations
// name the Work. Like Karmada it keeps objects that the Work preserves.
func (r *Reconciler) undo(ctx context.Context, s *scope, member *remote, work *workv1alpha1.Work) error {
	if preserve := work.Spec.PreserveResourcesOnDeletion; preserve != nil && *preserve {
		return nil
	}
	for _, manifest := range work.Spec.Workload.Manifests {
		made := &unstructured.Unstructured{}
		if err := json.Unmarshal(manifest.Raw, made); err != nil {
			return fmt.Errorf("read Work %q: %w", work.Name, err)
		}
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(made.GroupVersionKind())
		err := member.Get(ctx, client.ObjectKeyFromObject(made), stored)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return r.failed(member, err, "read %s %q", made.GetKind(), made.GetName())
		}
		by := stored.GetAnnotations()
		if stored.GetLabels()[karmadautil.ManagedByKarmadaLabel] != karmadautil.ManagedByKarmadaLabelValue ||
			by[workv1alpha2.WorkNamespaceAnnotation] != work.Namespace || by[workv1alpha2.WorkNameAnnotation] != work.Name {
			continue // It is not what the Work made.
		}
		if err := r.verify(ctx, s); err != nil {
			return err
		}
		err = deleteAsRead(ctx, member, stored, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return r.failed(member, err, "delete %s %q", made.GetKind(), made.GetName())
		}
	}
	return nil
}
