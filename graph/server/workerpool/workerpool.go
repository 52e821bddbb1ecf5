// Package workerpool runs tasks in a limited number of goroutines, not counting those
// that are blocked.
package workerpool

import (
	"runtime"
	"sync"
	"time"
)

// Pool runs tasks in a few goroutines. A change that is sent to a thousand subscribers
// would otherwise start a thousand goroutines, each with a stack that grows on the way, and
// queries would wait behind them: ARCHITECTURE.md has the figures. A client that does not read blocks a worker, but no
// other client for long: blocked workers do not count, and others take their place.
type Pool struct {
	mu      sync.Mutex
	waiting []Task
	// workers are those that run; blocked is how many of them were found blocked.
	workers map[*worker]struct{}
	blocked int
	// limit is how many workers run that are not blocked.
	limit int
	timer *time.Timer
	// timing is set while the timer runs.
	timing bool
}

// Task is what a worker runs.
type Task interface{ Work() }

// worker is a goroutine of the pool, whose lock guards it.
type worker struct {
	taken, seen uint64
	blocked     bool
}

const (
	// workersPerCPU is more than one, because some wait.
	workersPerCPU = 2
	// blockedAfter is how long a worker may take for one task until others take its place.
	blockedAfter = 5 * time.Millisecond
)

// New returns a pool without workers: they start with the first task.
func New() *Pool {
	return &Pool{workers: map[*worker]struct{}{}, limit: workersPerCPU * runtime.GOMAXPROCS(0)}
}

// Add has a task run soon. It does not block.
func (p *Pool) Add(t Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, t)
	if len(p.workers)-p.blocked < p.limit {
		p.start()
		return
	}
	if !p.timing {
		p.timing = true
		if p.timer == nil {
			p.timer = time.AfterFunc(blockedAfter, p.inspect)
		} else {
			p.timer.Reset(blockedAfter)
		}
	}
}

// start is called with the lock held.
func (p *Pool) start() {
	w := &worker{}
	p.workers[w] = struct{}{}
	go p.work(w)
}

func (p *Pool) work(w *worker) {
	for {
		t := p.next(w)
		if t == nil {
			return
		}
		t.Work()
	}
}

// next returns the next task; nil if there is none, or too many workers run.
func (p *Pool) next(w *worker) Task {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.blocked {
		w.blocked = false
		p.blocked--
	}
	if len(p.waiting) == 0 || len(p.workers)-p.blocked > p.limit {
		delete(p.workers, w)
		return nil
	}
	t := p.waiting[0]
	p.waiting[0] = nil
	if p.waiting = p.waiting[1:]; len(p.waiting) == 0 {
		p.waiting = nil
	}
	w.taken++
	return t
}

// inspect finds blocked workers while tasks wait.
func (p *Pool) inspect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.workers {
		if !w.blocked && w.taken == w.seen {
			w.blocked = true
			p.blocked++
		}
		w.seen = w.taken
	}
	for range min(len(p.waiting), p.limit-(len(p.workers)-p.blocked)) {
		p.start()
	}
	if p.timing = len(p.waiting) > 0; p.timing {
		p.timer.Reset(blockedAfter)
	}
}
