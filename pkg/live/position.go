package live

// position is the state of a source that a subscriber knows: steps by key, each with the stamp at
// which its objects are known. Most positions are a single step.
//
// A batch, a snapshot or the changes between two stamps, is delivered in the order of keys. During
// the delivery the objects up to a key are known at the later stamp, and the rest at the one
// before: so a cursor in the middle is exact too, however many changes were coalesced.
type position []step

// step is a range of keys, from where the step before ends.
type step struct {
	// stamp is nil for objects that were not delivered.
	stamp *stamp
	// end: the range has no end. Otherwise it goes up to last and, unless open, has it.
	end, open bool
	last      Key
}

// maxSteps bounds the length of a cursor. Each resumed stream that is resumed again
// before it has caught up adds one; with too many, the one after begins again.
const maxSteps = 6

// known returns the position of a subscriber that knows everything at a stamp.
func known(at *stamp) position { return position{{stamp: at, end: true}} }

// has reports whether a key is within the range, or before it.
func (s *step) has(k Key) bool {
	if s.end {
		return true
	}
	c := compareKeys(k, s.last)
	return c < 0 || (c == 0 && !s.open)
}

// progress is how far the delivery of a batch has replaced a position by a later stamp.
type progress struct {
	// from is the position before the batch.
	from position
	at   *stamp
	// done: everything is known at the stamp at; otherwise only the keys up to last are.
	done bool
	last Key
	// halfway: the deletion of the object last was delivered, but not the object that replaced it.
	halfway bool
}

// position returns the position that the subscriber has reached.
func (p *progress) position() position {
	if p.done {
		return known(p.at)
	}
	if p.last == (Key{}) {
		return p.from
	}
	out := make(position, 0, len(p.from)+2)
	out = append(out, step{stamp: p.at, last: p.last, open: p.halfway})
	if p.halfway {
		out = append(out, step{last: p.last})
	}
	for i := range p.from {
		if s := p.from[i]; s.end || compareKeys(s.last, p.last) > 0 {
			out = append(out, s)
		}
	}
	if len(out) > maxSteps {
		return elsewhere
	}
	return out
}
