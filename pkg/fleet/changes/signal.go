package changes

import (
	"sync"
	"time"
)

// Signal tells any number of feeds that something may have changed. Its zero value
// is ready.
type Signal struct {
	mu        sync.Mutex
	listeners map[*Listener]struct{}
}

// Send wakes everybody who waits, and everybody who is not waiting just now as soon
// as they do.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		l.hear()
	}
}

// Listen begins to listen, before it is found out what a later signal would change.
func (s *Signal) Listen() *Listener {
	l := &Listener{signal: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners == nil {
		s.listeners = map[*Listener]struct{}{}
	}
	s.listeners[l] = struct{}{}
	return l
}

// Listener is one who listens to a signal. A nil one hears nothing.
type Listener struct {
	signal *Signal
	// The rest is under the signal's lock.
	wake    func()
	pending bool
}

// again has the listener hear the signal after a while, if it is not sent before.
func (l *Listener) again(after time.Duration) {
	time.AfterFunc(after, func() {
		l.signal.mu.Lock()
		defer l.signal.mu.Unlock()
		l.hear()
	})
}

func (l *Listener) hear() {
	l.pending = true
	if l.wake != nil {
		l.wake()
	}
}

// wakes has a function called at every signal, and at once when there was one.
func (l *Listener) wakes(wake func()) {
	if l == nil {
		return
	}
	l.signal.mu.Lock()
	defer l.signal.mu.Unlock()
	l.wake = wake
	if l.pending {
		wake()
	}
}

// woken reports whether there was a signal since it was asked last.
func (l *Listener) woken() bool {
	if l == nil {
		return false
	}
	l.signal.mu.Lock()
	defer l.signal.mu.Unlock()
	pending := l.pending
	l.pending = false
	return pending
}

// Stop stops listening.
func (l *Listener) Stop() {
	if l == nil {
		return
	}
	l.signal.mu.Lock()
	defer l.signal.mu.Unlock()
	delete(l.signal.listeners, l)
}
