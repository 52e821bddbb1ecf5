package freshness

import (
	"sync"
	"time"
)

// Pulse tells whether something has been heard of lately. Times are those of
// this process's own clock, so that clocks which differ do no harm.
type Pulse struct {
	now     func() time.Time
	silence time.Duration

	mu     sync.Mutex
	last   time.Time
	missed time.Time
}

// NewPulse makes the pulse of something that is taken for dead when nothing was
// heard of it for the length of silence.
func NewPulse(now func() time.Time, silence time.Duration) *Pulse {
	return &Pulse{now: now, silence: silence}
}

// Beat says that it is known to have lived at a moment. That is before the
// moment at which one hears of it: a life sign may be on its way for a while.
func (p *Pulse) Beat(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = at
}

// Miss says that it does not answer now. It is lost at once then, until it is
// known to have lived after that.
func (p *Pulse) Miss() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.missed = p.now()
}

// Lost tells that it was heard of once and no longer is, and when it was last.
// Something that was never heard of may not exist, and is not lost.
func (p *Pulse) Lost() (last time.Time, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, !p.last.IsZero() && (p.now().Sub(p.last) > p.silence || !p.last.After(p.missed))
}
