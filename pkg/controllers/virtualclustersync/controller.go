// Package virtualclustersync registers every Instance in the inventory: for the
// Instance alpha it keeps the Cluster k-alpha, of type Virtual and hidden, which
// is the instance's own apiserver. Package clusterindex has that one collected
// by the index like any other.
package virtualclustersync

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/controllers/internal/removal"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "virtual-cluster-sync"

// concurrency is how many instances are reconciled at the same time. Reconciliations wait for the
// global cluster only; and after many additions, the health of an instance should be known before
// it is indexed.
const concurrency = 4

// Reconciler keeps the virtual Cluster of one Instance.
type Reconciler struct {
	Client client.Client
	// Live reads past the caches, where a stale answer would lose something.
	Live        client.Reader
	Credentials credentials.Reader
	Recorder    events.EventRecorder
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.Instance{}).
		// By name and not by owner: a foreign Cluster that goes away makes room for
		// ours.
		Watches(&v1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(instanceOf)).
		WatchesRawSource(credentials.InstancesOf(mgr.GetCache())).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency)).
		Complete(phase.RetryConflicts(Name, r))
}

// instanceOf is the Instance that a Cluster of this name stands for.
func instanceOf(_ context.Context, cluster client.Object) []reconcile.Request {
	name, virtual := strings.CutPrefix(cluster.GetName(), v1alpha1.VirtualClusterPrefix)
	if !virtual {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
}

// What the controller may do; the chart's role is generated from it.
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kairship.io,resources=instances/status,verbs=patch
// +kubebuilder:rbac:groups=kairship.io,resources=instances/finalizers,verbs=update
// +kubebuilder:rbac:groups=kairship.io,resources=clusters,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kairship.io,resources=clusters/membership;instances/management,verbs=update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings the virtual Cluster of one Instance to what it should be.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	instance := &v1alpha1.Instance{}
	if err := r.Client.Get(ctx, request.NamespacedName, instance); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	current := newScope(instance)
	defer func() { err = errors.Join(err, current.close(ctx, r)) }()

	phases := []phase.Phase[*scope]{r.connect, r.holdInstance, r.register, r.report}
	switch {
	case removal.Begun(instance, v1alpha1.VirtualClusterFinalizer):
		phases = []phase.Phase[*scope]{r.unregister, r.releaseInstance}
	case current.foreign != nil:
		phases = []phase.Phase[*scope]{r.leaveOut}
	}
	condition, result, err := phase.Result(ctx, phase.Run(ctx, current, phases...))
	if condition != nil && condition.Type != "" {
		current.indexed = condition
	}
	if err == nil && result.IsZero() {
		result.RequeueAfter = current.again
	}
	return result, err
}
