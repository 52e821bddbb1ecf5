// Package departure says when what was made for an Instance is to go. That is not when
// it is deleted: instance-lifecycle keeps an Instance while clusters are joined to it,
// which may take days, and the user who empties them needs it as it was.
package departure

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Begun reports whether an Instance was deleted and that what was made for it is to go, as
// far as the controller with the finalizer is concerned. One that does not hold it has
// nothing to keep, and cannot hold it any more: finalizers are not put on what is
// being deleted.
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

// Turned lets through the updates with which it begins, or is put off.
func Turned(finalizer string) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Instance)
		after, also := e.ObjectNew.(*v1alpha1.Instance)
		return ok && also && Begun(before, finalizer) != Begun(after, finalizer)
	}}
}
