// Package status writes the part of an object's status that one controller
// owns. Several controllers write the status of the same object; server-side
// apply keeps them out of each other's fields, and conditions are merged by
// type, so that nobody has to read the others' before writing.
package status

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Apply writes after, unless it equals before. Both hold nothing but what the
// owner owns: a field that is in before and not in after is removed. When the
// object is gone there is nobody to tell, which is no error. When another one
// has taken its name since it was read, that one gets a status of the past,
// until its own reconciliation, which its creation has already caused.
func Apply[Status any](ctx context.Context, kube client.Client, object client.Object, owner string, before, after *Status) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return fmt.Errorf("convert the status of %s: %w", object.GetName(), err)
	}
	gvk, err := apiutil.GVKForObject(object, kube.Scheme())
	if err != nil {
		return err
	}
	apply := &unstructured.Unstructured{Object: map[string]any{"status": fields}}
	apply.SetGroupVersionKind(gvk)
	apply.SetName(object.GetName())
	if err := kube.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(apply),
		client.FieldOwner(owner), client.ForceOwnership); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of %s %q: %w", gvk.Kind, object.GetName(), err)
	}
	return nil
}

// Conditions are the given conditions as they follow those that the object has:
// the transition time moves only when the status does.
func Conditions(existing []metav1.Condition, generation int64, now ...metav1.Condition) []metav1.Condition {
	var result []metav1.Condition
	for _, condition := range now {
		if old := meta.FindStatusCondition(existing, condition.Type); old != nil {
			result = append(result, *old)
		}
		condition.ObservedGeneration = generation
		meta.SetStatusCondition(&result, condition)
	}
	return result
}

// Pick are those of the conditions that have one of the types.
func Pick(existing []metav1.Condition, types ...string) []metav1.Condition {
	var result []metav1.Condition
	for _, kind := range types {
		if condition := meta.FindStatusCondition(existing, kind); condition != nil {
			result = append(result, *condition)
		}
	}
	return result
}
