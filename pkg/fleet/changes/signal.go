package changes

import (
	"sync"
	"time"
)

// Signal wakes any number of feeds when something may have changed. Its zero value is ready to use.
type Signal struct {
	mu        sync.Mutex
	listeners map[*Listener]struct{}
}

// Send wakes all listeners; one that is not waiting now wakes as soon as it waits.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		l.hear()
	}
}

// Listen returns a new listener. Call it before reading the state that a later signal would change.
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

// Listener receives a signal. A nil one never does.
type Listener struct {
	signal *Signal
	// The signal's lock guards the following fields.
	wake    func()
	pending bool
}

// again wakes the listener after a while, even if the signal is not sent before.
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
