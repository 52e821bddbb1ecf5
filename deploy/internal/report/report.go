// Package report prints what a command does, for people.
package report

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Report prints what is happening, one line at a time, each with the seconds since the beginning in front.
type Report struct {
	mu    sync.Mutex
	out   io.Writer
	begun time.Time
}

// New writes to out.
func New(out io.Writer) *Report {
	return &Report{out: out, begun: time.Now()}
}

// Sayf prints a line.
func (r *Report) Sayf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// An output that was closed has no reader left.
	_, _ = fmt.Fprintf(r.out, "%6.1fs  %s\n", time.Since(r.begun).Seconds(), fmt.Sprintf(format, args...))
}

// Step prints that something was done, and how long it took.
func (r *Report) Step(what, how string, took time.Duration) {
	r.Sayf("%-32s %s in %.1fs", what, how, took.Seconds())
}
