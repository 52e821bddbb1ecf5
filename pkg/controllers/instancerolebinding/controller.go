// Package instancerolebinding converts every InstanceRoleBinding into RBAC of the global cluster:
// for the binding b it keeps a ClusterRole and a ClusterRoleBinding kairship:binding:b, about
// virtual resources for which Kairship reviews a user's requests to the instance. Package
// instanceaccess does the same in the instance; this package also summarizes both in the
// conditions.
package instancerolebinding

import (
	"context"
	"errors"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "instance-role-binding"

// concurrency is how many bindings are worked on at the same time. None waits
// for an instance here.
const concurrency = 8

// Reconciler keeps the RBAC of one InstanceRoleBinding in the global cluster.
type Reconciler struct {
	Client client.Client
	// Live reads without the caches, which have no objects of other owners, and where an outdated
	// object would leave rules behind.
	Live     client.Reader
	Recorder events.EventRecorder
	// Activity gets the roles whose rules are created, changed and deleted.
	Activity activity.Recorder
	// Retention is how long a revoked binding is kept.
	Retention time.Duration
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	byName := handler.EnqueueRequestsFromMapFunc(bindingOf)
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		// Every change: what package instanceaccess says in the status is summed up.
		For(&v1alpha1.InstanceRoleBinding{}).
		// By name and not by owner: rules whose labels were removed are looked
		// at too.
		Watches(&rbacv1.ClusterRole{}, byName).
		Watches(&rbacv1.ClusterRoleBinding{}, byName).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency)).
		Complete(phase.RetryConflicts(Name, r))
}

// bindingOf is the InstanceRoleBinding that an RBAC object of this name is made
// from.
func bindingOf(_ context.Context, object client.Object) []reconcile.Request {
	name, ours := strings.CutPrefix(object.GetName(), roles.BindingName(""))
	if !ours {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}

// What the controller may do; the chart's role is generated from it. RBAC lets
// no user give away what they do not have, so the last lines are what the roles
// consist of (roles.Grantable): that is less than the verbs escalate and bind.
// +kubebuilder:rbac:groups=kairship.io,resources=instancerolebindings,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=kairship.io,resources=instancerolebindings/status,verbs=patch
// +kubebuilder:rbac:groups=kairship.io,resources=instancerolebindings/finalizers,verbs=update
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles;clusterrolebindings,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch
// +kubebuilder:rbac:groups=kairship.io,resources=instances/resources;instances/namespaces,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=kairship.io,resources=instances/secrets,verbs=get
// +kubebuilder:rbac:groups=kairship.io,resources=instances/proxy;instances/access,verbs=get;create;update;patch;delete
// +kubebuilder:rbac:groups=kairship.io,resources=instances/management,verbs=update;delete

// Reconcile brings the RBAC of one InstanceRoleBinding to what it should be.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	binding := &v1alpha1.InstanceRoleBinding{}
	if err := r.Client.Get(ctx, request.NamespacedName, binding); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	current := newScope(binding)
	defer func() {
		r.record(ctx, current)
		err = errors.Join(err, current.close(ctx, r))
	}()

	phases := []phase.Phase[*scope]{r.hold, r.writeRole, r.writeBinding}
	switch {
	case !binding.DeletionTimestamp.IsZero():
		phases = []phase.Phase[*scope]{r.remove, r.release}
	case binding.Spec.Revoked:
		phases = []phase.Phase[*scope]{r.remove, r.release, r.retire}
	}
	condition, result, err := phase.Result(ctx, phase.Run(ctx, current, phases...))
	switch {
	case condition != nil:
		current.global = condition
	case err != nil:
		current.failed(err)
	}
	return result, err
}
