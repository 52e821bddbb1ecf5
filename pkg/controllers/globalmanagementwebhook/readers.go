package globalmanagementwebhook

import (
	"net/netip"
	"slices"
	"sync"
)

// readers are the requests whose bodies are in memory and not known to be signed.
// There are only so many at once, and slow senders must not keep others out
// by that: where there is no room, one of them is cut off. It is one of the address
// that has the most, and of those the one that came first. A body that is sent in one
// go is never that for long enough.
type readers struct {
	most int

	mu  sync.Mutex
	all []*reader // in the order in which they came
}

// reader is one request whose body is being read.
type reader struct {
	from netip.Prefix
	// cut ends the reading of its body.
	cut func()
	// arrived reports whether the body was read to its end: there is nothing to cut.
	arrived bool
}

// enter adds a reader, and cuts another one off if there are too many. It returns nil if the bodies
// of all others have arrived.
func (r *readers) enter(from netip.Prefix, cut func()) *reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) >= r.most {
		at := r.slowest(from)
		if at < 0 {
			return nil
		}
		r.all[at].cut()
		r.all = slices.Delete(r.all, at, at+1)
	}
	entered := &reader{from: from, cut: cut}
	r.all = append(r.all, entered)
	return entered
}

// slowest returns the index of the reader to cut off for a new one; -1 when there is none. It
// prefers those of the client address with the most readers.
func (r *readers) slowest(added netip.Prefix) int {
	number := map[netip.Prefix]int{added: 1}
	for _, each := range r.all {
		number[each.from]++
	}
	found := -1
	for i, each := range r.all {
		if !each.arrived && (found < 0 || number[each.from] > number[r.all[found].from]) {
			found = i
		}
	}
	return found
}

// arrive records that a body was read, or will not be.
func (r *readers) arrive(one *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one.arrived = true
}

// leave removes a reader.
func (r *readers) leave(one *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := slices.Index(r.all, one); at >= 0 {
		r.all = slices.Delete(r.all, at, at+1)
	}
}
