package passthrough

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/kairship-io/kairship/pkg/audit"
)

// slow is a log that writes nothing until it is let.
type slow struct {
	let chan struct{}

	mu    sync.Mutex
	lines int
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.let
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines += strings.Count(string(p), "\n")
	return len(p), nil
}

func (s *slow) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines
}

// TestJournal writes every line, once, and has no caller wait for it before too many wait.
func TestJournal(t *testing.T) {
	out := &slow{let: make(chan struct{})}
	j := &auditQueue{log: &audit.Log{Logger: slog.New(slog.NewJSONHandler(out, nil))}}
	ctx, record := audit.With(context.Background())
	line := entry{ctx, record, audit.Operation{User: "alice"}}
	const beyond = 3
	for range maxWaiting { // None writes yet, and these calls return.
		j.add(line)
	}
	var over sync.WaitGroup
	for range beyond + 1 { // The writer holds one at most besides those that wait.
		over.Go(func() { j.add(line) })
	}
	close(out.let)
	over.Wait()
	j.flush()
	if got, want := out.written(), maxWaiting+beyond+1; got != want {
		t.Errorf("%d lines are written, want %d", got, want)
	}
	j.add(line)
	j.flush()
	if got, want := out.written(), maxWaiting+beyond+2; got != want {
		t.Errorf("%d lines are written after a pause, want %d: it does not begin again", got, want)
	}
}
