// Package status writes the part of an object's status that one controller
// owns. Several controllers write the status of the same object; server-side
// apply keeps them out of each other's fields, and conditions are merged by
// type, so that no controller has to read the others' before writing.
package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
