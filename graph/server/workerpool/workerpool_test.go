package workerpool

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
)

type job func()

func (j job) Work() { j() }

// TestPool: blocked workers block no other tasks, and workers are few otherwise.
func TestPool(t *testing.T) {
	p := New()
	release := make(chan struct{})
	var blocked sync.WaitGroup
	for range 10 * p.limit {
		blocked.Add(1)
		p.Add(job(func() { <-release; blocked.Done() }))
	}
	done := make(chan struct{})
	p.Add(job(func() { close(done) }))
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("quick tasks wait for blocked ones")
	}
	var most, now atomic.Int64
	var quick sync.WaitGroup
	for range 1000 {
		quick.Add(1)
		p.Add(job(func() {
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
	if n := int(most.Load()); n > 2*p.limit {
		t.Errorf("%d quick tasks ran at a time, want about %d", n, p.limit)
	}
	close(release)
	blocked.Wait()
	poll.Until(t, 30*time.Second, "the pool is empty", func(context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.workers) > 0 || p.blocked > 0 || len(p.waiting) > 0 {
			return fmt.Errorf("%d workers are left, %d blocked, %d tasks wait", len(p.workers), p.blocked, len(p.waiting))
		}
		return nil
	})
}
