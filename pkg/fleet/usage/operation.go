package usage

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/requeststats"
)

// measurements are those of a list, by the names of the pods or nodes.
type measurements map[types.NamespacedName]*measurement

// target is a list of a member's metrics API.
type target struct {
	instance, member string
	// resource is nodes or pods; empty for what the API serves.
	resource string
	// namespace is that of the pods; empty for all.
	namespace string
}

// operation is what one operation reads. Each list is read once.
type operation struct {
	mu    sync.Mutex
	lists map[target]func() (measurements, error)
	// expected are the namespaces, by instance, of pods that will be asked about; an empty name stands for any.
	expected map[string]map[string]bool
	// narrow counts the namespaces of a member that are read one by one.
	narrow map[target]int
}

type operationKey struct{}

// With returns a context for a new operation.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, operationKey{}, newOperation())
}

func newOperation() *operation {
	return &operation{lists: map[target]func() (measurements, error){}, expected: map[string]map[string]bool{}, narrow: map[target]int{}}
}

// from returns the operation of a context. Without one, each read is an operation of its own.
func from(ctx context.Context) *operation {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		return o
	}
	return newOperation()
}

// Expect announces that pods in some namespaces of an instance will be asked about, so that they can be
// read together. No names stand for any namespaces.
func Expect(ctx context.Context, instance string, namespaces ...string) {
	o := from(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		o.expect(instance, namespace)
	}
}

func (o *operation) expect(instance, namespace string) {
	if o.expected[instance] == nil {
		o.expected[instance] = map[string]bool{}
	}
	o.expected[instance][namespace] = true
}

// choose returns the list to find a pod in: that of its namespace if it is known or none other is
// expected, otherwise that of all namespaces.
func (o *operation) choose(pod target) target {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lists[pod] != nil {
		return pod
	}
	o.expect(pod.instance, pod.namespace)
	if expected := o.expected[pod.instance]; len(expected) > 1 || expected[""] {
		pod.namespace = ""
	}
	return pod
}

// mayNarrow reports whether one more namespace of a member may be read alone.
func (o *operation) mayNarrow(pod target) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lists[pod] != nil {
		return true
	}
	member := target{instance: pod.instance, member: pod.member}
	if o.narrow[member] == mostNamespaces {
		return false
	}
	o.narrow[member]++
	return true
}

// once reads a list, or waits for who does.
func (o *operation) once(ctx context.Context, of target, read func() (measurements, error)) (measurements, error) {
	o.mu.Lock()
	list := o.lists[of]
	if list != nil {
		requeststats.From(ctx).Look(requeststats.Rows, 1, 0)
	} else {
		requeststats.From(ctx).Look(requeststats.Rows, 0, 1)
		list = sync.OnceValues(read)
		o.lists[of] = list
	}
	o.mu.Unlock()
	return list()
}
