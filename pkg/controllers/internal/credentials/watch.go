package credentials

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
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

// InstancesOf wakes the Instances whose Secret changed.
func InstancesOf(all cache.Cache) source.Source {
	return watch(all, func() client.ObjectList { return &v1alpha1.InstanceList{} })
}

// ClustersOf wakes the Clusters whose Secret changed.
func ClustersOf(all cache.Cache) source.Source {
	return watch(all, func() client.ObjectList { return &v1alpha1.ClusterList{} })
}

func watch(all cache.Cache, newList func() client.ObjectList) source.Source {
	return source.Kind(all, Metadata(), handler.TypedEnqueueRequestsFromMapFunc(
		func(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
			list := newList()
			name := client.ObjectKeyFromObject(secret)
			if err := all.List(ctx, list, client.MatchingFields{secretIndex: name.String()}); err != nil {
				log.FromContext(ctx).Error(err, "Cannot find out who uses a Secret that changed", "secret", name)
				return nil
			}
			return requests(list)
		}))
}

func requests(list client.ObjectList) []reconcile.Request {
	var found []reconcile.Request
	add := func(name string) {
		found = append(found, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
	switch list := list.(type) {
	case *v1alpha1.InstanceList:
		for i := range list.Items {
			add(list.Items[i].Name)
		}
	case *v1alpha1.ClusterList:
		for i := range list.Items {
			add(list.Items[i].Name)
		}
	}
	return found
}
