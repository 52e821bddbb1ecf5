package live

import "sync/atomic"

// start is where a part begins, or begins again.
type start struct {
	// gap: the subscriber must drop the objects that were delivered before.
	gap bool
	// changes lead from the known state to the current one, by key.
	changes []change
	// snapshot has the current objects, by key, for a subscriber that knows none.
	snapshot []*Object
	// from is the known state; the changes or the snapshot lead to at.
	from position
	at   *stamp
}

// nothing is the position of a subscriber that knows no object.
var nothing = position{{end: true}}

// elsewhere is a position of no view, since every view has versions.
var elsewhere = known(&stamp{})

// part is one source of a stream.
type part struct {
	stream *Stream
	view   *view
	source Source
	id     partID
	scope  uint32
	filter filter
	// resume is the position that the subscriber knows already; nil for none.
	resume position
	// knownWrites have to be in the state that the part begins with; nil for none.
	knownWrites map[*feed][]KnownWrite

	// seen is the stamp up to which all changes have been offered.
	seen atomic.Pointer[stamp]

	// The stream's lock guards the following fields.

	// queued: the part is in the stream's queue of parts with unread events.
	queued bool
	// dropped: the part has no more events.
	dropped bool
	// active: the part has begun, and accepts changes.
	active bool
	// stale: too many entries are unread, so the part has to begin again.
	stale bool
	// held: a batch of changes is being offered, and must not be read before its end.
	held  bool
	fresh *start
	inbox queue
	// first and offered are the stamps of the first and the last entry of the inbox.
	first, offered *stamp
	silent         error
	// problem is why the source does not answer, ended why it never will.
	problem, ended error
	// quiet: the stream's SYNCED does not wait for this part any more.
	quiet bool

	// Only the reader uses the following fields.

	reading reading
	// progress is the position up to which the part has been read.
	progress progress
	// out counts its events that wait in the stream.
	out int
	// interruptSent: INTERRUPTED was delivered, and no RESTORED since.
	interruptSent bool
}

// offer is called with the view locked.
func (p *part) offer(c *change, at *stamp) {
	e := entry{key: c.key, old: p.filter.visible(c.old), now: p.filter.visible(c.now)}
	if e.old == nil && e.now == nil {
		return
	}
	if e.now == nil {
		if e.last = e.old; c.now == nil && c.last != nil && p.filter.visible(c.last) != nil {
			e.last = c.last
		}
	}
	s := p.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.active || p.stale || s.err != nil {
		return
	}
	if p.offered = at; p.inbox.len() == 0 {
		p.first = at
	}
	if p.inbox.put(e) {
		s.hub.metrics.coalesced.Inc()
	}
	if p.inbox.len() > s.maxPending {
		p.stale, p.fresh, p.inbox = true, nil, queue{}
	}
	s.enqueue(p)
}

// cut takes the unread entries, and returns the stamp that they lead to. The stream's lock is held,
// and held is false.
func (p *part) cut() ([]entry, *stamp) {
	at := p.seen.Load()
	if p.offered != nil && p.offered.sequence > at.sequence {
		at = p.offered
	}
	return p.inbox.take(), at
}

// hold keeps the reader from reading a batch before all of it was offered.
func (p *part) hold() {
	p.stream.mu.Lock()
	defer p.stream.mu.Unlock()
	p.held = true
}

func (p *part) release() {
	p.stream.mu.Lock()
	defer p.stream.mu.Unlock()
	p.held = false
	if p.inbox.len() > 0 || p.stale || p.ended != nil {
		p.stream.enqueue(p)
	}
}

// start begins the part. It is called with the view locked.
func (p *part) start(from start) {
	p.seen.Store(from.at)
	s := p.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	p.fresh, p.inbox, p.offered = &from, queue{}, nil
	p.active, p.stale, p.silent = true, false, nil
	s.enqueue(p)
}

func (p *part) interrupted(err error) {
	s := p.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	p.problem = err
	s.enqueue(p)
}

func (p *part) end(err error) {
	s := p.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.ended == nil {
		p.ended = err
		s.enqueue(p)
	}
}

// idle reports whether everything offered was read. The stream's lock is held, by the reader.
func (p *part) idle() bool {
	return p.active && !p.stale && !p.held && p.fresh == nil && p.inbox.len() == 0 && p.out == 0 && p.reading.done()
}

// waiting reports whether there is something that the reader has not taken in. The
// stream's lock is held, by the reader.
func (p *part) waiting() bool {
	r := &p.reading
	return p.fresh != nil || p.stale || (!p.held && (p.inbox.len() > 0 ||
		(p.ended != nil) != (r.ended != nil) || (p.problem != nil || p.silent != nil) != (r.problem != nil)))
}
