package controlleroptions

import (
	"math"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is controller-runtime's, which gives its workers back when it is shut down.
//
// Before 0.25 that one may block forever: it hands an item to a worker that has just ended because
// of the shutdown, and holds the lock that the others need
// (https://github.com/kubernetes-sigs/controller-runtime/issues/3538). A leader that is stopped
// would then hold its lease until the manager's grace period of 30 seconds is over. So it is shut
// down only once no goroutine waits for it; one that does is woken with an item of no meaning. The
// queue of client-go does not have this bug, but does not merge delayed items with immediate ones.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu       sync.Mutex
	waiting  int
	stopping bool
}

// newQueue implements controller.Options.NewQueue.
func newQueue(name string, pauses workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return &queue{PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = pauses })}
}

// Get implements workqueue.TypedInterface.
func (q *queue) Get() (item reconcile.Request, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *queue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	if !q.wait() {
		return reconcile.Request{}, 0, true
	}
	item, priority, _ = q.PriorityQueue.GetWithPriority()

	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
	if !q.stopping {
		return item, priority, false
	}
	if q.waiting == 0 {
		q.PriorityQueue.ShutDown()
	}
	return reconcile.Request{}, 0, true
}

// wait counts a waiting caller, and reports whether there is anything to wait for.
func (q *queue) wait() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.stopping {
		q.waiting++
	}
	return !q.stopping
}

// ShutDown implements workqueue.TypedInterface.
func (q *queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopping {
		return
	}
	q.stopping = true
	if q.waiting == 0 {
		q.PriorityQueue.ShutDown()
		return
	}
	for i := range q.waiting {
		// No object has such a name.
		wake := reconcile.Request{NamespacedName: types.NamespacedName{Name: "/shutdown/" + strconv.Itoa(i)}}
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(math.MaxInt)}, wake)
	}
}

// ShutDownWithDrain implements workqueue.TypedInterface. As of controller-runtime's,
// nothing is drained.
func (q *queue) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown implements workqueue.TypedInterface.
func (q *queue) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopping
}
