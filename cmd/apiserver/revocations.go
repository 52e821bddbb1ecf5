package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// flushInterval is the least time between two flushes. A stream of bindings, for
// example of a resync of global management, must not have every request ask for
// permissions anew.
const flushInterval = 200 * time.Millisecond

// flushOnRoleChanges forgets what is known of permissions whenever a binding
// changes: when a user changes it, and when its controller says in its status
// that the global cluster's RBAC is as the binding wants it. Between the two,
// what was true before may be learned once more; that is forgotten without a flush in
// seconds, as after a change of RBAC without a change of a binding.
func flushOnRoleChanges(ctx context.Context, inventory cache.Cache, flush func()) error {
	informer, err := inventory.GetInformer(ctx, &v1alpha1.InstanceRoleBinding{})
	if err != nil {
		return fmt.Errorf("watching InstanceRoleBindings: %w", err)
	}
	changed := make(chan struct{}, 1)
	if _, err := informer.AddEventHandler(onChange(func() {
		select {
		case changed <- struct{}{}:
		default: // A flush that has not begun yet is one for this change too.
		}
	})); err != nil {
		return fmt.Errorf("watching InstanceRoleBindings: %w", err)
	}
	go flushEach(ctx, changed, flushInterval, flush)
	return nil
}

// onChange calls a function when an object changed, but not for those that were
// there at the start, nor for the informer's own repetitions.
func onChange(tell func()) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, initial bool) {
			if !initial {
				tell()
			}
		},
		UpdateFunc: func(before, after any) {
			old, okOld := before.(metav1.Object)
			now, ok := after.(metav1.Object)
			if !ok || !okOld || old.GetResourceVersion() != now.GetResourceVersion() {
				tell()
			}
		},
		DeleteFunc: func(any) { tell() },
	}
}

// flushEach flushes after every change, at once after the first and then at most
// once in an interval.
func flushEach(ctx context.Context, changed <-chan struct{}, interval time.Duration, flush func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			flush()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}
