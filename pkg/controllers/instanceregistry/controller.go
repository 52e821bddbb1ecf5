// Package instanceregistry registers every Instance with global management: for the Instance alpha
// it keeps the InstanceRegistration alpha, with its display name, its state, and the roles that can
// be bound on it. It follows the Instance and is deleted with it.
package instanceregistry

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/ownership"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "instance-registry"

// concurrency is how many instances are worked on at the same time. A new one costs
// three writes, one after the other, before people hear of it.
const concurrency = 64

// Patience is how long a new Instance gets to be looked at before it is registered as
// one of which nothing is known. What is registered at once is written three times
// within the first second: it has no endpoint, and no state.
const Patience = 10 * time.Second

// Reconciler keeps the InstanceRegistration of one Instance.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache, where a stale answer would remove what is needed.
	Live     client.Reader
	Recorder events.EventRecorder
	// Patience is how long a new Instance gets to be looked at first; none when it is zero.
	Patience time.Duration
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.Instance{}).
		// They have the same name, and by name a foreign registration that goes away
		// makes room for ours.
		Watches(&v1alpha1.InstanceRegistration{}, &handler.EnqueueRequestForObject{}).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency)).
		Complete(phase.RetryConflicts(Name, r))
}

// What the controller may do; the chart's role is generated from it.
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch
// +kubebuilder:rbac:groups=kairship.io,resources=instances/status,verbs=patch
// +kubebuilder:rbac:groups=kairship.io,resources=instances/finalizers,verbs=update
// +kubebuilder:rbac:groups=kairship.io,resources=instanceregistrations,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kairship.io,resources=instanceregistrations/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings the InstanceRegistration of one Instance up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	instance := &v1alpha1.Instance{}
	if err := r.Client.Get(ctx, request.NamespacedName, instance); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.removeLeft(ctx, request.Name, nil)
	}
	if wait := r.early(instance); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	current := &scope{instance: instance, owner: ownership.ByInstance(instance)}
	condition, result, err := phase.Result(ctx, phase.Run(ctx, current, r.register, r.report))
	if condition == nil && err == nil && current.registration != nil {
		registered := v1alpha1.Registered("Global management is told of it by the InstanceRegistration of the same name.")
		condition = &registered
	}
	if condition == nil {
		return result, err
	}
	return result, r.tell(ctx, instance, *condition)
}

// early is how long to wait for the first look, of which we hear.
func (r *Reconciler) early(instance *v1alpha1.Instance) time.Duration {
	if instance.Status.State != "" || !instance.DeletionTimestamp.IsZero() {
		return 0
	}
	return r.Patience - time.Since(instance.CreationTimestamp.Time)
}

// tell writes the condition Registered of the Instance.
func (r *Reconciler) tell(ctx context.Context, instance *v1alpha1.Instance, registered metav1.Condition) error {
	before := v1alpha1.InstanceStatus{Conditions: status.Pick(instance.Status.Conditions, v1alpha1.ConditionRegistered)}
	after := v1alpha1.InstanceStatus{Conditions: status.Conditions(before.Conditions, instance.Generation, registered)}
	if err := status.Apply(ctx, r.Client, instance, Name, &before, &after); err != nil {
		return err
	}
	if len(before.Conditions) > 0 || registered.Status != metav1.ConditionTrue { // A new one needs no event.
		status.Announce(r.Recorder, instance, "Register", before.Conditions, after.Conditions)
	}
	return nil
}

// scope is the state that the phases of one reconciliation share.
type scope struct {
	instance *v1alpha1.Instance
	owner    ownership.Owner
	// registration is what is stored; set by register.
	registration *v1alpha1.InstanceRegistration
}

