package credentials

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// secretIndex finds the Instances or Clusters that refer to a Secret.
const secretIndex = "credentials.secret"

// RegisterIndexes adds the indexes that the watches need. It is called once per
// manager, before any controller is set up.
func RegisterIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		secret func(client.Object) []string
	}{
		{&v1alpha1.Instance{}, secretOfInstance},
		{&v1alpha1.Cluster{}, secretOfCluster},
	} {
		if err := indexer.IndexField(ctx, index.object, secretIndex, index.secret); err != nil {
			return fmt.Errorf("index %T by Secret: %w", index.object, err)
		}
	}
	return nil
}

func secretOfInstance(object client.Object) []string {
	instance, ok := object.(*v1alpha1.Instance)
	if !ok || instance.CredentialsRef() == nil {
		return nil
	}
	return []string{instance.CredentialsRef().NamespacedName().String()}
}

func secretOfCluster(object client.Object) []string {
	cluster, ok := object.(*v1alpha1.Cluster)
	if !ok || cluster.Spec.CredentialsSecretRef == nil {
		return nil
	}
	return []string{cluster.Spec.CredentialsSecretRef.NamespacedName().String()}
}

// ProvenOtherwise lets through that other credentials than before may be used for an
// Instance, or that none may be used any more.
func ProvenOtherwise() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Instance)
		after, also := e.ObjectNew.(*v1alpha1.Instance)
		return ok && also && ((before.NotItsOwn() == nil) != (after.NotItsOwn() == nil) ||
			!equality.Semantic.DeepEqual(before.Status.ControlPlane, after.Status.ControlPlane))
	}}
}

// InstancesOf wakes the Instances whose Secret changed.
func InstancesOf(all cache.Cache) source.Source {
	return source.Kind(all, Metadata(), handler.TypedEnqueueRequestsFromMapFunc(users(all, func() client.ObjectList { return &v1alpha1.InstanceList{} })))
}

// ClustersOf wakes the Clusters whose Secret changed.
func ClustersOf(all cache.Cache) source.Source {
	return source.Kind(all, Metadata(), handler.TypedEnqueueRequestsFromMapFunc(ClustersUsing(all)))
}

// ClustersUsing finds the Clusters that refer to a Secret, for a controller whose
// objects are others.
func ClustersUsing(reader client.Reader) handler.TypedMapFunc[*metav1.PartialObjectMetadata, reconcile.Request] {
	return users(reader, func() client.ObjectList { return &v1alpha1.ClusterList{} })
}

// users returns the objects of one kind that refer to a Secret.
func users(reader client.Reader, newList func() client.ObjectList) handler.TypedMapFunc[*metav1.PartialObjectMetadata, reconcile.Request] {
	return func(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
		list := newList()
		name := client.ObjectKeyFromObject(secret)
		if err := reader.List(ctx, list, client.MatchingFields{secretIndex: name.String()}); err != nil {
			log.FromContext(ctx).Error(err, "Cannot find out who uses a Secret that changed", "secret", name)
			return nil
		}
		var found []reconcile.Request
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err == nil {
				found = append(found, reconcile.Request{NamespacedName: types.NamespacedName{Name: object.GetName()}})
			}
			return err
		})
		if err != nil {
			log.FromContext(ctx).Error(err, "Cannot tell who uses a Secret that changed", "secret", name)
		}
		return found
	}
}
