package freshness

import (
	"sync"
	"time"
)

// Heartbeat remembers when another process was last known to live. Times are those of
// this process's clock.
type Heartbeat struct {
	now func() time.Time

	mu     sync.Mutex
	began  time.Time
	last   time.Time
	missed time.Time
}

// NewHeartbeat makes a Heartbeat of a process that was never heard of.
func NewHeartbeat(now func() time.Time) *Heartbeat { return &Heartbeat{now: now} }

// Beat records that the process is known to have lived at a moment, which is before
// the moment at which this process hears of it.
func (h *Heartbeat) Beat(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at.After(h.last) { // Nothing that was proven stops being so.
		h.last = at
	}
}

// Begin records when the process that lives now began its work, by its own clock.
func (h *Heartbeat) Begin(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began = at
}

// Began returns when the process that lives now began its work; the zero time when it
// is not known.
func (h *Heartbeat) Began() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.began
}

// Miss records that the process does not answer now.
func (h *Heartbeat) Miss() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missed = h.now()
}

// Last returns when the process was last known to live, the zero time for never, and
// whether it has not answered since.
func (h *Heartbeat) Last() (at time.Time, missed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, !h.missed.IsZero() && !h.last.After(h.missed)
}
