package live

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// Stream is one subscription at work. Next, Poll and Event.Cursor are called by one
// goroutine at a time; the other methods by any.
type Stream struct {
	hub        *Hub
	ctx        context.Context //nolint:containedctx // It is the stream's own lifetime.
	cancel     context.CancelCauseFunc
	seal       sealer
	maxPending int
	// knownWrites are what it does not begin without.
	knownWrites []KnownWrite
	// open: it goes on without sources.
	open   bool
	timer  *time.Timer
	unhook func() bool

	// wake has room for one word that there is something to read; nil where notify is
	// called instead.
	wake   chan struct{}
	notify func()
	// reads: Poll was called since the hub looked last, which it did at looked.
	reads  atomic.Bool
	looked time.Time
	// following orders the calls of Follow.
	following sync.Mutex

	mu    sync.Mutex
	parts []*part
	// ready are the parts that have something to say.
	ready []*part
	// err ends the stream at once; last does when everything was read.
	err, last error

	// The rest belongs to the reader.

	out []said
	// pooled is the room of out at first.
	pooled *[fewSaid]said
	// synced: SYNCED was delivered for the whole stream.
	synced bool
}

// said is an event that waits to be read. Once it was, its part has made progress if
// it moves. An event without a type only moves the part.
type said struct {
	event    Event
	part     *part
	progress progress
	moves    bool
}

