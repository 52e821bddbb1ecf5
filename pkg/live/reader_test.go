package live

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// reader folds what a stream says, and insists that it makes sense.
type reader struct {
	t      *testing.T
	stream *Stream
	known  map[Source]map[Key]*Object
	cursor string
	events []Event
	// name and trace are for finding out what went wrong.
	name  string
	trace []string
}

func versionOf(o *Object) string {
	if o == nil {
		return "not there"
	}
	return fmt.Sprint(o.version)
}

func (w *world) subscribe(h *Hub, s Subscription) *reader {
	w.t.Helper()
	r := &reader{t: w.t, known: map[Source]map[Key]*Object{}}
	r.resume(h, s)
	return r
}

// resume goes on with what the reader knows.
func (r *reader) resume(h *Hub, s Subscription) {
	r.t.Helper()
	s.Identity, s.After = "test", r.cursor
	stream, err := h.Subscribe(r.t.Context(), s)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(stream.Close)
	if s.After != "" {
		r.note("resumed")
	}
	r.stream = stream
}

// next reads one event.
func (r *reader) next(ctx context.Context) (Event, error) {
	e, err := r.stream.Next(ctx)
	if err != nil {
		return e, err
	}
	r.fold(e)
	r.cursor = e.Cursor()
	r.events = append(r.events, e)
	return e, nil
}

// note remembers the last things that happened.
func (r *reader) note(what string) {
	r.trace = append(r.trace, what)
	if len(r.trace) > 25 {
		r.trace = r.trace[1:]
	}
}

func (r *reader) fold(e Event) {
	r.t.Helper()
	if e.Object != nil {
		r.note(fmt.Sprint(e.Type, e.Object.Key(), versionOf(e.Old), ">", e.Object.version))
	} else {
		r.note(string(e.Type))
	}
	known := r.known[e.Source]
	if known == nil {
		known = map[Key]*Object{}
		r.known[e.Source] = known
	}
	switch e.Type {
	case Added:
		if old := known[e.Object.Key()]; old != nil {
			r.t.Errorf("reader %s: ADDED %v at %d, which was there at %d; %v", r.name, e.Object.Key(), e.Object.version, old.version, r.trace)
		}
		known[e.Object.Key()] = e.Object
	case Modified:
		if old := known[e.Object.Key()]; old == nil || old.version != e.Old.version || old.Meta.UID != e.Object.Meta.UID {
			r.t.Errorf("reader %s: MODIFIED %v: it was %v, not %v (%v); %v", r.name, e.Object.Key(), versionOf(old), versionOf(e.Old), versionOf(e.Object), r.trace)
		}
		known[e.Object.Key()] = e.Object
	case Deleted:
		if old := known[e.Object.Key()]; old == nil || old.version != e.Old.version {
			r.t.Errorf("reader %s: DELETED %v %v, which was %v; %v", r.name, e.Object.Key(), versionOf(e.Old), versionOf(old), r.trace)
		}
		delete(known, e.Object.Key())
	case Gap:
		if e.Source == (Source{}) {
			clear(r.known)
		}
		clear(known)
	case Synced, Interrupted, Restored, Ended:
	}
}

// until reads up to an event of a type.
func (r *reader) until(want Type) Event {
	r.t.Helper()
	for {
		e, err := r.next(r.t.Context())
		if err != nil {
			r.t.Fatalf("waiting for %s: %v", want, err)
		}
		if e.Type == want {
			return e
		}
	}
}

// drain reads what was sent.
func (r *reader) drain(patience time.Duration) {
	r.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(r.t.Context(), patience)
		_, err := r.next(ctx)
		cancel()
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				r.t.Fatal(err)
			}
			return
		}
	}
}

// said are the types and names of what was read since the last call.
func (r *reader) said() []string {
	var out []string
	for _, e := range r.events {
		s := string(e.Type)
		if e.Object != nil {
			s += " " + e.Object.Meta.Name
		} else if e.Source != (Source{}) {
			s += " of " + e.Source.Instance
		}
		out = append(out, s)
	}
	r.events = nil
	return out
}

func versionsOf(objects map[Key]*Object) map[Key]uint64 {
	out := map[Key]uint64{}
	for k, o := range objects {
		out[k] = o.version
	}
	return out
}

// matching is what a cluster has under a filter.
func (c *cluster) matching(f Filter) map[Key]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	compiled := newFilter(f)
	out := map[Key]uint64{}
	for k, o := range c.now {
		if compiled.visible(o) != nil {
			out[k] = o.version
		}
	}
	return out
}

func everything(sources ...Source) Subscription {
	var s Subscription
	for _, source := range sources {
		s.Interests = append(s.Interests, Interest{Source: source})
	}
	return s
}
