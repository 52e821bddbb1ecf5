// Package instancestatistics counts what instances hold: it keeps status.summary
// of every Instance, and of the Clusters that are joined to it, and serves the same
// figures as metrics.
//
// It watches the instances and nothing but them. What members have, they report to
// Karmada themselves, as sums; of everything else no more is kept than what counts.
// An instance that can't be reached keeps its last figures, which then say since
// when they are old.
package instancestatistics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "instance-statistics"

const (
	// concurrency is how many instances are worked on in parallel. Nothing here
	// waits for an instance.
	concurrency = 4
	// starting limits the instances whose watches begin at the same time: the first lists cost
	// most.
	starting = 16
	// queuedChanges limits the instances with changes that are queued.
	queuedChanges = 4096
)

// Reconciler counts what one instance holds.
type Reconciler struct {
	Client      client.Client
	Credentials credentials.Reader
	Connections *connections.Pool
	Metrics     *Metrics
	// Interval is the least time between two writes about the same instance.
	Interval time.Duration
	// Lost receives an instance whose connection broke. It may be nil.
	Lost chan<- event.GenericEvent

	observers observers
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.observers.init(&r.Metrics.watches)
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.Cluster{}, clusterIndex, joinedTo); err != nil {
		return fmt.Errorf("index Clusters by Instance: %w", err)
	}
	// The watches must not outlive the manager, tests start several in one process.
	if err := mgr.Add(&r.observers); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.Instance{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, reachedOtherwise(), credentials.ProvenOtherwise()))).
		// Both the instance that it was joined to and the one that it is.
		Watches(&v1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(instanceOf), builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, identifiedOtherwise()))).
		WatchesRawSource(credentials.InstancesOf(mgr.GetCache())).
		WatchesRawSource(source.Channel(r.observers.changed, &handler.EnqueueRequestForObject{})).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency)).
		Complete(phase.RetryConflicts(Name, r))
}

// instanceOf is the instance whose figures a Cluster has. The empty name stands for
// those that are joined to none.
func instanceOf(_ context.Context, object client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range joinedTo(object) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
	}
	return requests
}

// reachedOtherwise lets through that an instance is reached, or not any more.
func reachedOtherwise() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Instance)
		after, also := e.ObjectNew.(*v1alpha1.Instance)
		return ok && also && (followed(before) != followed(after) || deleting(before) != deleting(after))
	}}
}

func reached(instance *v1alpha1.Instance) bool {
	return meta.IsStatusConditionTrue(instance.Status.Conditions, v1alpha1.ConditionReachable)
}

func deleting(instance *v1alpha1.Instance) bool { return !instance.DeletionTimestamp.IsZero() }

// followed reports whether an instance is watched. One that is being deleted may be held
// for days, and whether it is reachable is not checked any more: if it was followed before,
// that goes on until it is lost.
func followed(instance *v1alpha1.Instance) bool {
	if deleting(instance) {
		summary := instance.Status.Summary
		return summary != nil && summary.StaleSince == nil
	}
	return reached(instance) && instance.NotItsOwn() == nil
}

// identifiedOtherwise lets through that it became known which cluster a Cluster is.
func identifiedOtherwise() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Cluster)
		after, also := e.ObjectNew.(*v1alpha1.Cluster)
		return ok && also && before.Status.KubeSystemID != after.Status.KubeSystemID
	}}
}

// What the controller may do; the chart's role is generated from it. Inside the
// instances it lists and watches clusters, workloads, policies and bindings.
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch
// +kubebuilder:rbac:groups=kairship.io,resources=instances/status,verbs=patch
// +kubebuilder:rbac:groups=kairship.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=kairship.io,resources=clusters/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch

