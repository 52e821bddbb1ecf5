package live

import "time"

// reading is what the reader of a stream has taken out of a part.
type reading struct {
	gap bool
	// changes and snapshot are the first batch of a part; the part counts as synced after it.
	changes  []change
	snapshot []*Object
	starting bool
	// entries are the changes since.
	entries []entry
	// from is the position before all of these; they lead to at.
	from position
	at   *stamp
	// unread: entries are a batch whose end has not been delivered.
	unread bool
	// problem and ended are delivered after the entries.
	problem, ended error
	active         bool
}

func (r *reading) done() bool { return !r.gap && !r.starting && !r.unread }

const (
	// turnEvents is how many events of a part are delivered before those of another part.
	turnEvents = 64
	// turnObjects limits the objects that are compared for these events.
	turnObjects = 1024
)

// takeIn moves unread entries to the reader. The reader holds the stream's lock.
func (p *part) takeIn() {
	r := &p.reading
	r.active = p.active
	if f := p.fresh; f != nil {
		p.fresh = nil
		*r = reading{gap: f.gap, changes: f.changes, snapshot: f.snapshot, starting: true, from: f.from, at: f.at, active: true}
	}
	if !r.done() || p.held {
		return
	}
	if p.inbox.len() > 0 {
		r.from, r.unread = known(r.at), true
		p.stream.hub.metrics.delay.Observe(time.Since(p.first.heard).Seconds())
		r.entries, r.at = p.cut()
	}
	r.problem, r.ended = p.problem, p.ended
	if r.problem == nil {
		r.problem = p.silent
	}
}

// read delivers the next events of a part, up to a bound. It reports whether there are more.
func (s *Stream) read(p *part) bool {
	r := &p.reading
	looked, first := 0, len(s.out)
	for len(s.out)-first < turnEvents && looked < turnObjects {
		looked++
		switch {
		case r.gap:
			r.gap = false
			s.say(p, Event{Type: Gap}, progress{from: r.from})
		case len(r.changes) > 0:
			c := r.changes[0]
			r.changes = r.changes[1:]
			e := entry{key: c.key, old: p.filter.visible(c.old), now: p.filter.visible(c.now)}
			if e.last = e.old; c.last != nil && p.filter.visible(c.last) != nil {
				e.last = c.last
			}
			s.sayEntry(p, &e)
		case len(r.snapshot) > 0:
			o := r.snapshot[0]
			r.snapshot = r.snapshot[1:]
			if p.filter.visible(o) != nil {
				s.say(p, Event{Type: Added, Object: o}, progress{from: r.from, at: r.at, last: o.Key()})
			}
		case r.starting:
			r.starting, r.changes, r.snapshot = false, nil, nil
			s.started(p)
		case len(r.entries) > 0:
			e := r.entries[0]
			r.entries = r.entries[1:]
			s.sayEntry(p, &e)
		case r.unread:
			r.entries, r.unread = nil, false
			s.reached(p)
		default:
			s.status(p)
			return false
		}
	}
	return true
}

// say lets an event wait to be read, and what is known once it was.
func (s *Stream) say(p *part, e Event, is progress) {
	e.Source = p.source
	s.deliver(said{event: e, part: p, progress: is, moves: true})
	p.out++
}

// deliverPart lets an event wait to be read that moves nothing.
func (s *Stream) deliverPart(p *part, e Event) {
	e.Source = p.source
	s.deliver(said{event: e, part: p})
	p.out++
}

// reached reports that everything is known as of what the part was reading.
func (s *Stream) reached(p *part) {
	s.say(p, Event{}, progress{at: p.reading.at, done: true})
}

func (s *Stream) sayEntry(p *part, e *entry) {
	is := progress{from: p.reading.from, at: p.reading.at, last: e.key}
	last := e.last
	if last == nil || (e.old != nil && last.Meta.UID != e.old.Meta.UID) {
		last = e.old // Its end was not seen, or was that of another one.
	}
	switch {
	case e.now == nil && e.old == nil:
	case e.now == nil:
		s.say(p, Event{Type: Deleted, Object: last, Old: e.old}, is)
	case e.old == nil:
		s.say(p, Event{Type: Added, Object: e.now}, is)
	case replaced(e.old, e.now):
		half := is
		half.halfway = true
		s.say(p, Event{Type: Deleted, Object: last, Old: e.old}, half)
		s.say(p, Event{Type: Added, Object: e.now}, is)
	default:
		s.say(p, Event{Type: Modified, Object: e.now, Old: e.old}, is)
	}
}

// started is said behind what a part begins with.
func (s *Stream) started(p *part) {
	late := s.synced
	s.markSynced(p)
	s.reached(p)
	switch {
	case late:
		s.deliverPart(p, Event{Type: Synced})
	case s.synced:
		s.deliverAll(Event{Type: Synced})
	}
}

// markSynced records that SYNCED does not wait for a part any more, and sets synced when it waits for
// none.
func (s *Stream) markSynced(p *part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.quiet = true
	for _, other := range s.parts {
		if !other.quiet {
			return
		}
	}
	s.synced = true
}

// deliverAll is said about the stream as a whole.
func (s *Stream) deliverAll(e Event) { s.deliver(said{event: e}) }

// status delivers a change of the state of a part's source, after its entries.
func (s *Stream) status(p *part) {
	r := &p.reading
	switch {
	case r.ended != nil:
		s.deliverPart(p, Event{Type: Ended, Err: r.ended})
		s.remove(p, r.ended)
	case r.problem != nil && !p.interruptSent:
		p.interruptSent = true
		s.deliverPart(p, Event{Type: Interrupted, Err: r.problem})
	case r.problem == nil && p.interruptSent && r.active:
		p.interruptSent = false
		s.deliverPart(p, Event{Type: Restored})
		return
	default:
		return
	}
	if !s.synced {
		s.markSynced(p)
		if s.synced {
			s.deliverAll(Event{Type: Synced})
		}
	}
}
