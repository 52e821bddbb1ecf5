// Package object implements the GraphQL fields that all Kubernetes objects have.
package object

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Pair is a label or an annotation. There is no alias for either: the generator of
// the GraphQL server would write now the one, now the other name.
type Pair struct {
	Key, Value string
}

// Pairs lists a map in the order of its keys.
func Pairs(m map[string]string) []Pair {
	pairs := make([]Pair, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, Pair{k, v})
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Key, b.Key) })
	return pairs
}

// Condition is one observed aspect of an object's state.
type Condition struct {
	Type, Status, Reason, Message string
	LastTransitionTime            *time.Time
	ObservedGeneration            *int64
}

// Conditions converts Kubernetes' conditions into those of the API, in the same order.
func Conditions(in []metav1.Condition) []Condition {
	out := make([]Condition, len(in))
	for i, c := range in {
		out[i] = Condition{
			Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message,
			LastTransitionTime: Time(c.LastTransitionTime),
		}
		if c.ObservedGeneration != 0 {
			out[i].ObservedGeneration = &c.ObservedGeneration
		}
	}
	return out
}

// Time is a moment in UTC; nil for the zero time.
func Time(t metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// Optional is nil for the zero value.
func Optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// ReadyCount is how many there are and how many of them are ready.
type ReadyCount struct {
	Total, Ready int
}

// ReadyCountOf is a count as a status has it.
func ReadyCountOf(in v1alpha1.ReadyCount) ReadyCount {
	return ReadyCount{Total: int(in.Total), Ready: int(in.Ready)}
}

// Capacity is a resource that can be allocated, in the unit of the field that holds it.
type Capacity struct {
	Allocatable, Allocated float64
}

// CapacityOf is a capacity as a status has it.
func CapacityOf(in v1alpha1.Capacity) Capacity {
	return Capacity{Allocatable: in.Allocatable.AsApproximateFloat64(), Allocated: in.Allocated.AsApproximateFloat64()}
}

// ComputeResources are amounts of CPU in cores and of memory in bytes; nil where none is given.
type ComputeResources struct {
	CPU, Memory *float64
}

// ComputeResourcesOf are those of a list as Kubernetes has it.
func ComputeResourcesOf(in corev1.ResourceList) ComputeResources {
	of := func(name corev1.ResourceName) *float64 {
		if q, given := in[name]; given {
			return new(q.AsApproximateFloat64())
		}
		return nil
	}
	return ComputeResources{CPU: of(corev1.ResourceCPU), Memory: of(corev1.ResourceMemory)}
}

// JoinReason makes one text of a condition's reason and message.
func JoinReason(reason, message string) string {
	message = strings.TrimSpace(message)
	switch {
	case message == "":
		return reason
	case reason == "":
		return message
	}
	return reason + ": " + message
}
