// Package instancestatus updates the state, the versions and the conditions
// Reachable, APIServerHealthy, ControlPlaneHealthy and Ready of every Instance,
// by probing its API server periodically.
//
// Most looks are glances: one request. Every half minute, and whenever something
// is not well, a look asks for all that can be seen of Karmada. What one look
// shows is not believed at once (package debounce).
package instancestatus

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/debounce"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "instance-status"

// concurrency is how many instances are looked at in parallel. A look may last a
// whole timeout, and instances that hang must not make the others wait.
const concurrency = 256

// Reconciler looks at one Instance and says how it is.
type Reconciler struct {
	Client client.Client
	// Live reads past the caches, where a stale answer would give a control plane to
	// two Instances.
	Live        client.Reader
	Credentials credentials.Reader
	Recorder    events.EventRecorder
	Metrics     *Metrics
	// Prober looks at the apiservers.
	Prober *probe.Prober
	// Debouncer decides when to believe it.
	Debouncer *debounce.Debouncer
	// Interval is the time between two looks at the same instance, ±10 %.
	Interval time.Duration
	// Look brings instances to look at now, because something else noticed that
	// their connection broke. It may be nil.
	Look <-chan event.GenericEvent

	histories histories
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	building := ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		// Our own status writes must not lead to the next look.
		For(&v1alpha1.Instance{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, installedOtherwise()))).
		// What an Instance held is another one's once it is deleted.
		Watches(&v1alpha1.Instance{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, gone client.Object) (found []reconcile.Request) {
			for _, name := range r.duplicatesOf(ctx, gone) {
				found = append(found, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
			}
			return found
		}), builder.WithPredicates(onlyGone())).
		WatchesRawSource(credentials.InstancesOf(mgr.GetCache())).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency))
	if r.Look != nil {
		building = building.WatchesRawSource(source.Channel(r.Look, handler.Funcs{GenericFunc: func(_ context.Context, e event.GenericEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.histories.hurry(e.Object.GetName())
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		}}))
	}
	return building.Complete(phase.RetryConflicts(Name, r))
}

// onlyGone passes the deletion of an object.
func onlyGone() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// installedOtherwise lets through what the installation of a Managed instance says
// in the status: that it is installed, and where its credentials are.
func installedOtherwise() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Instance)
		after, also := e.ObjectNew.(*v1alpha1.Instance)
		if !ok || !also || after.Spec.Mode != v1alpha1.InstanceModeManaged {
			return false
		}
		installed := func(i *v1alpha1.Instance) bool {
			return meta.IsStatusConditionTrue(i.Status.Conditions, v1alpha1.ConditionInstalled)
		}
		was, is := before.CredentialsRef(), after.CredentialsRef()
		return installed(before) != installed(after) || (was == nil) != (is == nil) || (was != nil && *was != *is)
	}}
}

// What the controller may do; the chart's role is generated from it. Inside the
// instances it reads, and asks with a dry run whether policies are admitted.
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch
// +kubebuilder:rbac:groups=kairship.io,resources=instances/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile looks at one Instance.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	instance := &v1alpha1.Instance{}
	if err := r.Client.Get(ctx, request.NamespacedName, instance); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.Name)
			r.Metrics.forget(request.Name)
			r.Prober.Connections.Forget(connections.Instance(request.Name))
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	f, err := r.find(ctx, instance)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := own(instance.Status)
	found, pending := decide(instance, f, r.Debouncer)
	after, err := r.write(ctx, instance, found)
	if err != nil {
		return ctrl.Result{}, err
	}
	pending = pending || undecided(after, instance.DeletionTimestamp)
	status.Announce(r.Recorder, instance, "Look", before.Conditions, announced(before.Conditions, after.Conditions))
	r.Metrics.set(request.Name, after.State)
	return ctrl.Result{RequeueAfter: r.next(instance, f, after, pending)}, nil
}

// announced returns the conditions whose changes get an event. A new instance is announced as ready, so
// it gets no event for each part that works.
func announced(before, after []metav1.Condition) []metav1.Condition {
	ready := meta.IsStatusConditionTrue(after, v1alpha1.ConditionReady)
	return slices.DeleteFunc(slices.Clone(after), func(c metav1.Condition) bool {
		part := c.Type == v1alpha1.ConditionAPIServerHealthy || c.Type == v1alpha1.ConditionControlPlaneHealthy ||
			c.Type == v1alpha1.ConditionIdentified ||
			c.Type == v1alpha1.ConditionReachable && ready
		return part && c.Status == metav1.ConditionTrue && meta.FindStatusCondition(before, c.Type) == nil
	})
}

// find looks at the instance, unless there is a reason not to.
func (r *Reconciler) find(ctx context.Context, instance *v1alpha1.Instance) (found, error) {
	f := found{Began: r.Debouncer.Time()}
	key := connections.Instance(instance.Name)
	to, err := r.Credentials.OfInstance(ctx, instance)
	f.Finding, err = probe.Find(ctx, instance, to, err, func() probe.Observation {
		h := r.histories.of(instance.Name)
		depth := probe.Glance
		f.Asked.fingerprint = to.Fingerprint()
		if !f.Began.Before(h.whole) || instance.Status.ObservedGeneration != instance.Generation || !instance.ProvenBy(f.Asked.fingerprint) ||
			!meta.IsStatusConditionTrue(instance.Status.Conditions, v1alpha1.ConditionReady) {
			depth = probe.Whole
		}
		return r.Prober.Look(ctx, key, to, depth, func(ctx context.Context, to probe.Asker) {
			f.Asked.id, f.Asked.refused = probe.KubeSystemID(ctx, to)
			f.Karmada = r.karmada(ctx, instance.Name, h, to, f)
		})
	})
	switch {
	case err != nil:
		return found{}, err
	case f.Credentials != nil:
		r.Prober.Connections.Forget(key)
	}
	if f.Seen == nil {
		r.forget(instance.Name)
	}
	return f, nil
}

// karmada asks what a whole look asks of Karmada.
func (r *Reconciler) karmada(ctx context.Context, name string, h history, to probe.Asker, f found) *facts {
	seen := ask(ctx, to, to.Endpoint())
	if ctx.Err() != nil && seen.served() {
		return nil // The time was over before everything had been read.
	}
	if seen.served() && (h.rejected || !f.Began.Before(h.admission)) {
		// The time may well be over when the answer is there, which counts too: an
		// apiserver waits for a webhook that hangs as long as a look may last.
		seen.admission = admit(ctx, to)
		h.rejected = seen.admission != nil
		h.admission = f.Began.Add(spread(admissionInterval))
	}
	h.whole = f.Began.Add(spread(wholeInterval))
	r.histories.keep(name, h)
	return seen
}

// next is when to look again.
func (r *Reconciler) next(instance *v1alpha1.Instance, f found, after v1alpha1.InstanceStatus, pending bool) time.Duration {
	switch {
	case f.Deleting:
		return 0 // Nothing can change any more that a reader would look at.
	case f.Credentials != nil:
		return spread(withoutCredentials)
	case pending:
		r.histories.hurry(instance.Name) // A glance does not show the health of Karmada.
		return min(soon, r.Interval)
	case !meta.IsStatusConditionTrue(after.Conditions, v1alpha1.ConditionReachable):
		return min(spread(whileAway), r.Interval)
	}
	return probe.Next(r.Interval)
}

func (r *Reconciler) forget(name string) {
	r.Debouncer.Forget(name)
	r.histories.forget(name)
}
