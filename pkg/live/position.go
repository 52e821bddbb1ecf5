package live

// position is what a subscriber knows of a source: steps by key, each with the
// stamp that its objects are known as of. Most positions are a single step.
//
// What is told at once, a snapshot or the changes between two stamps, is told in
// the order of keys. While it is being told, the objects up to a key are known as
// of the later stamp, and the rest as of the one before: so a cursor is exact in
// between, too, however much was merged.
type position []step

// step is a range of keys, from where the step before ends.
type step struct {
	// stamp is nil for objects that were not told.
	stamp *stamp
	// end: the range has no end. Otherwise it goes up to last and, unless open, has it.
	end, open bool
	last      Key
}

// maxSteps bounds the length of a cursor. Each resumed stream that is resumed again
// before it has caught up adds one.
const maxSteps = 6

// known is the position of who knows everything as of a stamp.
func known(at *stamp) position { return position{{stamp: at, end: true}} }

// has reports whether a key is within the range, or before it.
func (s *step) has(k Key) bool {
	if s.end {
		return true
	}
	c := compareKeys(k, s.last)
	return c < 0 || (c == 0 && !s.open)
}

// progress is how far a position is replaced by a later stamp.
type progress struct {
	// from is what was known before.
	from position
	at   *stamp
	// done: everything is known as of at. Otherwise what is up to last is.
	done bool
	last Key
	// halfway: the object last is known to be gone, and not that there is another.
	halfway bool
}

// position works out what is known.
func (p *progress) position() position {
	if p.done {
		return known(p.at)
	}
	if p.last == (Key{}) || len(p.from) >= maxSteps {
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
	return out
}
