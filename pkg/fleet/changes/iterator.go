package changes

import (
	"context"

	"github.com/kairship-io/kairship/pkg/live"
)

// Iterator makes the events of a subscription: one at a time, in the goroutine of the consumer that was
// woken, so that no goroutine waits for them. Most of the thousands of subscriptions are silent
// nearly always. Only one goroutine at a time may call the methods.
type Iterator interface {
	// Pull makes the next event. It returns false when there is none now: the consumer is woken when
	// there may be one. Once the subscription has ended, it always returns true.
	Pull(ctx context.Context) bool
	// Content identifies the content of the pulled event without its cursor; false where other
	// subscribers may get something else.
	Content() (Content, bool)
	// Cursor returns the cursor of the pulled event; it is for an event whose content is shared.
	Cursor() string
	// Send sends the pulled event to the channel, which has room for one; at the end it closes the
	// channel.
	Send(ctx context.Context) SendResult
	// Close ends the subscription from outside.
	Close()
}

// SendResult is the result of Send.
type SendResult int

const (
	// Sent means that it is in the channel.
	Sent SendResult = iota
	// Skipped means that its object can't be read, so nothing is sent.
	Skipped
	// Closed means that there was no event, and there will be none.
	Closed
)

// Consumer pulls the events of a subscription and sends them.
type Consumer interface {
	// Wake reports that there may be an event to pull. It does not block, and does not pull.
	Wake()
	// Consume pulls and sends the events until the subscription ends, and closes t. The context is
	// the subscription's.
	Consume(ctx context.Context, t Iterator)
}

// Content identifies events with the same content: they show the same object to users who may see the
// whole of it, with the same selection.
type Content struct {
	typ      Type
	now, old *live.Object
}

// NewContent identifies an event of an object and its previous state, or nil.
func NewContent(typ Type, now, before *live.Object) Content { return Content{typ, now, before} }

// Size returns about how many bytes a kept Content occupies.
func (c Content) Size() int {
	size := len(c.now.Raw)
	if c.old != nil {
		size += len(c.old.Raw)
	}
	return size
}

// runner is a Consumer with a goroutine of its own.
type runner struct {
	woken chan struct{}
}

// NewRunner returns a Consumer with a goroutine of its own.
func NewRunner() Consumer { return &runner{woken: make(chan struct{}, 1)} }

// Wake implements Consumer.
func (r *runner) Wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// Consume implements Consumer.
func (r *runner) Consume(ctx context.Context, t Iterator) {
	go func() {
		defer t.Close()
		for {
			for t.Pull(ctx) {
				if t.Send(ctx) == Closed {
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
