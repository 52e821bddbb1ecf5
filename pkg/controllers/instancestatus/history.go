package instancestatus

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// How often what is asked.
const (
	// wholeInterval is the time between two looks that ask for everything while all
	// is well; those in between are glances.
	wholeInterval = 30 * time.Second
	// admissionInterval is the same of the question whether policies are admitted.
	admissionInterval = time.Minute
	// soon is when to look again to make sure of what a look has shown.
	soon = time.Second
	// whileAway is when to look again at an instance that cannot be reached.
	whileAway = 2 * time.Second
	// withoutCredentials is the same where it cannot be checked. What brings the
	// credentials is watched; this is for what no watch tells.
	withoutCredentials = time.Minute
)

// histories are what the last looks at instances leave behind. All of it may be
// lost: the next look is then one that asks for everything.
type histories struct {
	mu     sync.Mutex
	byName map[string]history
}

type history struct {
	// whole and admission are when the next whole look, and the next question about
	// admission, are due.
	whole, admission time.Time
	// rejected reports whether the last such question failed: the answer counts until the
	// next one.
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

// spread is a time around the interval, so that instances that were created
// together are not asked together for ever.
func spread(interval time.Duration) time.Duration { return wait.Jitter(interval*3/4, 2.0/3) }
