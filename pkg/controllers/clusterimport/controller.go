package clusterimport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

// Name of the controller: in logs, in events and as owner of its fields.
const Name = "cluster-import"

const (
	// recheckFactor is how many looks at an instance pass between two looks at
	// everything that was made for a member in it.
	recheckFactor = 10
	// whileBusy is when to look again whether the other side has done its part: it
	// issues a token, or finishes removing something.
	whileBusy = 500 * time.Millisecond
	// quickLooks is how often whileBusy is enough: to remove a namespace, Kubernetes
	// takes five seconds and more. What lasts longer may last for ever.
	quickLooks = 20
	// whileElsewhere is when to look again whether a cluster became free that
	// another instance has.
	whileElsewhere = 10 * time.Second
)

// Reconciler joins one Cluster, or takes it out of an instance.
type Reconciler struct {
	Client client.Client
	// Live reads past the caches, where a stale answer would join a cluster twice.
	Live        client.Reader
	Credentials credentials.Reader
	// Connections are the controllers' connections, which they share.
	Connections *connections.Pool
	Recorder    events.EventRecorder
	Metrics     *Metrics
	// Activity gets the members that are joined, changed and removed.
	Activity activity.Recorder
	// Interval is the time between two looks at the members of the same instance,
	// ±10 %: what a user changed there is put right so late at most.
	Interval time.Duration
	// Timeout bounds each request to an instance or a member.
	Timeout time.Duration
	// Patience is how long the removal of a cluster waits for the other side when that does not
	// answer or does not finish: for the cluster itself only when its Cluster is being deleted, for
	// the instance only with RemovalForce. Otherwise it waits forever.
	Patience time.Duration

	instances, members remotes
	memberCache        memberCache
	pauses             pauses
	clocks             stopwatch
	reminders          reminders

	// claims lets one Cluster at a time find out that it is the only one.
	claims sync.Mutex

	// dial stands in for the connections in tests.
	dial func(where place, name string) client.Client

	mu sync.Mutex
	// global is how objects elsewhere say where they come from.
	global string
}

// What the controller may do in the global cluster; the chart's role is generated
// from it. Inside the instances and the members it has what their credentials
// give it: cluster-admin, because it gives Karmada as much.
// +kubebuilder:rbac:groups=kairship.io,resources=clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kairship.io,resources=clusters/status,verbs=patch
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings one Cluster to where its spec wants it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	cluster := &v1alpha1.Cluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, cluster); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.forget(request.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if cluster.Spec.Type == v1alpha1.ClusterTypeVirtual {
		return ctrl.Result{}, nil
	}
	global, err := r.globalCluster(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}

	s := newScope(cluster, global)
	defer func() { err = errors.Join(err, s.save(ctx, r)) }()
	condition, result, err := phase.Result(ctx, r.explain(ctx, s, r.move(ctx, s)))
	if condition != nil && condition.Type != "" {
		s.joined = condition
	}
	return result, err
}

// move takes the cluster out of where it should not be, and then brings it to
// where it should.
func (r *Reconciler) move(ctx context.Context, s *scope) error {
	if err := r.recover(ctx, s); err != nil {
		return err
	}
	if s.mustLeave() {
		if err := phase.Run(ctx, s,
			r.findFormer, r.lookInFormer, r.block, r.beginToLeave, r.removeFromInstance, r.cleanUpMember, r.forgetMembership); err != nil {
			return err
		}
	}
	if s.wants() == "" {
		return phase.Run(ctx, s, r.release, r.rest)
	}
	return phase.Run(ctx, s,
		r.findInstance, r.connectInstance, r.holdMember, r.lookInInstance, r.connectMember, r.identify, r.claim,
		r.prepare, r.publishSecrets, r.publish, r.confirm)
}

// explain converts the error of a request to an instance or a member into a condition. It is not
// returned as an error: the request is repeated at growing intervals, or as soon as the other side
// answers.
func (r *Reconciler) explain(ctx context.Context, s *scope, err error) error {
	if err == nil {
		r.pauses.forget(s.cluster.Name)
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err() // We are being stopped, which says nothing about the other side.
	}
	if errors.Is(err, errOutdated) {
		return &phase.Stop{Retry: whileBusy}
	}
	if other, is := errors.AsType[*taken](err); is {
		return &phase.Stop{Condition: v1alpha1.NotJoined(other.reason(), other.Error()), Retry: whileElsewhere}
	}
	failed, is := errors.AsType[*requestError](err)
	if !is {
		return err
	}
	if failed.transient() && r.pauses.quick(s.cluster.Name) {
		return &phase.Stop{Retry: whileBusy} // It is over before it is read.
	}
	condition := failed.condition()
	pause := r.pauses.next(s.cluster.Name)
	log.FromContext(ctx).Info("Cannot go on with a cluster", "cause", condition.Message, "nextAttempt", pause.String())
	if s.mustLeave() {
		condition.Message = fmt.Sprintf("The cluster is leaving instance %q, which is tried again: %s", s.membership.Instance, condition.Message)
		condition.Reason = v1alpha1.ReasonLeaving
	}
	if s.upToDate() && !failed.answered() {
		return &phase.Stop{Retry: pause}
	}
	return &phase.Stop{Condition: condition, Retry: pause}
}

// forget drops what is kept in memory of a Cluster that no longer exists.
func (r *Reconciler) forget(name string) {
	r.members.forget(name)
	r.pauses.forget(name)
	r.Metrics.forget(name)
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

// again is when to look at a member again that is as it should be.
func (r *Reconciler) again() time.Duration { return probe.Next(recheckFactor * r.Interval) }

// pauses are the pauses between attempts that fail, by Cluster. The zero value is
// ready for use.
type pauses struct {
	once    sync.Once
	limiter workqueue.TypedRateLimiter[string]

	mu sync.Mutex
	// looks is how many quick looks were taken.
	looks map[string]int
}

func (p *pauses) init() {
	const first, longest = time.Second, 30 * time.Second
	p.once.Do(func() { p.limiter = workqueue.NewTypedItemExponentialFailureRateLimiter[string](first, longest) })
}

// quick takes one of the quick looks, of which there are some until something is
// achieved, and reports that there was one left.
func (p *pauses) quick(cluster string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looks[cluster] >= quickLooks {
		return false
	}
	if p.looks == nil {
		p.looks = map[string]int{}
	}
	p.looks[cluster]++
	return true
}

// busy is when to look again whether the other side has done its part: soon as long
// as that is normal, and then later and later.
func (p *pauses) busy(cluster string) time.Duration {
	if p.quick(cluster) {
		return whileBusy
	}
	return p.next(cluster)
}

func (p *pauses) next(cluster string) time.Duration {
	p.init()
	return p.limiter.When(cluster)
}

func (p *pauses) forget(cluster string) {
	p.init()
	p.limiter.Forget(cluster)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.looks, cluster)
}
