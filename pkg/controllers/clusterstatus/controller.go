// Package clusterstatus keeps the versions, the identity and the conditions
// Reachable and Ready of every Cluster of the inventory true, by looking at its
// apiserver again and again.
package clusterstatus

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "cluster-status"

// concurrency is how many clusters are looked at in parallel. A look may last a
// whole timeout, and one cluster must not make the others wait.
const concurrency = 64

// Reconciler looks at one Cluster and says how it is.
type Reconciler struct {
	Client      client.Client
	Credentials credentials.Reader
	Recorder    events.EventRecorder
	// Prober looks at the apiservers.
	Prober *probe.Prober
	// Interval is the time between two looks at the same cluster, ±10 %.
	Interval time.Duration
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		// Our own status writes must not lead to the next look.
		For(&v1alpha1.Cluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(credentials.ClustersOf(mgr.GetCache())).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

// What the controller may do; the chart's role is generated from it.
// +kubebuilder:rbac:groups=kairship.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=kairship.io,resources=clusters/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile looks at one Cluster.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &v1alpha1.Cluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, cluster); err != nil {
		if apierrors.IsNotFound(err) {
			r.Prober.Forget(request.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	to, err := r.Credentials.OfCluster(ctx, cluster)
	found, err := r.Prober.Find(ctx, cluster, to, err, r.Prober.Cluster)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := own(cluster.Status)
	after := decide(cluster, found)
	if err := status.Apply(ctx, r.Client, cluster, Name, &before, &after); err != nil {
		return ctrl.Result{}, err
	}
	status.Announce(r.Recorder, cluster, "Look", before.Conditions, after.Conditions)
	if found.Deleting {
		return ctrl.Result{}, nil // Nothing can change any more that anybody would look at.
	}
	return ctrl.Result{RequeueAfter: probe.Next(r.Interval)}, nil
}
