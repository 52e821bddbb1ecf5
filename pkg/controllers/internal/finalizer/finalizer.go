// Package finalizer puts a controller's finalizer on an object before it makes
// anything for it, and takes it off once nothing of that is left.
package finalizer

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kairship-io/kairship/pkg/controllers/internal/writecache"
)

// Hold keeps an object from vanishing before it is released. An object that another
// client has changed since it was read is left alone, with a conflict as the error; what
// controllers of the same process wrote of its status and finalizers does not count.
func Hold(ctx context.Context, c client.Client, object client.Object, name string) error {
	if controllerutil.ContainsFinalizer(object, name) {
		return nil
	}
	defer writecache.Lock(c, object)()
	writecache.Refresh(ctx, c, object)
	before, err := copyOf(object)
	if err != nil || !controllerutil.AddFinalizer(object, name) {
		return err
	}
	if err := c.Patch(ctx, object, since(before)); err != nil {
		return fmt.Errorf("add the finalizer to %s: %w", called(c, object), err)
	}
	return nil
}

// Release lets an object go, as far as this finalizer is concerned. One that no longer exists
// already is no error.
func Release(ctx context.Context, c client.Client, object client.Object, name string) error {
	if !controllerutil.ContainsFinalizer(object, name) {
		return nil
	}
	defer writecache.Lock(c, object)()
	writecache.Refresh(ctx, c, object)
	before, err := copyOf(object)
	if err != nil || !controllerutil.RemoveFinalizer(object, name) {
		return err
	}
	if err := c.Patch(ctx, object, since(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the finalizer from %s: %w", called(c, object), err)
	}
	return nil
}

func copyOf(object client.Object) (client.Object, error) {
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", object)
	}
	return before, nil
}

// since is what has changed. Finalizers are a list, which a merge patch replaces
// as a whole: without the lock it would take another controller's off again.
func since(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// called is how a person knows the object.
func called(c client.Client, object client.Object) string {
	kind := "object"
	if is, err := apiutil.GVKForObject(object, c.Scheme()); err == nil {
		kind = is.Kind
	}
	return fmt.Sprintf("%s %q", kind, object.GetName())
}
