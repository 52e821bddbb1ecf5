package server

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type job func()

func (j job) work() { j() }

// TestCrew: blocked callers block no others, and are few otherwise.
func TestCrew(t *testing.T) {
	c := newCrew()
	release := make(chan struct{})
	var held sync.WaitGroup
	for range 10 * c.limit {
		held.Add(1)
		c.add(job(func() { <-release; held.Done() }))
	}
	done := make(chan struct{})
	c.add(job(func() { close(done) }))
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("what is quick waits for what is held")
	}
	var most, now atomic.Int64
	var quick sync.WaitGroup
	for range 1000 {
		quick.Add(1)
		c.add(job(func() {
			defer quick.Done()
			defer now.Add(-1)
			for n := now.Add(1); ; {
				before := most.Load()
				if n <= before || most.CompareAndSwap(before, n) {
					return
				}
			}
		}))
	}
	quick.Wait()
	if n := int(most.Load()); n > 2*c.limit {
		t.Errorf("%d worked at a time on what is quick, want about %d", n, c.limit)
	}
	close(release)
	held.Wait()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		left, stuck, waiting := len(c.hands), c.held, len(c.waiting)
		c.mu.Unlock()
		if left == 0 && stuck == 0 && waiting == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d hands are left, %d held, %d wait", left, stuck, waiting)
		}
	}
}
