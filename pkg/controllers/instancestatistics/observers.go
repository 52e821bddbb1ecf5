package instancestatistics

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
)

// observers are the observers of all instances, by name.
type observers struct {
	slots    chan struct{}
	changed  chan event.GenericEvent
	patience time.Duration
	// watches is how many there are.
	watches *atomic.Int64

	mu     sync.Mutex
	byName map[string]*observer
	// written is when something was last written about an instance.
	written map[string]time.Time
	// seen are the members of each instance that were seen last.
	seen    map[string][]string
	stopped bool
}

func (o *observers) init(watches *atomic.Int64) {
	o.watches = watches
	o.slots = make(chan struct{}, starting)
	o.changed = make(chan event.GenericEvent, queuedChanges)
	o.patience = patience
	o.byName, o.written, o.seen = map[string]*observer{}, map[string]time.Time{}, map[string][]string{}
}

// Start ends all observers with the manager.
func (o *observers) Start(ctx context.Context) error {
	<-ctx.Done()
	o.mu.Lock()
	o.stopped = true
	left := o.byName
	o.byName = nil
	o.mu.Unlock()
	for _, observer := range left {
		observer.stop()
	}
	return nil
}

// of is the observer of an instance through this connection. One through another
// connection is ended.
func (o *observers) of(name string, conn *connections.Conn, lost chan<- event.GenericEvent) (*observer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.byName[name]
	if old != nil && old.conn == conn {
		return old, nil
	}
	if o.stopped {
		return nil, context.Canceled
	}
	made, err := start(conn, o.slots, o.patience, o.watches, func() { send(o.changed, name) }, func() { send(lost, name) })
	if err != nil {
		return nil, err
	}
	o.byName[name] = made
	if old != nil {
		go old.stop() // Its connection has ended already.
	}
	return made, nil
}

// forget ends the observer of an instance.
func (o *observers) forget(name string) {
	o.mu.Lock()
	old := o.byName[name]
	delete(o.byName, name)
	delete(o.written, name)
	o.mu.Unlock()
	if old != nil {
		old.stop()
	}
}

// remember keeps the names of an instance's members for when it is lost.
func (o *observers) remember(name string, members []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[name] = members
}

// members are the names of an instance's members that were seen last.
func (o *observers) members(name string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen[name]
}

// drop forgets everything about an instance that no longer exists.
func (o *observers) drop(name string) {
	o.forget(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, name)
}

// wait is how long something must not be written about an instance yet. When it is
// zero, the time counts from now.
func (o *observers) wait(name string, interval time.Duration) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if rest := interval - now.Sub(o.written[name]); rest > 0 {
		return rest
	}
	o.written[name] = now
	return 0
}

// send sends the name of an instance without waiting. What does not fit is left out:
// a receiver of that many looks at everything sooner or later.
func send(to chan<- event.GenericEvent, name string) {
	if to == nil {
		return
	}
	select {
	case to <- event.GenericEvent{Object: &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}}}:
	default:
	}
}
