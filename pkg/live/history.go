package live

import "slices"

// transition is the change of one object from one state to another, as a feed received it.
type transition struct {
	key Key
	// old and now are nil where there is no object.
	old, now *Object
	// last is the final state of an object that was deleted.
	last *Object
	// at is the version at which the change appeared; for changes found by a relist it is the
	// version of the list.
	at uint64
	// floor is the last version that is known to be before the change.
	floor uint64
	// blind: no object differs between floor and at, but changes in between were missed.
	blind bool
}

// touch is an object that differs from its state at some version.
type touch struct {
	key Key
	// base is that state; nil for none.
	base *Object
}

// history holds the last changes of a feed, in order. It has all changes after version from, so it
// can compute the differences since any later version.
type history struct {
	from        uint64
	transitions []transition
	bytes       int
	// limit is the maximum number of turns.
	limit int
}

// maxHistoryBytes limits the size of the old states of objects.
const maxHistoryBytes = 8 << 20

// reset removes all turns and makes version the start of the history.
func (h *history) reset(version uint64) { h.from, h.transitions, h.bytes = version, nil, 0 }

func (h *history) add(t transition) {
	h.transitions = append(h.transitions, t)
	h.bytes += t.weight()
	drop := 0
	for drop < len(h.transitions) && (len(h.transitions)-drop > h.limit || h.bytes > maxHistoryBytes) {
		// Turns of the same version are dropped as a whole: a part of them is no consistent state.
		for at := h.transitions[drop].at; drop < len(h.transitions) && h.transitions[drop].at == at; drop++ {
			h.bytes -= h.transitions[drop].weight()
			h.from = at
		}
	}
	if drop > 0 {
		clear(h.transitions[:drop])
		h.transitions = h.transitions[drop:]
	}
}

// skip records that a relist found no differences: objects that were created and deleted meanwhile
// were missed.
func (h *history) skip(floor, at uint64) {
	if at <= floor {
		return
	}
	if n := len(h.transitions); n > 0 && h.transitions[n-1].blind {
		h.transitions[n-1].at = at // Versions between two relists are not worth a place.
		return
	}
	h.add(transition{at: at, floor: floor, blind: true})
}

func (t *transition) weight() int {
	if t.old == nil {
		return 0
	}
	return len(t.old.Raw)
}

// since returns the objects that differ from a version; false when the history does not cover it.
func (h *history) since(version uint64) ([]touch, bool) {
	if version < h.from {
		return nil, false
	}
	first, _ := slices.BinarySearchFunc(h.transitions, version, func(t transition, v uint64) int {
		if t.at > v {
			return 1
		}
		return -1
	})
	later := h.transitions[first:]
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

// differences returns the objects that differ between two states, by key.
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
