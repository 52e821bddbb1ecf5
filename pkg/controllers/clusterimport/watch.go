package clusterimport

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

const (
	// concurrency is how many clusters are worked on in parallel. One that hangs takes
	// a worker for as long as a request may last, and must not make the others wait.
	concurrency = 64
	// wakeBuffer is how many Clusters may wait to be looked at because something
	// changed in an instance.
	wakeBuffer = 1024
)

// SetupWithManager starts both controllers with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	finder := &discovery{Reconciler: r, wake: make(chan event.GenericEvent, wakeBuffer)}
	err := ctrl.NewControllerManagedBy(mgr).
		Named(discoveryName).
		For(&v1alpha1.Instance{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, instanceTurned(), credentials.ProvenOtherwise()))).
		WatchesRawSource(credentials.InstancesOf(mgr.GetCache())).
		WithOptions(controlleroptions.Options(mgr, discoveryName, concurrency)).
		Complete(phase.RetryConflicts(discoveryName, finder))
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		// Our own words in its status must not lead to the next look.
		For(&v1alpha1.Cluster{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, clusterTurned()))).
		Watches(&v1alpha1.Instance{}, handler.EnqueueRequestsFromMapFunc(r.membersOf),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, instanceTurned(), credentials.ProvenOtherwise()))).
		WatchesRawSource(credentials.ClustersOf(mgr.GetCache())).
		WatchesRawSource(source.Channel(finder.wake, handler.EnqueueRequestsFromMapFunc(requestFor))).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency)).
		Complete(phase.RetryConflicts(Name, r))
}

// membersOf are the Clusters that an Instance has, had or is to have.
func (r *Reconciler) membersOf(ctx context.Context, instance client.Object) []reconcile.Request {
	list := &v1alpha1.ClusterList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Cannot find the clusters of an instance that changed", "instance", instance.GetName())
		return nil
	}
	var found []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Holds(instance.GetName()) {
			found = append(found, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return found
}

// clusterTurned lets through what others find out about a cluster and what makes a
// difference to joining it: it answers again, or it is known which one it is.
func clusterTurned() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Cluster)
		after, also := e.ObjectNew.(*v1alpha1.Cluster)
		return ok && also && (before.Status.KubeSystemID != after.Status.KubeSystemID ||
			answers(after.Status.Conditions) && !answers(before.Status.Conditions))
	}}
}

// instanceTurned lets through that an instance answers again, or that its
// credentials are somewhere else.
func instanceTurned() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Instance)
		after, also := e.ObjectNew.(*v1alpha1.Instance)
		if !ok || !also {
			return false
		}
		was, is := before.CredentialsRef(), after.CredentialsRef()
		return answers(after.Status.Conditions) && !answers(before.Status.Conditions) ||
			(was == nil) != (is == nil) || was != nil && *was != *is
	}}
}

func answers(conditions []conditionType) bool {
	return meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReachable)
}
