// Package removal decides when controllers remove what they created for an Instance. That is
// not when the Instance is deleted: instance-lifecycle keeps it while clusters are joined to
// it, which may take days, and until then its users need everything as it was.
package removal

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Begun reports whether an Instance was deleted and the controller with the finalizer has to
// remove what it created for it. A controller whose finalizer is not on the Instance has
// nothing to keep, and cannot add it any more: the API server refuses new finalizers on
// objects that are being deleted.
func Begun(instance *v1alpha1.Instance, finalizer string) bool {
	return !instance.DeletionTimestamp.IsZero() && (!kept(instance) || !controllerutil.ContainsFinalizer(instance, finalizer))
}

// kept reports whether clusters are joined to an Instance, or that it is not known yet
// whether they are. instance-lifecycle, which says so, holds the Instance until it has
// looked: to wait for its word keeps the Instance no longer than that.
func kept(instance *v1alpha1.Instance) bool {
	if !controllerutil.ContainsFinalizer(instance, v1alpha1.LifecycleFinalizer) || instance.Annotations[v1alpha1.ForceDeleteAnnotation] == "true" {
		return false
	}
	removable := meta.FindStatusCondition(instance.Status.Conditions, v1alpha1.ConditionRemovable)
	return removable == nil || removable.Status == metav1.ConditionFalse && removable.Reason == v1alpha1.ReasonClustersJoined
}

// BegunChanged lets updates through with which the result of Begun changes.
func BegunChanged(finalizer string) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Instance)
		after, also := e.ObjectNew.(*v1alpha1.Instance)
		return ok && also && Begun(before, finalizer) != Begun(after, finalizer)
	}}
}
