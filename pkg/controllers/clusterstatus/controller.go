// Package clusterstatus updates the versions, the identity and the conditions
// Identified, Reachable and Ready of every Cluster of the inventory. A Physical one is
// looked at again and again. A Virtual one is an instance's own apiserver, which
// package instancestatus looks at already: its status repeats that.
package clusterstatus

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/debounce"
	"github.com/kairship-io/kairship/pkg/controllers/internal/ownership"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "cluster-status"

const (
	// concurrency is how many clusters are looked at in parallel. A look may last a
	// whole timeout, and clusters that hang must not make the others wait.
	concurrency = 256
	// wholeInterval is the time between two looks that ask for everything while all
	// is well, give or take a quarter; those in between are glances.
	wholeInterval = 30 * time.Second
	// soon is when to look again to make sure of what a look has shown, and whileAway
	// when to look again at a cluster that cannot be reached.
	soon, whileAway = time.Second, 2 * time.Second
	// withoutLook is when to look again where it cannot, or need not, look: what
	// changes that is watched.
	withoutLook = time.Minute
)

// Reconciler looks at one Cluster and says how it is.
type Reconciler struct {
	Client      client.Client
	Credentials credentials.Reader
	Recorder    events.EventRecorder
	// Prober looks at the apiservers.
	Prober *probe.Prober
	// Debouncer decides when to believe it.
	Debouncer *debounce.Debouncer
	// Interval is the time between two looks at the same cluster, ±10 %.
	Interval time.Duration

	mu sync.Mutex
	// whole is when the next whole look is due, by name.
	whole map[string]time.Time
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		// Our own status writes must not lead to the next look.
		For(&v1alpha1.Cluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Instance{}, handler.EnqueueRequestsFromMapFunc(
			func(_ context.Context, instance client.Object) []reconcile.Request {
				return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: v1alpha1.VirtualClusterName(instance.GetName())}}}
			})).
		WatchesRawSource(credentials.ClustersOf(mgr.GetCache())).
		WithOptions(controlleroptions.Options(mgr, Name, concurrency)).
		Complete(phase.RetryConflicts(Name, r))
}

// What the controller may do; the chart's role is generated from it.
// +kubebuilder:rbac:groups=kairship.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=kairship.io,resources=clusters/status,verbs=patch
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile looks at one Cluster.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &v1alpha1.Cluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, cluster); err != nil {
		if apierrors.IsNotFound(err) && !strings.HasPrefix(request.Name, v1alpha1.VirtualClusterPrefix) {
			r.forget(request.Name)
			r.Prober.Connections.Forget(connections.Cluster(request.Name))
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := own(cluster.Status)
	after, next, err := r.observe(ctx, cluster)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := status.Apply(ctx, r.Client, cluster, Name, &before, &after); err != nil {
		return ctrl.Result{}, err
	}
	if cluster.Spec.Type != v1alpha1.ClusterTypeVirtual { // The Instance has the events of a virtual one.
		status.Announce(r.Recorder, cluster, "Look", before.Conditions, after.Conditions)
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// observe is the status as it should be, and when to look again.
func (r *Reconciler) observe(ctx context.Context, cluster *v1alpha1.Cluster) (v1alpha1.ClusterStatus, time.Duration, error) {
	to, credentialsErr := r.Credentials.OfCluster(ctx, cluster)
	if cluster.Spec.Type == v1alpha1.ClusterTypeVirtual && cluster.DeletionTimestamp.IsZero() {
		return r.observeVirtual(ctx, cluster, to, credentialsErr)
	}
	key, began, look := connections.Cluster(cluster.Name), r.Debouncer.Time(), asked{}
	f, err := probe.Find(ctx, cluster, to, credentialsErr, func() probe.Observation {
		depth := r.depth(cluster, to.Fingerprint(), began)
		seen := r.Prober.Look(ctx, key, to, depth, func(ctx context.Context, ask probe.Asker) { look.id, look.refused = probe.KubeSystemID(ctx, ask) })
		look.fingerprint = to.Fingerprint()
		return seen
	})
	if err != nil {
		return v1alpha1.ClusterStatus{}, 0, err
	}
	if f.Seen == nil {
		r.forget(cluster.Name)
	}
	after, pending := decide(cluster, f, look, began, r.Debouncer)
	switch {
	case f.Deleting:
		return after, 0, nil // No instance has it any more, so nothing can change that a reader would look at.
	case f.Credentials != nil:
		r.Prober.Connections.Forget(key)
		return after, probe.Next(withoutLook), nil //nolint:nilerr // a person is told, and what brings credentials is watched
	case pending:
		return after, min(soon, r.Interval), nil
	case !meta.IsStatusConditionTrue(after.Conditions, v1alpha1.ConditionReachable):
		return after, min(probe.Next(whileAway), r.Interval), nil
	}
	return after, probe.Next(r.Interval), nil
}

// observeVirtual repeats what is known of the instance, and asks it once which
// cluster it is.
func (r *Reconciler) observeVirtual(ctx context.Context, cluster *v1alpha1.Cluster, to connection.Connection, credentialsErr error) (v1alpha1.ClusterStatus, time.Duration, error) {
	usable := credentialsErr == nil
	if !usable && !errors.Is(credentialsErr, connection.ErrMissing) && !errors.Is(credentialsErr, connection.ErrInvalid) {
		return v1alpha1.ClusterStatus{}, 0, credentialsErr
	}
	instance := &v1alpha1.Instance{}
	missing := r.Client.Get(ctx, client.ObjectKey{Name: strings.TrimPrefix(cluster.Name, v1alpha1.VirtualClusterPrefix)}, instance)
	if client.IgnoreNotFound(missing) != nil {
		return v1alpha1.ClusterStatus{}, 0, missing
	}
	if !ownership.ByInstance(instance).Owns(cluster) { // Nor does one that is not there.
		after := own(cluster.Status)
		const why = "There is no Instance that Kairship made this virtual cluster for."
		after.Conditions = status.Conditions(cluster.Status.Conditions, cluster.Generation,
			v1alpha1.ReachableUnknown(v1alpha1.ReasonNoInstance, why), v1alpha1.ReadyUnknown(v1alpha1.ReasonNoInstance, why))
		return after, 0, nil
	}
	id, next := "", time.Duration(0)
	if cluster.Status.KubeSystemID == "" && usable && meta.IsStatusConditionTrue(instance.Status.Conditions, v1alpha1.ConditionReachable) {
		r.Prober.Look(ctx, connections.Instance(instance.Name), to, probe.Whole, func(ctx context.Context, ask probe.Asker) { id, _ = probe.KubeSystemID(ctx, ask) })
		if id == "" {
			next = probe.Next(withoutLook) // It may be permitted to read it some day.
		}
	}
	return repeat(cluster, instance, id, to.ExpireTime()), next, nil
}

// depth is how much the next look has to ask: everything of an endpoint and credentials
// that were not seen to lead to the cluster yet.
func (r *Reconciler) depth(cluster *v1alpha1.Cluster, fingerprint string, now time.Time) probe.Depth {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Before(r.whole[cluster.Name]) && cluster.ProvenBy(fingerprint) && cluster.Status.ObservedGeneration == cluster.Generation &&
		meta.IsStatusConditionTrue(cluster.Status.Conditions, v1alpha1.ConditionReady) {
		return probe.Glance
	}
	if r.whole == nil {
		r.whole = map[string]time.Time{}
	}
	r.whole[cluster.Name] = now.Add(probe.Next(wholeInterval))
	return probe.Whole
}

func (r *Reconciler) forget(name string) {
	r.Debouncer.Forget(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.whole, name)
}
