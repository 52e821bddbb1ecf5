package changes

import (
	"context"

	"github.com/kairship-io/kairship/pkg/live"
)

// Turns are the events of a subscription as they are made: one at a time, by the goroutine that
// was woken, and without a goroutine that waits for them. Most subscriptions are
// silent nearly always, and there are thousands. The functions are called by one
// goroutine at a time.
type Turns interface {
	// Pull makes the next event. It is false when there is none now: the driver is woken
	// when there may be. Once the subscription has ended, it is true for good.
	Pull(ctx context.Context) bool
	// Same stands for what the event that was pulled tells, but for its cursor; false
	// where others may be told something else.
	Same() (Same, bool)
	// Cursor is that of the event that was pulled and that is the same for others.
	Cursor() string
	// Pass sends what was pulled to the channel, which has room for one; the end closes
	// the channel.
	Pass(ctx context.Context) Passed
	// Close ends it from outside.
	Close()
}

// Passed is what became of an event.
type Passed int

const (
	// Sent means that it is in the channel.
	Sent Passed = iota
	// LeftOut means that it can't be read, and nothing is told of it.
	LeftOut
	// Closed means that there was none, and there will be none.
	Closed
)

// Driver makes the events of a subscription and passes them on.
type Driver interface {
	// Wake reports that there may be something to pull. It does not block, and does nothing
	// itself.
	Wake()
	// Drive takes over, until it closes the turns. The context is the subscription's.
	Drive(ctx context.Context, t Turns)
}

// Same is the same for events that show the same object, to everybody who may
// see the whole of it and selects the same.
type Same struct {
	typ      Type
	now, old *live.Object
}

// NewSame stands for an event of an object that was another one before, or nothing.
func NewSame(typ Type, now, before *live.Object) Same { return Same{typ, now, before} }

// Size is how much memory is kept by keeping it, in bytes and about.
func (s Same) Size() int {
	size := len(s.now.Raw)
	if s.old != nil {
		size += len(s.old.Raw)
	}
	return size
}

// runner drives in a goroutine of its own.
type runner struct {
	woken chan struct{}
}

// NewRunner is a driver with a goroutine of its own, for who has no other.
func NewRunner() Driver { return &runner{woken: make(chan struct{}, 1)} }

// Wake implements Driver.
func (r *runner) Wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// Drive implements Driver.
func (r *runner) Drive(ctx context.Context, t Turns) {
	go func() {
		defer t.Close()
		for {
			for t.Pull(ctx) {
				if t.Pass(ctx) == Closed {
					return
				}
			}
			select {
			case <-r.woken:
			case <-ctx.Done():
				t.Close() // So that the next pull finds the end.
			}
		}
	}()
}
