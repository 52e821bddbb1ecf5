package podlog

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/quota"
)

// message is what the reader of one container reports.
type message struct {
	of   *followed
	line Line
	// over: there are no more lines, because of err where it is set.
	over bool
	err  error
}

// followed is a container that is followed.
type followed struct {
	target
	reading bool
	// ended: no line is to come, ever.
	ended bool
	// last is the time of the last line that was read.
	last time.Time
	// pause is how long not to ask again, until next. It grows while nothing is read.
	pause time.Duration
	next  time.Time
	// err is why the log could not be read, and the last thing that was said of it.
	err error
}

// follower follows the logs of some containers for one subscriber. Its fields belong to the
// goroutine that runs it.
type follower struct {
	service *Service
	client  instanceproxy.Client
	user    string
	args    Args
	tail    int
	look    look
	out     chan<- *Event
	// single: there is one pod, and no other will come.
	single bool
	// gone: the pod or the workload no longer exists.
	gone bool
	// reading is the context of the readers, which send to messages.
	reading  context.Context //nolint:containedctx // It lives as long as the follower.
	messages chan message
	readers  sync.WaitGroup

	known map[Container]*followed
	// beyond are the containers that are left out, each of which was said once.
	beyond map[Container]bool
	// held are lines that wait for earlier ones.
	held  []Line
	bytes int
}

