package instancelifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// What an Instance lets go, with deletionPolicy Retain, loses the label with the
// UID of its owner and keeps the others. The next Instance of the name finds by
// them what it may take over.

// letGo reports whether an object was made for an Instance of this name and let go.
func letGo(object client.Object, instance *v1alpha1.Instance) bool {
	labels := object.GetLabels()
	return labels[v1alpha1.ManagedByLabel] == v1alpha1.ManagedByValue &&
		labels[v1alpha1.InstanceLabel] == instance.Name && labels[v1alpha1.OwnerUIDLabel] == ""
}

// retainedFor reports whether a Karmada was let go and that the Instance may take it
// over: the host has to be the same.
func retainedFor(karmada *operatorv1alpha1.Karmada, instance *v1alpha1.Instance) bool {
	return letGo(karmada, instance) && karmada.Annotations[v1alpha1.RetainedAnnotation] == instance.Spec.HostCluster
}

// mark sets the Instance's owner labels on an object. It sets no owner reference: the garbage
// collector would delete retained objects.
func (s *scope) mark(object client.Object) {
	labels := maps.Clone(object.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, s.owner.Labels())
	object.SetLabels(labels)
}

// takeOver makes the Instance the owner of an object that was released.
func (r *Reconciler) takeOver(ctx context.Context, s *scope, object client.Object) error {
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", object)
	}
	s.mark(object)
	if err := r.Client.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("take over %s: %w", object.GetName(), err)
	}
	return nil
}

// leave releases an object that the Instance owns, and reports whether it did.
func (r *Reconciler) leave(ctx context.Context, s *scope, object client.Object, key client.ObjectKey, annotations map[string]any) (bool, error) {
	err := r.Live.Get(ctx, key, object)
	switch {
	case unserved(err):
		return false, err
	case apierrors.IsNotFound(err), err == nil && !s.owner.Owns(object):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read %s: %w", key, err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": object.GetResourceVersion(),
		"labels":          map[string]any{v1alpha1.OwnerUIDLabel: nil},
		"annotations":     annotations,
	}})
	if err != nil {
		return false, err
	}
	if err := r.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("let go of %s: %w", key, err)
	}
	return true, nil
}
