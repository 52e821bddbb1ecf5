// Package workloadmoves finishes what the mutations that move workloads have begun, whether a client follows or not: it
// drops the old clusters from the policy of a workload once the workload is ready in the new ones, evicts what can leave
// a member cluster that is drained, and has what left one scheduled anew when the drain is undone.
//
// All that it goes by is stored in the objects of the instance, where only users may write it who may also do what it
// leads to. What it decides is in package moving.
package workloadmoves

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// Name of the controller: in logs, and as owner of its fields.
const Name = "workload-moves"

// concurrency is how many instances are worked on in parallel. One that hangs takes a worker for as long as a request
// may last, and must not make the others wait.
const concurrency = 16

// Reconciler finishes the moves and drains of one instance.
type Reconciler struct {
	Client      client.Client
	Credentials credentials.Reader
	Connections *connections.Pool
	// Timeout bounds each request to an instance.
	Timeout time.Duration
	Now     func() time.Time
	// Activity gets what is changed in the instances.
	Activity activity.Recorder

	instances instances
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.instances.changed = make(chan event.GenericEvent, queuedChanges)
	if err := mgr.Add(&r.instances); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.Instance{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, reachedOtherwise(), credentials.ProvenOtherwise()))).
		WatchesRawSource(credentials.InstancesOf(mgr.GetCache())).
		WatchesRawSource(source.Channel(r.instances.changed, &handler.EnqueueRequestForObject{})).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency)).
		Complete(phase.RetryConflicts(Name, r))
}

// reachedOtherwise lets through that an instance is reached, or not any more.
func reachedOtherwise() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Instance)
		after, also := e.ObjectNew.(*v1alpha1.Instance)
		return ok && also && reached(before) != reached(after)
	}}
}

func reached(instance *v1alpha1.Instance) bool {
	return instance.DeletionTimestamp.IsZero() && meta.IsStatusConditionTrue(instance.Status.Conditions, v1alpha1.ConditionReachable)
}

// What the controller may do; the chart's role is generated from it. Inside the instances it reads what the state of a
// workload is computed from, and patches policies, bindings and member clusters.
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch

// Reconcile takes the steps that are due in one instance.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	instance := &v1alpha1.Instance{}
	if err := r.Client.Get(ctx, request.NamespacedName, instance); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if !reached(instance) { // Nor is one that does not exist.
		r.instances.forget(request.Name)
		return ctrl.Result{}, nil
	}
	to, err := r.Credentials.OfInstance(ctx, instance)
	if errors.Is(err, connection.ErrMissing) || errors.Is(err, connection.ErrInvalid) {
		r.instances.forget(request.Name) // The Secret and the Instance are watched.
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	conn, err := r.Connections.Of(connections.Instance(instance.Name), to)
	if err != nil {
		return ctrl.Result{}, err
	}
	inside, err := r.instances.of(instance.Name, conn, r.Timeout) //nolint:contextcheck // Its watches last as long as the connection.
	if err != nil {
		return ctrl.Result{}, err
	}
	s := &scope{instance: inside, of: instance, activity: r.Activity, now: r.Now()}
	err = s.readMembers(ctx)
	if err == nil { // What one of them cannot do keeps none of the others.
		err = errors.Join(s.finishMoves(ctx), s.drain(ctx), s.bringBack(ctx))
	}
	_, result, err := phase.Result(ctx, err)
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = inside.wait(s.pending, s.now)
	}
	return result, err
}
