package live

import "slices"

// turn is one object's turn from one state to another, as a feed learned of it.
type turn struct {
	key Key
	// old and now are nil where there is no object.
	old, now *Object
	// last is, of an object that was deleted, what it was in the end.
	last *Object
	// at is the version from which on it is so. Of all turns of one relist it is the
	// version of the list.
	at uint64
	// floor is the last version at which it is known not to have been so.
	floor uint64
	// blind: nothing turned from floor to at, and what was in between was missed.
	blind bool
}

// touch is an object that is no longer as it was at some version.
type touch struct {
	key Key
	// base is what it was; nil for nothing.
	base *Object
}

// history is the last turns of a feed, in order. All that happened after version
// from is in it, so what was at any version since can be told.
type history struct {
	from  uint64
	turns []turn
	bytes int
	// limit is how many turns are kept.
	limit int
}

// maxHistoryBytes bounds what old states of objects may occupy.
const maxHistoryBytes = 8 << 20

// reset forgets everything up to a version.
func (h *history) reset(version uint64) { h.from, h.turns, h.bytes = version, nil, 0 }

func (h *history) add(t turn) {
	h.turns = append(h.turns, t)
	h.bytes += t.weight()
	drop := 0
	for drop < len(h.turns) && (len(h.turns)-drop > h.limit || h.bytes > maxHistoryBytes) {
		// Turns of the same version go together: half of them tells nothing.
		for at := h.turns[drop].at; drop < len(h.turns) && h.turns[drop].at == at; drop++ {
			h.bytes -= h.turns[drop].weight()
			h.from = at
		}
	}
	if drop > 0 {
		clear(h.turns[:drop])
		h.turns = h.turns[drop:]
	}
}

// skip notes that a relist found everything as it was: what came and went meanwhile
// was not heard.
func (h *history) skip(floor, at uint64) {
	if at <= floor {
		return
	}
	if n := len(h.turns); n > 0 && h.turns[n-1].blind {
		h.turns[n-1].at = at // Versions between two relists are not worth a place.
		return
	}
	h.add(turn{at: at, floor: floor, blind: true})
}

func (t *turn) weight() int {
	if t.old == nil {
		return 0
	}
	return len(t.old.Raw)
}

// since returns what is no longer as it was at a version; false when that is not known.
func (h *history) since(version uint64) ([]touch, bool) {
	if version < h.from {
		return nil, false
	}
	first, _ := slices.BinarySearchFunc(h.turns, version, func(t turn, v uint64) int {
		if t.at > v {
			return 1
		}
		return -1
	})
	later := h.turns[first:]
	if len(later) > 0 && version > later[0].floor {
		return nil, false
	}
	touches := make([]touch, 0, min(len(later), 64))
	seen := make(map[Key]struct{}, min(len(later), 64))
	for i := range later {
		if later[i].blind {
			continue
		}
		if _, known := seen[later[i].key]; !known {
			seen[later[i].key] = struct{}{}
			touches = append(touches, touch{key: later[i].key, base: later[i].old})
		}
	}
	return touches, true
}

// differences returns what a later state has otherwise than an earlier one, by key.
func differences(before, after map[Key]*Object) []touch {
	var touches []touch
	for key, base := range before {
		if now := after[key]; now == nil || now.version != base.version || now.Meta.UID != base.Meta.UID {
			touches = append(touches, touch{key: key, base: base})
		}
	}
	for key := range after {
		if before[key] == nil {
			touches = append(touches, touch{key: key})
		}
	}
	slices.SortFunc(touches, func(a, b touch) int { return compareKeys(a.key, b.key) })
	return touches
}
