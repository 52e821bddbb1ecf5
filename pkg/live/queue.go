package live

// entry is an object's turn that a subscriber has yet to read, as its filter shows it.
type entry struct {
	key Key
	// old is what the subscriber knows by then, now what there is; nil for nothing.
	old, now *Object
	// last is, where there is nothing now, what there was in the end.
	last *Object
	at   *stamp
}

// queue has one entry for each object that turned, ordered by the last turn.
type queue struct {
	entries []entry
	// index is where the entries of the objects are; nil while there are so few that
	// looking is quicker.
	index map[Key]int
	// holes are the entries whose object turned again later; they have no stamp.
	holes int
}

// few is how many entries are looked through.
const few = 8

func (q *queue) len() int { return len(q.entries) - q.holes }

func (q *queue) find(key Key) int {
	if q.index != nil {
		if i, ok := q.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range q.entries {
		if q.entries[i].key == key && q.entries[i].at != nil {
			return i
		}
	}
	return -1
}

// put adds a turn. It tells whether it was merged into one that waits.
func (q *queue) put(e entry) bool {
	i := q.find(e.key)
	if i < 0 {
		q.add(e)
		return false
	}
	waiting := q.entries[i]
	q.entries[i] = entry{}
	q.holes++
	delete(q.index, e.key)
	e.old = waiting.old
	if e.old == nil && e.now == nil {
		q.tidy()
		return true // The subscriber never heard of it.
	}
	if replaced(waiting.old, waiting.now) && waiting.last != nil && e.last == nil {
		e.last = waiting.last
	}
	if waiting.now == nil {
		e.last = waiting.last // It was there, went, and came again.
	}
	q.add(e)
	q.tidy()
	return true
}

func (q *queue) add(e entry) {
	q.entries = append(q.entries, e)
	switch {
	case q.index != nil:
		q.index[e.key] = len(q.entries) - 1
	case len(q.entries) > few:
		q.reindex()
	}
}

func (q *queue) reindex() {
	q.index = make(map[Key]int, len(q.entries))
	for i := range q.entries {
		if q.entries[i].at != nil {
			q.index[q.entries[i].key] = i
		}
	}
}

// tidy removes the holes once they are the larger part.
func (q *queue) tidy() {
	if q.holes <= few || q.holes*2 < len(q.entries) {
		return
	}
	kept := q.entries[:0]
	for _, e := range q.entries {
		if e.at != nil {
			kept = append(kept, e)
		}
	}
	clear(q.entries[len(kept):])
	q.entries, q.holes = kept, 0
	q.reindex()
}

// take empties the queue.
func (q *queue) take() []entry {
	entries := q.entries
	if q.holes > 0 {
		kept := entries[:0]
		for _, e := range entries {
			if e.at != nil {
				kept = append(kept, e)
			}
		}
		entries = kept
	}
	*q = queue{}
	return entries
}

// replaced tells that an object is another one of the same name.
func replaced(old, now *Object) bool {
	return old != nil && now != nil && old.Meta.UID != now.Meta.UID
}
