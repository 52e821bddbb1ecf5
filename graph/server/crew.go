package server

import (
	"runtime"
	"sync"
	"time"
)

// crew sends the events of subscriptions that have some. A change that a thousand
// subscribers are told would have a thousand goroutines begin, each with a stack that
// grows by the way: a few that take turns cost half of that. A client that does not
// read blocks senders, but no other callers for long: those that are blocked are
// not counted, and others take their place.
type crew struct {
	mu      sync.Mutex
	waiting []worker
	// hands are those that work; held are the ones that were found held.
	hands map[*hand]struct{}
	held  int
	// limit is how many work that are not held.
	limit int
	look  *time.Timer
	// looks: the timer runs.
	looks bool
}

// worker is what is worked on.
type worker interface{ work() }

// hand is one that works. The crew's lock guards it.
type hand struct {
	taken, seen uint64
	held        bool
}

const (
	// handsForCPU is how many work for each CPU: more than one, because some wait.
	handsForCPU = 2
	// heldAfter is how long one may take for one subscription until others take its place.
	heldAfter = 5 * time.Millisecond
)

func newCrew() *crew {
	return &crew{hands: map[*hand]struct{}{}, limit: handsForCPU * runtime.GOMAXPROCS(0)}
}

// add has a subscription worked on soon. It does not block.
func (c *crew) add(r worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, r)
	if len(c.hands)-c.held < c.limit {
		c.hire()
		return
	}
	if !c.looks {
		c.looks = true
		if c.look == nil {
			c.look = time.AfterFunc(heldAfter, c.inspect)
		} else {
			c.look.Reset(heldAfter)
		}
	}
}

// hire is called with the lock held.
func (c *crew) hire() {
	h := &hand{}
	c.hands[h] = struct{}{}
	go c.work(h)
}

func (c *crew) work(h *hand) {
	for {
		r := c.next(h)
		if r == nil {
			return
		}
		r.work()
	}
}

// next is what is to be worked on next; nil when there is nothing, or too many work.
func (c *crew) next(h *hand) worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.held {
		h.held = false
		c.held--
	}
	if len(c.waiting) == 0 || len(c.hands)-c.held > c.limit {
		delete(c.hands, h)
		return nil
	}
	r := c.waiting[0]
	c.waiting[0] = nil
	if c.waiting = c.waiting[1:]; len(c.waiting) == 0 {
		c.waiting = nil
	}
	h.taken++
	return r
}

// inspect finds out who is held, while something waits.
func (c *crew) inspect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for h := range c.hands {
		if !h.held && h.taken == h.seen {
			h.held = true
			c.held++
		}
		h.seen = h.taken
	}
	for range min(len(c.waiting), c.limit-(len(c.hands)-c.held)) {
		c.hire()
	}
	if c.looks = len(c.waiting) > 0; c.looks {
		c.look.Reset(heldAfter)
	}
}
