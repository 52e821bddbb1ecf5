package live

// reading is what the reader of a stream has taken out of a part.
type reading struct {
	gap      bool
	changes  []stamped
	snapshot []*Object
	// partial: the changes belong to a snapshot that was told in part.
	partial bool
	// starting: the part has to be settled behind the snapshot.
	starting bool
	at       *stamp
	entries  []entry
	// problem and ended are told behind the entries.
	problem, ended error
	active         bool
}

func (r *reading) done() bool {
	return !r.gap && !r.starting && len(r.changes) == 0 && len(r.snapshot) == 0 && len(r.entries) == 0
}

const (
	// turnEvents is how many events of a part are told before another one's turn.
	turnEvents = 64
	// turnObjects is how many objects of a snapshot are looked at in that time.
	turnObjects = 1024
)

// takeIn gives what waits to the reader. The stream's lock is held, by the reader.
func (p *part) takeIn() {
	r := &p.reading
	r.active = p.active
	if p.fresh != nil {
		f := p.fresh
		p.fresh = nil
		*r = reading{
			gap: f.gap, changes: f.changes, snapshot: f.snapshot, partial: f.after != nil, starting: true, at: f.at, active: true,
		}
		if f.after != nil {
			for len(r.snapshot) > 0 && compareKeys(r.snapshot[0].Key(), *f.after) <= 0 {
				r.snapshot = r.snapshot[1:]
			}
		}
	}
	if len(r.entries) == 0 && !p.held {
		if p.inbox.len() > 0 {
			r.entries = p.inbox.take()
		}
		r.problem, r.ended = p.problem, p.ended
		if r.problem == nil {
			r.problem = p.silent
		}
	}
}

// read has a part say what it has to say, up to a bound. It returns whether there is more.
func (s *Stream) read(p *part) bool {
	r := &p.reading
	looked, first := 0, len(s.out)
	for len(s.out)-first < turnEvents && looked < turnObjects {
		switch {
		case r.gap:
			r.gap = false
			s.say(p, Event{Type: Gap}, &position{stamp: r.at, partial: true})
		case len(r.changes) > 0:
			c := r.changes[0]
			r.changes = r.changes[1:]
			looked++
			var at *position
			if !r.partial && (len(r.changes) == 0 || r.changes[0].at != c.at) {
				at = &position{stamp: c.at}
			}
			e := entry{key: c.key, old: p.filter.visible(c.old), now: p.filter.visible(c.now)}
			if e.now == nil {
				e.last = e.old
			}
			s.sayEntry(p, &e, at)
		case len(r.snapshot) > 0:
			o := r.snapshot[0]
			r.snapshot = r.snapshot[1:]
			looked++
			if p.filter.visible(o) != nil {
				s.say(p, Event{Type: Added, Object: o}, &position{stamp: r.at, partial: true, last: o.Key()})
			}
		case r.starting:
			r.starting, r.changes, r.snapshot = false, nil, nil
			s.started(p, &position{stamp: r.at})
		case len(r.entries) > 0:
			e := r.entries[0]
			r.entries = r.entries[1:]
			var at *position
			if len(r.entries) == 0 || r.entries[0].at != e.at {
				at = &position{stamp: e.at}
			}
			s.sayEntry(p, &e, at)
		default:
			r.entries = nil
			s.status(p)
			return false
		}
	}
	return true
}

// say lets an event wait to be read. Once it was, the part is at the position;
// nil leaves it where it is.
func (s *Stream) say(p *part, e Event, at *position) {
	e.Source = p.source
	s.out = append(s.out, said{event: e, part: p, position: at})
	p.out++
}

func (s *Stream) sayEntry(p *part, e *entry, at *position) {
	switch {
	case e.now == nil && e.old == nil:
		s.say(p, Event{}, at)
	case e.now == nil:
		s.say(p, Event{Type: Deleted, Object: e.last, Old: e.old}, at)
	case e.old == nil:
		s.say(p, Event{Type: Added, Object: e.now}, at)
	case replaced(e.old, e.now):
		last := e.last
		if last == nil {
			last = e.old
		}
		s.say(p, Event{Type: Deleted, Object: last, Old: e.old}, nil)
		s.say(p, Event{Type: Added, Object: e.now}, at)
	default:
		s.say(p, Event{Type: Modified, Object: e.now, Old: e.old}, at)
	}
}

// started is said behind what a part begins with.
func (s *Stream) started(p *part, at *position) {
	late := s.synced
	s.settle(p)
	switch {
	case late:
		s.say(p, Event{Type: Synced}, at)
	case s.synced:
		s.say(p, Event{}, at)
		s.sayAll(Event{Type: Synced})
	default:
		s.say(p, Event{}, at)
	}
}

// settle notes that the stream need not wait for a part any more, and whether
// there is none left to wait for.
func (s *Stream) settle(p *part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.settled = true
	for _, other := range s.parts {
		if !other.settled {
			return
		}
	}
	s.synced = true
}

// sayAll is said about the stream as a whole.
func (s *Stream) sayAll(e Event) { s.out = append(s.out, said{event: e}) }

// status says how a part's source is, behind what it had to say.
func (s *Stream) status(p *part) {
	r := &p.reading
	switch {
	case r.ended != nil:
		s.say(p, Event{Type: Ended, Err: r.ended}, nil)
		s.remove(p, r.ended)
	case r.problem != nil && !p.toldProblem:
		p.toldProblem = true
		s.say(p, Event{Type: Interrupted, Err: r.problem}, nil)
	case r.problem == nil && p.toldProblem && r.active:
		p.toldProblem = false
		s.say(p, Event{Type: Restored}, nil)
		return
	default:
		return
	}
	if !s.synced {
		if s.settle(p); s.synced {
			s.sayAll(Event{Type: Synced})
		}
	}
}
