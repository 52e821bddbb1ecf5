package status

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kairship-io/kairship/pkg/controllers/internal/writecache"
)

// attempts are how often a write is repeated because another client wrote another
// part of the same object meanwhile.
const attempts = 5

// Apply writes after, unless it equals before. Both hold nothing but what the
// owner owns, and before is what object, as it was read, said: a field that is in
// before and not in after is removed. When the object no longer exists, or another one has
// taken its name, there is no reader, which is no error.
//
// The write is for the version of the object that was read. Another controller's
// write of its own part does not stand in the way; but when the owner's own part
// is not what it was, Apply changes nothing and returns a conflict: the cache is
// behind, or this process was frozen and another replica leads by now.
//
// The owner's part is what before or after has. The fields of the status that are
// named in addition belong to it as a whole, also while neither has them: a field that
// another replica has filled since is a conflict, and not removed.
func Apply[Status any](ctx context.Context, kube client.Client, object client.Object, owner string, before, after *Status, owned ...string) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	w, err := newWrite(kube, object, owner, before, after, owned)
	if err != nil {
		return fmt.Errorf("convert the status of %s: %w", object.GetName(), err)
	}
	defer writecache.Lock(kube, object)()
	read := object.GetResourceVersion()
	known := w.known(ctx, object)
	version, err := w.send(ctx, known)
	if err == nil {
		if known == read {
			// What the caller read and this write are all there is in it.
			object.SetResourceVersion(version)
		}
		return nil
	}
	for range attempts {
		if !apierrors.IsConflict(err) {
			break
		}
		now, readErr := w.read(ctx)
		switch {
		case readErr != nil:
			err = readErr
			continue
		case now.GetUID() != object.GetUID():
			return nil
		case w.says(now, w.after):
			return nil
		case !w.says(now, w.before):
			return fmt.Errorf("write the status of %s %q: it is not what it was when it was read: %w", w.gvk, w.name, err)
		}
		if _, err = w.send(ctx, now.GetResourceVersion()); err == nil {
			return nil
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of %s %q: %w", w.gvk, w.name, err)
	}
	return nil
}

// ApplyExact is Apply for the very version of the object that was read: it returns a
// conflict when anything of the object has changed since.
func ApplyExact[Status any](ctx context.Context, kube client.Client, object client.Object, owner string, before, after *Status) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	w, err := newWrite(kube, object, owner, before, after, nil)
	if err != nil {
		return fmt.Errorf("convert the status of %s: %w", object.GetName(), err)
	}
	defer writecache.Lock(kube, object)()
	if _, err := w.send(ctx, object.GetResourceVersion()); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of %s %q: %w", w.gvk, w.name, err)
	}
	return nil
}

// write is a pending write of one object's status.
type write struct {
	kube          client.Client
	owner         string
	gvk           string
	name          string
	empty         *unstructured.Unstructured
	before, after map[string]any
	// owned are the fields of the status that are the owner's as a whole.
	owned []string
}

func newWrite(kube client.Client, object client.Object, owner string, before, after any, owned []string) (*write, error) {
	gvk, err := apiutil.GVKForObject(object, kube.Scheme())
	if err != nil {
		return nil, err
	}
	w := &write{kube: kube, owner: owner, gvk: gvk.Kind, name: object.GetName(), empty: &unstructured.Unstructured{}, owned: owned}
	w.empty.SetGroupVersionKind(gvk)
	w.empty.SetName(object.GetName())
	if w.before, err = runtime.DefaultUnstructuredConverter.ToUnstructured(before); err != nil {
		return nil, err
	}
	w.after, err = runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	return w, err
}

// known is the version that the write is for. Others may have written their parts
// since the object was read, as during a wait: when the cache has
// that by now, and the owner's part is the same, it is for the version in the cache.
func (w *write) known(ctx context.Context, object client.Object) string {
	read := object.GetResourceVersion()
	cached, ok := object.DeepCopyObject().(client.Object)
	if !ok || w.kube.Get(ctx, client.ObjectKeyFromObject(object), cached) != nil ||
		cached.GetUID() != object.GetUID() || !writecache.Newer(cached.GetResourceVersion(), read) {
		return read
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cached)
	if err != nil || !w.says(&unstructured.Unstructured{Object: fields}, w.before) {
		return read
	}
	return cached.GetResourceVersion()
}

// send writes, provided that the object has a version, and gives the version after.
func (w *write) send(ctx context.Context, version string) (string, error) {
	apply := w.empty.DeepCopy()
	apply.SetResourceVersion(version)
	apply.Object["status"] = runtime.DeepCopyJSON(w.after)
	err := w.kube.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(apply), client.FieldOwner(w.owner), client.ForceOwnership)
	return apply.GetResourceVersion(), err
}

// read is the object as it is now. The client reads from a cache, which is behind;
// a change of nothing is answered by the API server.
func (w *write) read(ctx context.Context) (*unstructured.Unstructured, error) {
	now := w.empty.DeepCopy()
	err := w.kube.Status().Patch(ctx, now, client.RawPatch(types.MergePatchType, []byte("{}")), client.DryRunAll, client.FieldOwner(w.owner))
	return now, err
}

// says reports whether the owner's part of an object is as given.
func (w *write) says(now *unstructured.Unstructured, given map[string]any) bool {
	status, _, _ := unstructured.NestedMap(now.Object, "status")
	for _, name := range w.owned {
		if !agree(status[name], given[name]) {
			return false
		}
	}
	return agree(status, given, w.before, w.after)
}

// agree compares two values as far as the scope reaches: the fields that any of its
// values has. Conditions are compared by type.
func agree(a, b any, scope ...any) bool {
	fields := map[string][]any{}
	deeper := false
	for _, value := range scope {
		object, is := asObject(value)
		deeper = deeper || is
		for name := range object {
			if fields[name] != nil {
				continue
			}
			for _, each := range scope {
				inner, _ := asObject(each)
				fields[name] = append(fields[name], inner[name])
			}
		}
	}
	if !deeper {
		return empty(a) && empty(b) || equality.Semantic.DeepEqual(a, b)
	}
	inA, _ := asObject(a)
	inB, _ := asObject(b)
	for name, inner := range fields {
		if !agree(inA[name], inB[name], inner...) {
			return false
		}
	}
	return true
}

// asObject gives the fields of a value: those of an object, and of a list of
// conditions the conditions by type.
func asObject(value any) (map[string]any, bool) {
	switch value := value.(type) {
	case map[string]any:
		return value, true
	case []any:
		byType := map[string]any{}
		for _, item := range value {
			condition, _ := item.(map[string]any)
			kind, named := condition["type"].(string)
			if !named {
				return nil, false
			}
			byType[kind] = condition
		}
		return byType, len(byType) > 0
	}
	return nil, false
}

// empty reports whether a value is equivalent to none.
func empty(value any) bool {
	return value == nil || reflect.ValueOf(value).IsZero() || reflect.ValueOf(value).Kind() == reflect.Slice && reflect.ValueOf(value).Len() == 0 ||
		reflect.ValueOf(value).Kind() == reflect.Map && reflect.ValueOf(value).Len() == 0
}