// Next waits for the next event. It returns the error that ended the stream:
// context.Cause of the subscription's context, errSlow, errStopped, errClosed, or
// the *apierror.Error of the last source. The end of the context that is given here
// ends only the wait.
func (s *Stream) Next(ctx context.Context) (Event, error) {
	for {
		if e, ok, err := s.Poll(); ok || err != nil {
			return e, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

// Poll returns the next event like Next, but does not wait: ok is false when there is none now.
// Subscription.Wake reports new ones.
func (s *Stream) Poll() (e Event, ok bool, err error) {
	if !s.reads.Load() {
		s.reads.Store(true)
	}
	for {
		if e, ok := s.pop(); ok {
			return e, true, nil
		}
		p, err := s.transition()
		if p == nil || err != nil {
			return Event{}, false, err
		}
		more := s.read(p)
		s.mu.Lock()
		if more || p.waiting() {
			s.enqueue(p)
		}
		s.mu.Unlock()
	}
}

// pop is the next event that waits.
func (s *Stream) pop() (Event, bool) {
	s.move()
	if len(s.out) == 0 {
		return Event{}, false
	}
	e := s.shift()
	s.move() // So that the cursor is as late as it can be.
	s.hub.metrics.read(e.Type)
	e.stream = s
	return e, true
}

// move takes what only moves parts.
func (s *Stream) move() {
	for len(s.out) > 0 && s.out[0].event.Type == "" {
		s.shift()
	}
}

func (s *Stream) shift() Event {
	next := s.out[0]
	s.out[0] = said{}
	if s.out = s.out[1:]; len(s.out) == 0 {
		s.clear()
	}
	if next.part != nil {
		next.part.out--
		if next.moves {
			next.part.progress = next.progress
		}
	}
	return next.event
}

// outs are for what streams are about to say: one that is silent has none.
var outs = sync.Pool{New: func() any { return new([fewSaid]said) }}

// fewSaid is enough for most that is said at a time.
const fewSaid = 4

// deliver appends an event that waits to be read.
func (s *Stream) deliver(what said) {
	if s.out == nil {
		s.pooled = outs.Get().(*[fewSaid]said)
		s.out = s.pooled[:0]
	}
	s.out = append(s.out, what)
}

// clear gives back the room for what has been read.
func (s *Stream) clear() {
	s.out = nil
	if s.pooled != nil {
		*s.pooled = [fewSaid]said{}
		outs.Put(s.pooled)
		s.pooled = nil
	}
}

// transition returns the next part of the queue with its unread entries taken; nil when no part has any.
func (s *Stream) transition() (*part, error) {
	for {
		s.mu.Lock()
		if err := s.err; err != nil {
			s.mu.Unlock()
			return nil, err
		}
		if len(s.ready) == 0 {
			last := s.last
			s.mu.Unlock()
			if last != nil {
				s.end(last)
			}
			return nil, last
		}
		p := s.ready[0]
		s.ready = s.ready[1:]
		p.queued = false
		if !p.stale {
			p.takeIn()
			s.mu.Unlock()
			return p, nil
		}
		s.mu.Unlock()
		p.view.restart(p)
		s.mu.Lock()
		if p.stale { // Its source was removed, and it will never start.
			p.stale, p.fresh = false, &start{gap: true, from: nothing, at: p.seen.Load()}
			s.enqueue(p)
		}
		s.mu.Unlock()
	}
}

// enqueue is called with the lock held.
func (s *Stream) enqueue(p *part) {
	if p.queued || p.dropped {
		return
	}
	p.queued = true
	s.ready = append(s.ready, p)
	s.wakeReader()
}

// wakeReader reports that there may be something to read.
func (s *Stream) wakeReader() {
	if s.notify != nil {
		s.notify()
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// remove takes a part out of the stream, which ends behind the last one.
func (s *Stream) remove(p *part, reason error) {
	s.mu.Lock()
	if !slices.Contains(s.parts, p) {
		s.mu.Unlock()
		return // The stream has ended in between.
	}
	// A copy, because the parts may be being read.
	s.parts = slices.DeleteFunc(slices.Clone(s.parts), func(other *part) bool { return other == p })
	if len(s.parts) == 0 && !s.open {
		s.last = reason
	}
	s.mu.Unlock()
	p.view.detach(p, nil)
	s.hub.release(p.view)
}

// drop takes a part out of the stream without a word.
func (s *Stream) drop(p *part) {
	s.mu.Lock()
	if !slices.Contains(s.parts, p) {
		s.mu.Unlock()
		return // The stream has ended in between.
	}
	p.dropped = true
	// Copies, because the parts may be being read.
	other := func(q *part) bool { return q == p }
	s.parts = slices.DeleteFunc(slices.Clone(s.parts), other)
	s.ready = slices.DeleteFunc(slices.Clone(s.ready), other)
	s.mu.Unlock()
	p.view.detach(p, nil)
	s.hub.release(p.view)
}

// giveUp is called when sources have had the time to answer.
func (s *Stream) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if !p.active && p.problem == nil {
			p.silent = explain(p.source, errSilent)
			s.enqueue(p)
		}
	}
}

var errSilent = errors.New("there was no answer in time")

// Follow replaces the interests of the stream. Sources that were followed before go on where the
// filter is to stay (Join and Filter of a source that stays are ignored), and begin again with a
// GAP where the Scope differs; new ones begin with their current objects and a SYNCED of their own;
// the objects of those that are left out are delivered as DELETED, followed by ENDED with the given
// error. The error is INVALID for a source that is named twice.
func (s *Stream) Follow(interests []Interest, reason error) error {
	s.following.Lock()
	defer s.following.Unlock()
	if err := check(interests); err != nil {
		return err
	}
	wanted := map[Source]*Interest{}
	for i := range interests {
		wanted[interests[i].Source] = &interests[i]
	}
	s.mu.Lock()
	known := map[Source]bool{}
	var leaving, replaced []*part
	for _, p := range s.parts {
		if p.ended != nil {
			continue
		}
		known[p.source] = true
		if interest := wanted[p.source]; interest == nil {
			leaving = append(leaving, p)
		} else if p.scope != scopeOf(interest.Scope) {
			replaced = append(replaced, p)
		}
	}
	s.mu.Unlock()
	// The new ones first: a stream without any ends.
	for i := range interests {
		if known[interests[i].Source] {
			continue
		}
		if err := s.add(&interests[i], nil); err != nil {
			return err
		}
	}
	for _, p := range replaced {
		s.drop(p)
		if err := s.add(wanted[p.source], elsewhere); err != nil {
			return err
		}
	}
	if reason == nil {
		reason = apierror.New(apierror.CodeNotFound, "it is followed no longer")
	}
	for _, p := range leaving {
		p.view.detach(p, reason)
	}
	return nil
}

// add begins to follow a source.
func (s *Stream) add(interest *Interest, resume position) error {
	v, err := s.hub.acquire(interest)
	if err != nil {
		return err
	}
	p := &part{stream: s, view: v, source: interest.Source, id: newPartID(v.key), scope: scopeOf(interest.Scope), filter: newFilter(interest.Filter), resume: resume, knownWrites: v.knownWritesOf(s.knownWrites), progress: progress{from: resume}}
	s.mu.Lock()
	ended := s.err
	if ended == nil {
		s.parts = append(s.parts, p)
		s.last = nil
	}
	s.mu.Unlock()
	if ended != nil {
		s.hub.release(v)
		return ended
	}
	v.attach(p)
	s.mu.Lock()
	ended = s.err
	s.mu.Unlock()
	if ended != nil {
		v.detach(p, nil) // It may have been attached behind the end.
	}
	return ended
}

// Close ends the stream. It does not wait.
func (s *Stream) Close() { s.end(errClosed) }

// end ends the stream for a reason, the first one counts. No lock is held.
func (s *Stream) end(reason error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = reason
	parts, unhook := s.parts, s.unhook
	s.parts, s.ready = nil, nil
	s.wakeReader()
	s.mu.Unlock()
	s.cancel(reason)
	unhook()
	s.timer.Stop()
	for _, p := range parts {
		p.view.detach(p, nil)
		s.hub.release(p.view)
	}
	s.hub.forget(s, reason)
}

// neglected reports whether the subscriber did not read for a time, though it could have.
// The hub asks now and then, and no other.
func (s *Stream) neglected(now time.Time, patience time.Duration) bool {
	if s.reads.Swap(false) || s.looked.IsZero() {
		s.looked = now
	}
	if now.Sub(s.looked) <= patience {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ready) > 0
}
