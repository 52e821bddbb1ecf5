package instancelifecycle

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
)

// hostIndex finds the Instances that are installed on a Cluster.
const hostIndex = "lifecycle.hostCluster"

func hostOf(object client.Object) []string {
	instance, ok := object.(*v1alpha1.Instance)
	if !ok || instance.Spec.HostCluster == "" {
		return nil
	}
	return []string{instance.Spec.HostCluster}
}

// worthALook ignores changes of an instance's status.
func worthALook() builder.ForOption {
	return builder.WithPredicates(predicate.Or[client.Object](
		predicate.GenerationChangedPredicate{},
		predicate.AnnotationChangedPredicate{},
		predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			return !equality.Semantic.DeepEqual(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
		}},
	))
}

// otherCluster ignores changes of a cluster's status that do not matter here: it is written all the
// time.
func otherCluster() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Cluster)
		if !ok {
			return true
		}
		now, ok := e.ObjectNew.(*v1alpha1.Cluster)
		return !ok || before.Generation != now.Generation || before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
			before.Status.KubeSystemID != now.Status.KubeSystemID || before.Status.CredentialsFingerprint != now.Status.CredentialsFingerprint ||
			!equality.Semantic.DeepEqual(before.Status.Membership, now.Status.Membership)
	}}
}

// concerned enqueues the Instances that a Cluster hosts, and those that wait for its removal.
func concerned(all client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		cluster, ok := object.(*v1alpha1.Cluster)
		if !ok || cluster.Spec.Type == v1alpha1.ClusterTypeVirtual {
			return nil
		}
		requests := hostedOn(ctx, all, cluster.Name)
		for _, name := range joinedTo(cluster) {
			instance := &v1alpha1.Instance{}
			if all.Get(ctx, types.NamespacedName{Name: name}, instance) == nil && !instance.DeletionTimestamp.IsZero() {
				requests = append(requests, requestFor(name))
			}
		}
		return requests
	})
}

// joinedTo returns the instances that the Cluster may be a member of.
func joinedTo(cluster *v1alpha1.Cluster) []string {
	var names []string
	if cluster.Spec.InstanceRef != nil {
		names = append(names, cluster.Spec.InstanceRef.Name)
	}
	if cluster.Status.Membership != nil {
		names = append(names, cluster.Status.Membership.Instance)
	}
	return names
}

func hostedOn(ctx context.Context, all client.Reader, cluster string) []reconcile.Request {
	var instances v1alpha1.InstanceList
	if err := all.List(ctx, &instances, client.MatchingFields{hostIndex: cluster}); err != nil {
		log.FromContext(ctx).Error(err, "Cannot find out which instances a cluster hosts", "cluster", cluster)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(instances.Items))
	for i := range instances.Items {
		requests = append(requests, requestFor(instances.Items[i].Name))
	}
	return requests
}

func requestFor(instance string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: instance}}
}

// hostSecrets wakes the Instances whose host cluster has other credentials, and
// the one whose copy of them was changed.
func hostSecrets(all cache.Cache) source.Source {
	clusters := credentials.ClustersUsing(all)
	return source.Kind(all, credentials.Metadata(), handler.TypedEnqueueRequestsFromMapFunc(
		func(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
			var requests []reconcile.Request
			for _, cluster := range clusters(ctx, secret) {
				requests = append(requests, hostedOn(ctx, all, cluster.Name)...)
			}
			if secret.Namespace == v1alpha1.SystemNamespace {
				name, ours := strings.CutSuffix(secret.Name, hostSecretSuffix)
				if instance := v1alpha1.InstanceOfVirtualCluster(name); ours && instance != "" {
					requests = append(requests, requestFor(instance))
				}
			}
			return requests
		}))
}