// register creates the registration, or brings it up to date.
func (r *Reconciler) register(ctx context.Context, s *scope) error {
	name := s.instance.Name
	stored := &v1alpha1.InstanceRegistration{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: name}, stored)
	switch {
	case apierrors.IsNotFound(err) && !s.instance.DeletionTimestamp.IsZero():
		// No new roles should be bound on it.
		return &phase.Stop{Condition: v1alpha1.NotRegistered(v1alpha1.ReasonDeleting, "It is being deleted.")}
	case apierrors.IsNotFound(err):
		created := &v1alpha1.InstanceRegistration{ObjectMeta: metav1.ObjectMeta{Name: name}}
		s.shape(created)
		if err := r.Client.Create(ctx, created); err != nil {
			return fmt.Errorf("create the registration of instance %q: %w", name, err)
		}
		s.registration = created
		return nil
	case err != nil:
		return fmt.Errorf("read the registration of instance %q: %w", name, err)
	case leftBy(stored) != "" && leftBy(stored) != s.instance.UID:
		if err := r.removeLeft(ctx, name, s.instance); err != nil {
			return err
		}
		return &phase.Stop{Condition: v1alpha1.NotRegistered(v1alpha1.ReasonPending, "The InstanceRegistration of an earlier Instance of this name is being removed."), Retry: time.Second}
	case !s.owner.Owns(stored):
		return &phase.Stop{Condition: v1alpha1.NotRegistered(v1alpha1.ReasonNameTaken, s.owner.Taken(v1alpha1.InstanceRegistrationKind, stored))}
	case !stored.DeletionTimestamp.IsZero():
		// It is made again when it is deleted, of which we hear.
		return &phase.Stop{Condition: v1alpha1.NotRegistered(v1alpha1.ReasonPending, "Its InstanceRegistration is being deleted, and made again when it is gone.")}
	}

	updated := stored.DeepCopy()
	s.shape(updated)
	if !equality.Semantic.DeepEqual(stored, updated) {
		patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, updated, patch); err != nil {
			return fmt.Errorf("update the registration of instance %q: %w", name, err)
		}
	}
	s.registration = updated
	return nil
}

// leftBy is the UID of the Instance that a registration was made for; empty when it
// was not made by this controller.
func leftBy(registration *v1alpha1.InstanceRegistration) types.UID {
	owner := metav1.GetControllerOf(registration)
	labels := registration.Labels
	if owner == nil || owner.Kind != v1alpha1.InstanceKind || owner.Name != registration.Name ||
		labels[v1alpha1.ManagedByLabel] != v1alpha1.ManagedByValue || labels[v1alpha1.InstanceLabel] != registration.Name ||
		labels[v1alpha1.OwnerUIDLabel] != string(owner.UID) {
		return ""
	}
	return owner.UID
}

// removeLeft removes the registration of an Instance that no longer exists. The garbage
// collector does that too, but not as long as it does not know all kinds again after
// an outage of the API server, which may take it hours.
func (r *Reconciler) removeLeft(ctx context.Context, name string, present *v1alpha1.Instance) error {
	stored := &v1alpha1.InstanceRegistration{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
		return client.IgnoreNotFound(err)
	}
	left := leftBy(stored)
	if left == "" || !stored.DeletionTimestamp.IsZero() {
		return nil
	}
	// The cache may not have its Instance yet.
	now := &v1alpha1.Instance{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, now)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read instance %q: %w", name, err)
	}
	if err == nil && now.UID == left {
		return nil
	}
	uid := stored.UID
	if err := r.Client.Delete(ctx, stored, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the registration of an earlier instance %q: %w", name, err)
	}
	if present != nil {
		r.Recorder.Eventf(present, nil, corev1.EventTypeNormal, "RegistrationReplaced", "Register", "Removed the InstanceRegistration of an earlier Instance of this name")
	}
	return nil
}

// shape makes the registration what the Instance asks for.
func (s *scope) shape(registration *v1alpha1.InstanceRegistration) {
	s.owner.Mark(registration)
	registration.Spec = specOf(s.instance)
}

// report repeats on the registration how the instance is.
func (r *Reconciler) report(ctx context.Context, s *scope) error {
	before, after := s.registration.Status, statusOf(s.instance)
	return status.Apply(ctx, r.Client, s.registration, Name, &before, &after)
}
