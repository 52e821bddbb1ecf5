package instancestatus

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// The intervals of the requests.
const (
	// wholeInterval is the time between two looks with all requests while the instance is healthy;
	// those in between are glances.
	wholeInterval = 30 * time.Second
	// admissionInterval is the time between two checks whether policies are admitted.
	admissionInterval = time.Minute
	// soon is the pause before a look that confirms the previous one.
	soon = time.Second
	// whileAway is the pause between looks at an instance that cannot be reached.
	whileAway = 2 * time.Second
	// withoutCredentials is the pause while there are no usable credentials. Watches report new
	// credentials; this covers changes that no watch reports.
	withoutCredentials = time.Minute
)

// histories hold the results of the last looks at instances. They may be lost: the next look then
// sends all requests.
type histories struct {
	mu     sync.Mutex
	byName map[string]history
}

type history struct {
	// whole and admission are the times of the next whole look, and of the next admission check.
	whole, admission time.Time
	// rejected reports whether the last admission check failed; its result counts until the next
	// one.
	rejected bool
}

func (h *histories) of(name string) history {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byName[name]
}

func (h *histories) keep(name string, what history) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byName == nil {
		h.byName = map[string]history{}
	}
	h.byName[name] = what
}

// hurry makes the next look a whole one.
func (h *histories) hurry(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if what, known := h.byName[name]; known {
		what.whole = time.Time{}
		h.byName[name] = what
	}
}

func (h *histories) forget(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byName, name)
}

// spread returns a time around the interval, so that instances that were created at the same time
// are not always looked at together.
func spread(interval time.Duration) time.Duration { return wait.Jitter(interval*3/4, 2.0/3) }
