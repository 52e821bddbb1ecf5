package snapshot

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// ErrReadOnly is the error of every write to a snapshot.
var ErrReadOnly = errors.New("a snapshot cannot be changed by a request")

// Snapshot is a client that reads a fixed set of typed objects. Several goroutines
// may read it at once.
type Snapshot struct {
	scheme  *runtime.Scheme
	objects map[schema.GroupVersionKind]map[client.ObjectKey]client.Object
	order   map[schema.GroupVersionKind][]client.ObjectKey
}

var _ client.Client = (*Snapshot)(nil)

// New makes a snapshot of objects whose types are registered in the scheme. Of two
// objects with one kind, namespace and name the last one counts, so that a draft
// takes the place of what it changes. The objects must not be changed later.
func New(scheme *runtime.Scheme, objects ...client.Object) (*Snapshot, error) {
	s := &Snapshot{
		scheme:  scheme,
		objects: map[schema.GroupVersionKind]map[client.ObjectKey]client.Object{},
		order:   map[schema.GroupVersionKind][]client.ObjectKey{},
	}
	for _, o := range objects {
		gvk, err := apiutil.GVKForObject(o, scheme)
		if err != nil {
			return nil, err
		}
		if s.objects[gvk] == nil {
			s.objects[gvk] = map[client.ObjectKey]client.Object{}
		}
		key := client.ObjectKeyFromObject(o)
		if _, known := s.objects[gvk][key]; !known {
			s.order[gvk] = append(s.order[gvk], key)
		}
		s.objects[gvk][key] = o
	}
	return s, nil
}

// Get copies an object into obj. An object that is not in the snapshot is not found.
func (s *Snapshot) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(obj, s.scheme)
	if err != nil {
		return err
	}
	found, known := s.objects[gvk][key]
	if !known {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.String())
	}
	from, to := reflect.ValueOf(found.DeepCopyObject()), reflect.ValueOf(obj)
	if from.Type() != to.Type() {
		return fmt.Errorf("%s of the snapshot is a %s, and is asked for as a %s", key, from.Type(), to.Type())
	}
	to.Elem().Set(from.Elem())
	return nil
}

// List copies the objects of one kind into list, in the order in which they were
// given. Selectors of fields are not supported.
func (s *Snapshot) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(list, s.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	o := (&client.ListOptions{}).ApplyOptions(opts)
	if o.FieldSelector != nil && !o.FieldSelector.Empty() {
		return errors.New("a snapshot cannot select by fields")
	}
	selector := o.LabelSelector
	if selector == nil {
		selector = labels.Everything()
	}
	items := []runtime.Object{}
	for _, key := range s.order[gvk] {
		found := s.objects[gvk][key]
		if (o.Namespace == "" || o.Namespace == key.Namespace) && selector.Matches(labels.Set(found.GetLabels())) {
			items = append(items, found.DeepCopyObject())
		}
	}
	return meta.SetList(list, items)
}

// Scheme returns the scheme of the objects.
func (s *Snapshot) Scheme() *runtime.Scheme { return s.scheme }

// GroupVersionKindFor returns the kind of an object.
func (s *Snapshot) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, s.scheme)
}

// RESTMapper returns nil: a snapshot knows nothing of resources.
func (*Snapshot) RESTMapper() meta.RESTMapper { return nil }

// IsObjectNamespaced fails: a snapshot knows nothing of resources.
func (*Snapshot) IsObjectNamespaced(runtime.Object) (bool, error) {
	return false, errors.New("a snapshot does not know which kinds have namespaces")
}

// Create fails with ErrReadOnly.
func (*Snapshot) Create(context.Context, client.Object, ...client.CreateOption) error {
	return ErrReadOnly
}

// Update fails with ErrReadOnly.
func (*Snapshot) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return ErrReadOnly
}

// Patch fails with ErrReadOnly.
func (*Snapshot) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return ErrReadOnly
}

// Apply fails with ErrReadOnly.
func (*Snapshot) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return ErrReadOnly
}

// Delete fails with ErrReadOnly.
func (*Snapshot) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return ErrReadOnly
}

// DeleteAllOf fails with ErrReadOnly.
func (*Snapshot) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return ErrReadOnly
}

// Status returns a client whose requests fail with ErrReadOnly.
func (s *Snapshot) Status() client.SubResourceWriter { return s.SubResource("status") }

// SubResource returns a client whose requests fail with ErrReadOnly.
func (*Snapshot) SubResource(string) client.SubResourceClient { return readOnly{} }

type readOnly struct{}

func (readOnly) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return ErrReadOnly
}

func (readOnly) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return ErrReadOnly
}

func (readOnly) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	return ErrReadOnly
}

func (readOnly) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return ErrReadOnly
}

func (readOnly) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return ErrReadOnly
}
