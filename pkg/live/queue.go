package live

import "slices"

// entry is an unread change of an object, as the subscriber's filter shows it.
type entry struct {
	key Key
	// old is what the subscriber knows by then, now what there is; nil for nothing.
	old, now *Object
	// last is, where there is nothing now or another object, what there was in the end.
	last *Object
}

// queue has one entry for each object that turned.
type queue struct {
	entries []entry
	// index is where the entries of the objects are; nil while there are so few that
	// looking is quicker.
	index map[Key]int
}

// few is how many entries are looked through.
const few = 8

func (q *queue) len() int { return len(q.entries) }

func (q *queue) find(key Key) int {
	if q.index != nil {
		if i, ok := q.index[key]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(q.entries, func(e entry) bool { return e.key == key })
}

// put adds an entry. It reports whether it was coalesced with an unread one.
func (q *queue) put(e entry) bool {
	i := q.find(e.key)
	if i < 0 {
		q.add(e)
		return false
	}
	waiting := &q.entries[i]
	switch {
	case waiting.old == nil && e.now == nil:
		q.drop(i) // The subscriber never heard of it.
	case waiting.now == nil || replaced(waiting.old, waiting.now):
		waiting.now = e.now // The one it knew was deleted already, as last says.
	default:
		waiting.now, waiting.last = e.now, e.last
	}
	return true
}

func (q *queue) add(e entry) {
	q.entries = append(q.entries, e)
	switch {
	case q.index != nil:
		q.index[e.key] = len(q.entries) - 1
	case len(q.entries) > few:
		q.index = make(map[Key]int, 2*few)
		for i := range q.entries {
			q.index[q.entries[i].key] = i
		}
	}
}

func (q *queue) drop(i int) {
	last := len(q.entries) - 1
	delete(q.index, q.entries[i].key)
	if i != last {
		q.entries[i] = q.entries[last]
		if q.index != nil {
			q.index[q.entries[i].key] = i
		}
	}
	q.entries[last] = entry{}
	q.entries = q.entries[:last]
}

// take empties the queue. The entries are in the order of their keys.
func (q *queue) take() []entry {
	entries := q.entries
	*q = queue{}
	slices.SortFunc(entries, func(a, b entry) int { return compareKeys(a.key, b.key) })
	return entries
}

// replaced reports whether an object is another one of the same name.
func replaced(old, now *Object) bool {
	return old != nil && now != nil && old.Meta.UID != now.Meta.UID
}
