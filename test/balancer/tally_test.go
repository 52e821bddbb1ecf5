package balancer

import (
	"fmt"
	"sync"
	"testing"
)

// tally counts what was done, and keeps what went wrong.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	order  []string
	failed []string
}

func (y *tally) did(what string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.counts == nil {
		y.counts = map[string]int{}
	}
	if y.counts[what] == 0 {
		y.order = append(y.order, what)
	}
	y.counts[what]++
}

func (y *tally) of(what string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.counts[what]
}

func (y *tally) failf(format string, args ...any) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.failed = append(y.failed, fmt.Sprintf(format, args...))
}

// report logs the counts and fails the test for what went wrong.
func (y *tally) report(t testing.TB) {
	t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, what := range y.order {
		t.Logf("%6d %s", y.counts[what], what)
	}
	const most = 20
	for _, failure := range y.failed[:min(most, len(y.failed))] {
		t.Error(failure)
	}
	if len(y.failed) > 0 {
		t.Errorf("%d failures in all", len(y.failed))
	}
}
