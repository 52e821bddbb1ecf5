package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition finds a condition of an object by its type.
func Condition(object *unstructured.Unstructured, kind string) (status, reason, message string, ok bool) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		condition, isMap := c.(map[string]any)
		if isMap && condition["type"] == kind {
			text := func(key string) string { s, _ := condition[key].(string); return s }
			return text("status"), text("reason"), text("message"), true
		}
	}
	return "", "", "", false
}

// ConditionIs returns nothing when the condition has the status, else what it is instead.
func ConditionIs(object *unstructured.Unstructured, kind, want string) string {
	status, reason, message, ok := Condition(object, kind)
	switch {
	case !ok:
		return fmt.Sprintf("no condition %s yet", kind)
	case status != want:
		return fmt.Sprintf("condition %s is %s, not %s: %s: %s", kind, status, want, reason, message)
	default:
		return ""
	}
}

// Number reads a number of the object's status; 0 when it is absent.
func Number(object *unstructured.Unstructured, path ...string) int64 {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	switch n := value.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	default:
		return 0
	}
}
