// Package instanceaccess keeps the access rules inside every instance: the
// ClusterRoles that the roles are, the admission policies that limit these, and
// for each InstanceRoleBinding a ClusterRoleBinding, or a RoleBinding in each of its
// namespaces, all called kairship:binding:<name>. Package instancerolebinding does
// the same in the global cluster.
//
// One reconciliation is about one instance and all of its bindings: the instance
// is read with four lists and four gets at most however many bindings there are, one that
// does not answer costs one worker one timeout, and rules whose binding no longer exists are
// found.
package instanceaccess

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/internal/removal"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "instance-access"

const (
	// concurrency is how many instances are worked on in parallel. One that hangs
	// takes a worker for as long as a request may last, and must not make the
	// others wait.
	concurrency = 64
	// afterIncomplete is the pause before checking again whether the instance has aggregated a role
	// or created a namespace.
	afterIncomplete = 10 * time.Second
	// afterNewRoles is the same right after the roles were written.
	afterNewRoles = time.Second
)

// Reconciler keeps the access rules of one instance.
type Reconciler struct {
	Client client.Client
	// Live reads without the caches, where an outdated object would leave rules behind.
	Live        client.Reader
	Credentials credentials.Reader
	// Connections are those to the instances.
	Connections *connections.Pool
	Recorder    events.EventRecorder
	// Activity gets the roles whose rules are created, changed and deleted.
	Activity activity.Recorder
	// Interval is the time between two looks at the rules in the same instance,
	// ±10 %: what a user changed there is put right so late at most.
	Interval time.Duration
	// Timeout bounds each request to an instance.
	Timeout time.Duration
	// Patience is how long an Instance that is being deleted is kept when its
	// rules cannot be removed, from the first attempt on.
	Patience time.Duration

	instances        clients
	pauses           pauses
	farewells        farewells
	namespaceWatches *namespaceWatches

	mu sync.Mutex
	// global is how objects inside instances say where they come from.
	global string
}

// bindingIndex finds the InstanceRoleBindings of an Instance.
const bindingIndex = "spec.instanceRef.name"

// RegisterIndexes adds the index that the controller needs. It is called once
// per manager, before the controller is set up.
func RegisterIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &v1alpha1.InstanceRoleBinding{}, bindingIndex, func(object client.Object) []string {
		return []string{instanceOf(object)}
	}); err != nil {
		return fmt.Errorf("index InstanceRoleBindings by Instance: %w", err)
	}
	return nil
}

func instanceOf(object client.Object) string {
	if binding, ok := object.(*v1alpha1.InstanceRoleBinding); ok {
		return binding.Spec.InstanceRef.Name
	}
	return ""
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.namespaceWatches = newNamespaceWatches()
	if err := mgr.Add(r.namespaceWatches); err != nil {
		return fmt.Errorf("set up %s: %w", Name, err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.Instance{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, reachedOtherwise(), credentials.ProvenOtherwise(), removal.BegunChanged(v1alpha1.InstanceAccessFinalizer)))).
		// Our own words in its status must not lead to the next look.
		Watches(&v1alpha1.InstanceRoleBinding{}, handler.EnqueueRequestsFromMapFunc(
			func(_ context.Context, binding client.Object) []reconcile.Request {
				return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: instanceOf(binding)}}}
			}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(credentials.InstancesOf(mgr.GetCache())).
		WatchesRawSource(source.Channel(r.namespaceWatches.events, &handler.EnqueueRequestForObject{})).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency)).
		Complete(phase.RetryConflicts(Name, r))
}

// What the controller may do; the chart's role is generated from it. Inside the
// instances it has what their credentials give it.
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kairship.io,resources=instancerolebindings,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kairship.io,resources=instancerolebindings/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings the access rules of one instance to what they should be.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := r.read(ctx, request.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !s.leaving() {
		r.farewells.forget(s.name)
	}
	// A Stop has no condition here: every binding got its own.
	_, result, err := phase.Result(ctx, phase.Run(ctx, s,
		r.standForInstance, r.connect, r.hold, r.look, r.readNamespaces, r.clean, r.limit, r.writeRoles, r.bind, r.releaseInstance))
	s.record(r.Activity)
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = r.next(s)
	}
	_, again, reportErr := phase.Result(ctx, r.report(ctx, s))
	if again.RequeueAfter > 0 {
		result = again
	}
	return result, errors.Join(err, reportErr)
}

// next is when to look again after everything was done that could be.
func (r *Reconciler) next(s *scope) time.Duration {
	switch {
	case s.rolesAreNew || s.anyLimitNew():
		return afterNewRoles
	case s.incomplete:
		return afterIncomplete
	case s.looked:
		return probe.Next(r.Interval)
	}
	return 0
}

// read collects what the global cluster says about the instance.
func (r *Reconciler) read(ctx context.Context, name string) (*scope, error) {
	instance := &v1alpha1.Instance{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: name}, instance)
	if apierrors.IsNotFound(err) {
		// A cache that has not seen it yet must not let bindings go.
		err = r.Live.Get(ctx, client.ObjectKey{Name: name}, instance)
	}
	switch {
	case apierrors.IsNotFound(err):
		instance = nil
	case err != nil:
		return nil, fmt.Errorf("read instance %q: %w", name, err)
	}
	list := &v1alpha1.InstanceRoleBindingList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{bindingIndex: name}); err != nil {
		return nil, fmt.Errorf("list the bindings of instance %q: %w", name, err)
	}
	return newScope(name, instance, list.Items), nil
}

// globalCluster is the UID of the global cluster's namespace kube-system.
func (r *Reconciler) globalCluster(ctx context.Context) (string, error) {
	r.mu.Lock()
	known := r.global
	r.mu.Unlock()
	if known != "" {
		return known, nil
	}
	namespace := &corev1.Namespace{}
	if err := r.Live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
		return "", fmt.Errorf("read which cluster this is: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.global = string(namespace.UID)
	return r.global, nil
}
