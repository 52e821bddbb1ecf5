package workloadmoves

import (
	"context"
	"fmt"
	"sync"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
)

const (
	// The limit for one instance, which has others to serve.
	requestsPerSecond = 50
	burst             = 100
	// queuedChanges limits the instances with changes that are queued.
	queuedChanges = 4096
	// soonest and latest bound the time until the next look at a workload that is not ready yet: a tenth of what it
	// has taken so far.
	soonest, latest = time.Second, 30 * time.Second
)

// instance is the client of an instance, and what is remembered of it.
type instance struct {
	client.Client
	conn *connections.Conn
	end  context.CancelFunc
	// since is when each policy was first seen that waits for its workload.
	since map[types.UID]time.Time
}

// wait is the time until the next look for the policies that wait for their workloads; zero without any.
func (i *instance) wait(pending []types.UID, now time.Time) (next time.Duration) {
	since := make(map[types.UID]time.Time, len(pending))
	for _, uid := range pending {
		if since[uid] = i.since[uid]; since[uid].IsZero() {
			since[uid] = now
		}
		one := min(max(now.Sub(since[uid])/10, soonest), latest)
		if next == 0 || one < next {
			next = one
		}
	}
	i.since = since
	return next
}

// instances are the instances by name, of which one is replaced when its connection is.
type instances struct {
	// changed receives an instance in which there may be something to do.
	changed chan event.GenericEvent

	mu      sync.Mutex
	byName  map[string]*instance
	stopped bool
}

// Start ends all watches with the manager.
func (all *instances) Start(ctx context.Context) error {
	<-ctx.Done()
	all.mu.Lock()
	defer all.mu.Unlock()
	all.stopped = true
	for _, one := range all.byName {
		one.end()
	}
	return nil
}

// of returns the client of an instance, and begins to watch the instance when it is new. Nothing is dialled here.
func (all *instances) of(name string, conn *connections.Conn, timeout time.Duration) (*instance, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	old := all.byName[name]
	if old != nil && old.conn == conn {
		return old, nil
	}
	if all.stopped {
		return nil, context.Canceled
	}
	config, limited := conn.Limited(Name, requestsPerSecond, burst, timeout)
	kube, err := client.New(config, client.Options{HTTPClient: limited, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connect to instance %q: %w", name, err)
	}
	watching, err := client.NewWithWatch(config, client.Options{HTTPClient: conn.HTTP, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connect to instance %q: %w", name, err)
	}
	if old != nil {
		old.end()
	}
	ctx, end := context.WithCancel(conn.Context())
	made := &instance{Client: client.WithFieldOwner(kube, Name), conn: conn, end: end}
	if all.byName == nil {
		all.byName = map[string]*instance{}
	}
	all.byName[name] = made
	watch(ctx, watching, func() { all.enqueue(ctx, name) })
	return made, nil
}

// enqueue waits where the queue is full: a change that is dropped would be found with the next one alone.
func (all *instances) enqueue(ctx context.Context, name string) {
	select {
	case all.changed <- event.GenericEvent{Object: &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}}}:
	case <-ctx.Done():
	}
}

// forget ends the watches on an instance. The connection is not closed: others use it too.
func (all *instances) forget(name string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if old := all.byName[name]; old != nil {
		old.end()
		delete(all.byName, name)
	}
}

// scheme knows what is read and written in instances.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(s))
	utilruntime.Must(batchv1.AddToScheme(s))
	utilruntime.Must(clusterv1alpha1.Install(s))
	utilruntime.Must(policyv1alpha1.Install(s))
	utilruntime.Must(workv1alpha1.Install(s))
	utilruntime.Must(workv1alpha2.Install(s))
	return s
}()

// mapper maps these kinds without asking the instance, which would cost a discovery for each.
var mapper = func() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	add := func(group schema.GroupVersion, scope meta.RESTScope, kinds ...string) {
		for _, kind := range kinds {
			m.Add(group.WithKind(kind), scope)
		}
	}
	add(appsv1.SchemeGroupVersion, meta.RESTScopeNamespace, "Deployment", "StatefulSet", "DaemonSet")
	add(batchv1.SchemeGroupVersion, meta.RESTScopeNamespace, "Job", "CronJob")
	add(schema.GroupVersion(clusterv1alpha1.GroupVersion), meta.RESTScopeRoot, "Cluster")
	add(schema.GroupVersion(policyv1alpha1.GroupVersion), meta.RESTScopeNamespace, "PropagationPolicy", "OverridePolicy")
	add(schema.GroupVersion(policyv1alpha1.GroupVersion), meta.RESTScopeRoot, "ClusterPropagationPolicy", "ClusterOverridePolicy")
	add(schema.GroupVersion(workv1alpha1.GroupVersion), meta.RESTScopeNamespace, "Work")
	add(schema.GroupVersion(workv1alpha2.GroupVersion), meta.RESTScopeNamespace, "ResourceBinding")
	add(schema.GroupVersion(workv1alpha2.GroupVersion), meta.RESTScopeRoot, "ClusterResourceBinding")
	return m
}()
