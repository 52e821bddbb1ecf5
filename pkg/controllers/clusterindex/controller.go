// Package clusterindex registers every Cluster of the inventory with the index for
// collection: for each it keeps a PediaCluster of the same name, which says what to collect,
// and a Secret in Clusterpedia's namespace with the credentials to collect with. A reader
// of PediaClusters, such as Kairship's API server, therefore sees no credentials.
//
// A Physical cluster is collected for what runs on it. A Virtual one, which is
// an instance's own apiserver, for what Karmada was asked to run and where it
// put it; package virtualclustersync makes those Clusters.
package clusterindex

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "cluster-index"

// concurrency is how many clusters are reconciled at the same time. Reconciliations wait for the
// global cluster only; and after many additions, the health of an instance should be known before
// it is indexed.
const concurrency = 4

// Reconciler keeps the PediaCluster of one Cluster.
type Reconciler struct {
	Client client.Client
	// Live reads past the caches, where a stale answer would lose something.
	Live        client.Reader
	Credentials credentials.Reader
	// Namespace is the one that Clusterpedia's clustersynchro-manager runs in, and reads
	// credentials from.
	Namespace string
	Collect   Collect
	Recorder  events.EventRecorder
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.Cluster{}).
		// By name and not by owner: a foreign PediaCluster that goes away makes room
		// for ours.
		Watches(&pediav1alpha2.PediaCluster{}, handler.EnqueueRequestsFromMapFunc(sameName)).
		// That it is there counts, what it has collected, and with which credentials.
		Watches(&v1alpha1.Instance{}, handler.EnqueueRequestsFromMapFunc(virtualOf),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, credentials.ProvenOtherwise()))).
		Watches(&v1alpha1.Instance{}, handler.EnqueueRequestsFromMapFunc(r.membersOf), builder.WithPredicates(collectsOtherwise())).
		WatchesRawSource(credentials.ClustersOf(mgr.GetCache())).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency)).
		Complete(phase.RetryConflicts(Name, r))
}

func sameName(_ context.Context, pedia client.Object) []reconcile.Request {
	return request(pedia.GetName())
}

func virtualOf(_ context.Context, instance client.Object) []reconcile.Request {
	return request(v1alpha1.VirtualClusterName(instance.GetName()))
}

// collectsOtherwise lets through that other kinds are collected of the members of an Instance than
// before. At a start that is every Instance which names some.
func collectsOtherwise() predicate.Predicate {
	names := func(object client.Object) *v1alpha1.CollectedKinds {
		instance, ok := object.(*v1alpha1.Instance)
		if !ok {
			return nil
		}
		return instance.Spec.Collect
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return names(e.Object) != nil },
		DeleteFunc: func(e event.DeleteEvent) bool { return names(e.Object) != nil },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !equality.Semantic.DeepEqual(names(e.ObjectOld), names(e.ObjectNew))
		},
	}
}

// membersOf are the clusters that refer to an instance, without its virtual one.
func (r *Reconciler) membersOf(ctx context.Context, instance client.Object) (requests []reconcile.Request) {
	all := &v1alpha1.ClusterList{}
	if err := r.Client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Cannot find the clusters of an instance that changed", "instance", instance.GetName())
		return nil
	}
	for i := range all.Items {
		if ref := all.Items[i].Spec.InstanceRef; ref != nil && ref.Name == instance.GetName() && all.Items[i].Spec.Type != v1alpha1.ClusterTypeVirtual {
			requests = append(requests, request(all.Items[i].Name)...)
		}
	}
	return requests
}

func request(name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
}

// What the controller may do; the chart's role is generated from it.
// +kubebuilder:rbac:groups=kairship.io,resources=clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kairship.io,resources=clusters/status,verbs=patch
// +kubebuilder:rbac:groups=kairship.io,resources=clusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.clusterpedia.io,resources=pediaclusters,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
//
// The chart has one more, because its namespace is a value: to write Secrets in the
// namespace of Clusterpedia.
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings the PediaCluster of one Cluster to what it should be.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	cluster := &v1alpha1.Cluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	current := newScope(cluster)
	defer func() { err = errors.Join(err, current.close(ctx, r)) }()

	phases := []phase.Phase[*scope]{r.standForInstance, r.leaveOut, r.connect, r.holdCluster, r.collect, r.report, r.lookAgain}
	if !cluster.DeletionTimestamp.IsZero() {
		phases = []phase.Phase[*scope]{r.clean, r.releaseCluster}
	}
	condition, result, err := phase.Result(ctx, phase.Run(ctx, current, phases...))
	if condition != nil {
		current.indexed = condition
	}
	return result, err
}