// run follows until no line is to come, which is no error.
func (f *follower) run(ctx context.Context, found *targets) error {
	if err := f.adopt(ctx, found); err != nil {
		return err
	}
	again := time.NewTicker(cmp.Or(f.service.LookAgain, defaultLookAgain))
	defer again.Stop()
	var flush <-chan time.Time
	for !f.complete() {
		var err error
		if flush == nil && len(f.held) > 0 {
			flush = time.After(window)
		}
		select {
		case m := <-f.messages:
			err = f.take(ctx, &m)
		case <-flush:
			err = f.flush(ctx)
		case <-again.C:
			err = f.lookAgain(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if len(f.held) == 0 {
			flush = nil
		}
	}
	return f.flush(ctx)
}

// complete reports whether no line is to come.
func (f *follower) complete() bool {
	if !f.args.Previous && !f.single && !f.gone {
		return false
	}
	for _, c := range f.known {
		if !c.ended {
			return false
		}
	}
	return true
}

// lookAgain looks which pods there are now.
func (f *follower) lookAgain(ctx context.Context) error {
	limited, cancel := context.WithTimeout(f.service.Begin(ctx), lookTimeout)
	defer cancel()
	found, err := f.look(limited)
	switch {
	case err == nil:
		f.gone = false
	case apierror.Is(err, apierror.CodeNotFound):
		found, f.gone = &targets{}, true
	case apierror.Is(err, apierror.CodeForbidden), apierror.Is(err, apierror.CodeUnauthenticated):
		return err
	default:
		// What is followed goes on.
		f.service.Logger.DebugContext(ctx, "looking for the pods of followed logs failed, retrying", "instance", f.client.Instance(), "error", err)
		return nil
	}
	if f.args.Container != nil {
		found.only(*f.args.Container)
	}
	return f.adopt(ctx, found)
}

// adopt follows what was found, and ends what no longer exists.
func (f *follower) adopt(ctx context.Context, found *targets) error {
	there, live := map[Container]bool{}, 0
	for _, t := range found.containers {
		there[t.Container] = true
	}
	for name, c := range f.known {
		if !there[name] {
			c.over = true // Its reader comes to the end.
			if !c.reading {
				if err := f.end(ctx, c, "the pod no longer exists"); err != nil {
					return err
				}
				delete(f.known, name)
			}
		}
		if !c.ended {
			live++
		}
	}
	now := time.Now()
	for _, t := range found.containers {
		c := f.known[t.Container]
		switch {
		case c == nil && live >= mostContainers:
			if !f.beyond[t.Container] {
				f.beyond[t.Container] = true
				if err := f.say(ctx, EventOmitted, t.Container, tooMany); err != nil {
					return err
				}
			}
			continue
		case c == nil:
			c = &followed{target: t}
			f.known[t.Container] = c
			live++
		}
		c.over = t.over
		if !c.reading && !c.ended && !now.Before(c.next) {
			if err := f.begin(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin begins to read a container, after what was read of it before.
func (f *follower) begin(ctx context.Context, c *followed) error {
	entered, limited := f.service.Quotas.EnterStream(f.user)
	if limited == nil {
		limited = entered.Reserve(openCost)
	}
	if limited != nil {
		entered.End()
		return f.failed(ctx, c, EventOmitted, limited)
	}
	r := request{of: c.Container, tail: f.tail, since: f.args.Since, previous: f.args.Previous, follow: !f.args.Previous}
	if after := c.last; !after.IsZero() {
		r.tail, r.since = 0, &after
	}
	c.reading = true
	f.readers.Add(1)
	go f.read(c, r, c.last, entered)
	return nil
}

// read reads a container until its log ends. Lines up to a time were read before.
func (f *follower) read(c *followed, r request, after time.Time, entered *quota.Operation) {
	defer f.readers.Done()
	defer f.service.recover(f.reading)
	var lines *scanner
	defer func() {
		cost := openCost
		if lines != nil {
			cost += lines.read / bytesPerValue
		}
		entered.Charge(cost)
		entered.End()
	}()
	body, err := open(f.reading, f.client, &r)
	if err != nil {
		f.send(message{of: c, over: true, err: err})
		return
	}
	defer body.Close()
	lines = newScanner(body, r.of)
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			f.send(message{of: c, over: true})
			return
		case err != nil:
			f.send(message{of: c, over: true, err: interrupted(f.reading, f.client, r.of.Cluster, err)})
			return
		case line.Time != nil && (!line.Time.After(after) || f.args.Since != nil && line.Time.Before(*f.args.Since)):
			continue // A kubelet is asked by the second.
		}
		if !f.send(message{of: c, line: line}) {
			return
		}
	}
}

// send gives a message to the follower; false when it has ended.
func (f *follower) send(m message) bool {
	select {
	case f.messages <- m:
		return true
	case <-f.reading.Done():
		return false
	}
}

// take takes what a reader reports.
func (f *follower) take(ctx context.Context, m *message) error {
	c := m.of
	if !m.over {
		c.last, c.pause, c.err = m.line.at, 0, nil
		f.held = append(f.held, m.line)
		f.bytes += len(m.line.Text)
		if len(f.known) == 1 || f.bytes > heldBytes || len(f.held) >= heldLines {
			return f.flush(ctx)
		}
		return nil
	}
	c.reading = false
	switch {
	case m.err == nil && (c.over || f.args.Previous):
		return f.end(ctx, c, "the container has ended")
	case errors.Is(m.err, errMissing) && (c.over || f.args.Previous):
		return f.end(ctx, c, messageOf(m.err))
	case m.err == nil, errors.Is(m.err, errMissing):
		// It restarts, has not started, or is an init container that is done.
		c.retryLater()
		return nil
	}
	return f.failed(ctx, c, EventInterrupted, m.err)
}

// retryLater has a container asked for again after a pause, which doubles while nothing is read.
func (c *followed) retryLater() {
	c.pause = min(max(2*c.pause, shortestPause), longestPause)
	c.next = time.Now().Add(c.pause)
}

// failed reports why a container can't be read, and has it tried again. The stream ends where the caller
// may read none.
func (f *follower) failed(ctx context.Context, c *followed, as EventType, err error) error {
	before := c.err
	c.err = err
	c.retryLater()
	refused := apierror.Is(err, apierror.CodeForbidden)
	for _, other := range f.known {
		refused = refused && !other.reading && (other.ended || apierror.Is(other.err, apierror.CodeForbidden))
	}
	switch {
	case refused:
		return err
	case before != nil && messageOf(before) == messageOf(err):
		return nil
	}
	return f.say(ctx, as, c.Container, messageOf(err))
}

// end reports that no line of a container is to come.
func (f *follower) end(ctx context.Context, c *followed, why string) error {
	if c.ended {
		return nil
	}
	c.ended = true
	return f.say(ctx, EventEnded, c.Container, why)
}

// say sends an event about a container, after its lines.
func (f *follower) say(ctx context.Context, what EventType, c Container, why string) error {
	if err := f.flush(ctx); err != nil {
		return err
	}
	return f.deliver(ctx, &Event{Type: what, Line: Line{Container: c}, Message: &why})
}

// flush sends the lines that wait, in the order of time. Nothing is read meanwhile.
func (f *follower) flush(ctx context.Context) error {
	slices.SortStableFunc(f.held, func(a, b Line) int { return a.at.Compare(b.at) })
	for _, l := range f.held {
		if err := f.deliver(ctx, &Event{Type: EventLine, Line: l}); err != nil {
			return err
		}
	}
	f.held, f.bytes = f.held[:0], 0
	return nil
}

func (f *follower) deliver(ctx context.Context, e *Event) error {
	select {
	case f.out <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
