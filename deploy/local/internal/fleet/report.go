package fleet

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Report tells people what is happening, one line at a time, each with the seconds since the
// beginning in front.
type Report struct {
	mu    sync.Mutex
	out   io.Writer
	begun time.Time
}

// newReport writes to out.
func newReport(out io.Writer) *Report {
	return &Report{out: out, begun: time.Now()}
}

// sayf prints a line.
func (r *Report) sayf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	printf(r.out, "%6.1fs  %s\n", time.Since(r.begun).Seconds(), fmt.Sprintf(format, args...))
}

// Step prints that something was done, and how long it took.
func (r *Report) Step(what, how string, took time.Duration) {
	r.sayf("%-32s %s in %.1fs", what, how, took.Seconds())
}

// printf prints to people. An output that was closed has no reader left.
func printf(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format, args...)
}
