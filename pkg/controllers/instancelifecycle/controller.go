// Package instancelifecycle installs and uninstalls Managed instances. For a Managed
// Instance it keeps what the Karmada operator is asked for, follows how far the
// operator gets, and picks up the kubeconfig that it publishes. When an Instance
// is deleted, Managed or not, it is kept while clusters are joined to it; the
// Karmada of a Managed one is then uninstalled, or let go.
package instancelifecycle

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "instance-lifecycle"

// concurrency is how many instances are worked on at the same time.
const concurrency = 16

// The pauses between two reads of state that no watch reports.
const (
	// whileAtWork is for what the operator has done so far in the host cluster.
	whileAtWork = 10 * time.Second
	// whileFailing is the same, where it keeps failing.
	whileFailing = 30 * time.Second
	// whileMissing is for an operator that is not installed.
	whileMissing = 10 * time.Second
	// whileUninstalling is for an uninstallation: only its duration matters.
	whileUninstalling = 15 * time.Second
)

// Reconciler sees to the life cycle of one Instance.
type Reconciler struct {
	Client client.Client
	// Live reads past the caches, where a stale answer would lose something.
	Live        client.Reader
	Credentials credentials.Reader
	// Connections are those to the host clusters.
	Connections *connections.Pool
	Recorder    events.EventRecorder
	Metrics     *Metrics
	// Activity gets the Karmadas that are created, changed and deleted.
	Activity activity.Recorder
	// Timeout bounds one look at a host cluster.
	Timeout time.Duration
	// Patience is how long an uninstallation may take before it counts as stuck.
	Patience time.Duration
	// Sources are where the operator may get images and CRDs from.
	Sources Sources
	// Now is the time.
	Now func() time.Time

	karmadas karmadaWatch
	global   globalCluster
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.Instance{}, hostIndex, hostOf); err != nil {
		return err
	}
	built, err := ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.Instance{}, worthALook()).
		Watches(&v1alpha1.Cluster{}, concerned(mgr.GetCache()), builder.WithPredicates(otherCluster())).
		WatchesRawSource(hostSecrets(mgr.GetCache())).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency)).
		Build(phase.RetryConflicts(Name, r))
	if err != nil {
		return err
	}
	r.karmadas.init(mgr, built)
	return nil
}

// What the controller may do; the chart's role is generated from it. Secrets are
// written in Kairship's own namespace only; those with the instances' kubeconfigs
// are the operator's, and only read.
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kairship.io,resources=instances/status,verbs=patch
// +kubebuilder:rbac:groups=kairship.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=operator.karmada.io,resources=karmadas,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,namespace=kairship-system,verbs=create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings one Instance to what it should be.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	instance := &v1alpha1.Instance{}
	if err := r.Client.Get(ctx, request.NamespacedName, instance); err != nil {
		if apierrors.IsNotFound(err) {
			r.Metrics.count(request.Name, "")
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	current := newScope(instance)
	defer func() { err = errors.Join(err, current.close(ctx, r)) }()

	var phases []phase.Phase[*scope]
	managed := instance.Spec.Mode == v1alpha1.InstanceModeManaged
	switch {
	case instance.DeletionTimestamp.IsZero():
		phases = append(phases, r.hold)
		if managed {
			phases = append(phases, r.findOperator, r.findKarmada, r.findHost, r.prepareNamespace, r.prepareCredentials, r.ask, r.follow)
		}
	case !holds(instance):
		return ctrl.Result{}, nil // It waits for others.
	default:
		phases = append(phases, r.waitForClusters)
		if managed {
			phases = append(phases, r.waitForOthers, r.uninstall)
		}
		phases = append(phases, r.release)
	}
	condition, result, err := phase.Result(ctx, phase.Run(ctx, current, phases...))
	if condition != nil {
		current.tell(*condition)
	}
	return result, err
}
