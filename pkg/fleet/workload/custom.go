package workload

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// templates are custom workloads of one kind of one instance in one answer, whose templates the index does
// not have. The instance is asked for all of them at once, when the first is asked for.
type templates struct {
	names []object.Name
	once  sync.Once
	found map[object.Name]*object.Object
	err   error
}

// ReadTemplates reads custom resources of a kind of an instance; *resource.Service.OfKind does.
type ReadTemplates func(ctx context.Context, instance string, of schema.GroupVersionKind, names []object.Name) (map[object.Name]*object.Object, error)

// add adds a custom workload to those of the answer.
func (in *setting) add(c *CustomWorkload) {
	if c.Indexed.Whole() {
		return
	}
	if in.custom == nil {
		in.custom = map[schema.GroupVersionKind]*templates{}
	}
	of := in.custom[c.gvk()]
	if of == nil {
		of = &templates{}
		in.custom[c.gvk()] = of
	}
	of.names = append(of.names, c.named())
}

func (c *CustomWorkload) named() object.Name {
	return object.Name{Instance: c.Instance, Namespace: c.Namespace(), Name: c.Name()}
}

// Whole returns the whole resource. One that the index does not have is read, with the others of its
// kind in the answer. An error comes with the names of the resource.
func (c *CustomWorkload) Whole(ctx context.Context, read ReadTemplates) (*object.Object, error) {
	if c.Indexed.Whole() {
		return &c.Object, nil
	}
	of := c.setting.custom[c.gvk()]
	of.once.Do(func() { of.found, of.err = read(ctx, c.Instance, c.gvk(), of.names) })
	whole, err := of.found[c.named()], of.err
	if err == nil && whole == nil {
		err = apierror.In(apierror.NotFound(c.ObjectKind(), c.Namespace()+"/"+c.Name()), c.Instance)
	}
	if err != nil {
		named := c.Object
		named.Indexed = c.Indexed.Named()
		return &named, err
	}
	return whole, nil
}
