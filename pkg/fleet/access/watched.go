package access

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
)

// Watched reads Instances, Clusters and InstanceRoleBindings from the watch on the global cluster, as
// far as the user of the context may see them. A hidden one is not found.
type Watched struct {
	reader client.Reader
	access *Access
}

var _ client.Reader = (*Watched)(nil)

// NewWatched makes a Watched that reads from a cache.
func NewWatched(reader client.Reader, permissions Permissions) *Watched {
	return &Watched{reader: reader, access: New(permissions)}
}

// Get implements client.Reader. Where the name suffices, the visibility is decided first, so that a
// hidden object takes the path of a missing one.
func (w *Watched) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	switch o := obj.(type) {
	case *v1alpha1.Instance:
		return w.getInstance(ctx, key, o, opts)
	case *v1alpha1.Cluster:
		return w.getCluster(ctx, key, o, opts)
	}
	return unconfined(obj)
}

func (w *Watched) getInstance(ctx context.Context, key client.ObjectKey, i *v1alpha1.Instance, opts []client.GetOption) error {
	grant, visible, err := w.access.Instance(ctx, key.Name)
	note(ctx, err, key.Name, visible)
	switch {
	case err != nil:
		return err
	case !visible:
		return apierrors.NewNotFound(v1alpha1.InstanceResource.GroupResource(), key.Name)
	}
	if err := w.reader.Get(ctx, key, i, opts...); err != nil {
		return err
	}
	if !grant.CanRead("") {
		i.Status.Summary = nil
	}
	return nil
}

func (w *Watched) getCluster(ctx context.Context, key client.ObjectKey, c *v1alpha1.Cluster, opts []client.GetOption) error {
	var found v1alpha1.Cluster
	if err := w.reader.Get(ctx, key, &found, opts...); err != nil {
		if !apierrors.IsNotFound(err) {
			return err
		}
		// Nothing to show; but whether anything can be shown now is answered alike.
		if _, _, undecided := w.access.Instance(ctx, ""); undecided != nil {
			note(ctx, undecided, "", false)
			return undecided
		}
		return err
	}
	kept, err := w.access.Clusters(ctx, []v1alpha1.Cluster{found})
	note(ctx, err, InstanceOfCluster(&found), len(kept) == 1)
	switch {
	case err != nil:
		return err
	case len(kept) == 0:
		return apierrors.NewNotFound(v1alpha1.ClusterResource.GroupResource(), key.Name)
	}
	*c = kept[0]
	return nil
}

// List implements client.Reader. It asks for permissions once, whatever the
// number of objects.
func (w *Watched) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch l := list.(type) {
	case *v1alpha1.InstanceList:
		return w.listInstances(ctx, l, opts)
	case *v1alpha1.ClusterList:
		return w.listClusters(ctx, l, opts)
	case *v1alpha1.InstanceRoleBindingList:
		return w.listRoleBindings(ctx, l, opts)
	}
	return unconfined(list)
}

func (w *Watched) listInstances(ctx context.Context, into *v1alpha1.InstanceList, opts []client.ListOption) error {
	var all v1alpha1.InstanceList
	if err := w.reader.List(ctx, &all, opts...); err != nil {
		return err
	}
	names := make([]string, len(all.Items))
	for i := range all.Items {
		names[i] = all.Items[i].Name
	}
	v, err := w.access.permissions.For(ctx, names...)
	if err != nil {
		audit.From(ctx).Fail()
		return err
	}
	record := audit.From(ctx)
	kept := all.Items[:0]
	for i := range all.Items {
		grant, visible := v.Instance(all.Items[i].Name)
		if !visible {
			continue
		}
		record.Permit(all.Items[i].Name)
		kept = append(kept, all.Items[i])
		if !grant.CanRead("") {
			// What the item points to may be the cache's own, the item itself is a copy.
			kept[len(kept)-1].Status.Summary = nil
		}
	}
	all.Items = kept
	*into = all
	return nil
}

func (w *Watched) listClusters(ctx context.Context, into *v1alpha1.ClusterList, opts []client.ListOption) error {
	var all v1alpha1.ClusterList
	if err := w.reader.List(ctx, &all, opts...); err != nil {
		return err
	}
	kept, err := w.access.Clusters(ctx, all.Items)
	if err != nil {
		audit.From(ctx).Fail()
		return err
	}
	all.Items = kept
	*into = all
	return nil
}

// unconfined refuses to read what has no rule that confines it.
func unconfined(object any) error {
	return fmt.Errorf("reading %T: nothing says who may see it", object)
}