// Reconcile brings the figures of one instance up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	name := request.Name
	if name == "" {
		return ctrl.Result{}, r.withoutFigures(ctx, name)
	}
	instance := &v1alpha1.Instance{}
	if err := r.Client.Get(ctx, request.NamespacedName, instance); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		r.observers.drop(name)
		r.Metrics.forget(name)
		r.Connections.Forget(connections.Instance(name)) // We may have been the last to ask for it.
		return ctrl.Result{}, r.withoutFigures(ctx, name)
	}

	summary, known, retry, err := r.count(ctx, instance)
	if err != nil {
		return ctrl.Result{}, err
	}
	if summary == nil {
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	r.Metrics.set(name, summary)
	return r.write(ctx, instance, summary, known, retry)
}

// count is the summary as it should be, with the members by name; nil when there is
// nothing to say yet.
func (r *Reconciler) count(ctx context.Context, instance *v1alpha1.Instance) (*v1alpha1.InstanceSummary, map[string]member, time.Duration, error) {
	if !followed(instance) {
		r.observers.forget(instance.Name)
		condition := instance.NotItsOwn()
		if condition == nil {
			condition = meta.FindStatusCondition(instance.Status.Conditions, v1alpha1.ConditionReachable)
		}
		if condition == nil {
			return nil, nil, 0, nil
		}
		return r.lost(ctx, instance, condition.LastTransitionTime.Time)
	}
	to, err := r.Credentials.OfInstance(ctx, instance)
	switch {
	case err == nil:
	case deleting(instance) && (errors.Is(err, connection.ErrMissing) || errors.Is(err, connection.ErrInvalid)):
		// Whether it is reachable is not checked any more.
		r.observers.forget(instance.Name)
		return r.lost(ctx, instance, time.Now())
	default:
		return nil, nil, probe.Next(patience), nil // Package instancestatus reports it, and a watch retries.
	}
	conn, err := r.Connections.Of(connections.Instance(instance.Name), to)
	if err != nil {
		return nil, nil, 0, err
	}
	seen, err := r.observers.of(instance.Name, conn, r.Lost) //nolint:contextcheck // it lives as long as the connection, not as the reconciliation
	if err != nil {
		return nil, nil, 0, err
	}
	if since := seen.stale(); !since.IsZero() {
		return r.lost(ctx, instance, since)
	}
	if !seen.known() {
		return nil, nil, patience, nil // What it was before still stands.
	}
	f := seen.figures()
	members := membersOf(f)
	r.observers.remember(instance.Name, slices.Collect(maps.Keys(members)))
	return summarize(f), members, 0, nil
}

// lost is the summary of an instance that is not followed since a moment.
func (r *Reconciler) lost(ctx context.Context, instance *v1alpha1.Instance, since time.Time) (*v1alpha1.InstanceSummary, map[string]member, time.Duration, error) {
	inventory, err := r.clustersOf(ctx, instance.Name)
	if err != nil {
		return nil, nil, 0, err
	}
	return old(instance.Status.Summary, r.observers.members(instance.Name), inventory, since), nil, 0, nil
}

// membersOf are the members of an instance by name.
func membersOf(f figures) map[string]member {
	all := map[string]member{}
	for _, e := range f["Cluster"] {
		all[e.member.name] = e.member
	}
	return all
}

// write writes what changed, unless something was written a moment ago.
func (r *Reconciler) write(ctx context.Context, instance *v1alpha1.Instance, summary *v1alpha1.InstanceSummary, members map[string]member, retry time.Duration) (ctrl.Result, error) {
	changed, err := r.changedMembers(ctx, instance.Name, members, summary)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(changed) == 0 && equality.Semantic.DeepEqual(instance.Status.Summary, summary) {
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	if wait := r.observers.wait(instance.Name, r.Interval); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	before, after := v1alpha1.InstanceStatus{Summary: instance.Status.Summary}, v1alpha1.InstanceStatus{Summary: summary}
	if err := status.Apply(ctx, r.Client, instance, Name, &before, &after); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: retry}, r.writeChanged(ctx, changed)
}
