package changes

import (
	"context"

	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// Type is what an event tells.
type Type string

// The types of events.
const (
	Added       Type = "ADDED"
	Modified    Type = "MODIFIED"
	Deleted     Type = "DELETED"
	Synced      Type = "SYNCED"
	Gap         Type = "GAP"
	Interrupted Type = "INTERRUPTED"
	Restored    Type = "RESTORED"
)

// Event is one event of a subscription to a noun.
type Event[T any] struct {
	Type Type
	// Object is the object as it is; in Deleted, as it was last. Nothing in events
	// that are about no object.
	Object T
	// ChangedFields are the fields that differ in Modified, whether selected or not.
	ChangedFields []string
	// InstanceName is the instance that it is about; nil for all, and where the global
	// cluster is meant.
	InstanceName *string
	// Kind is Kubernetes' name of the kind that it is about; nil for all that the
	// subscription is about.
	Kind *string
	// Message says what is wrong, for a person.
	Message *string

	// cursor is that of the stream's event. It is made at once: later it would be that
	// of what has been read since.
	cursor string
	// key tells objects apart.
	key string
	// compare: whether a selected field changed shows only once it is read.
	compare bool
	// delivered remembers what the stream told; nil where nothing has to be read.
	delivered *delivered
	// reading carries what the fields of the event's object are read with.
	reading Reading
}

// Reading adds to a context what reads with it share.
type Reading func(context.Context) context.Context

// Cursor is where the event is in the stream.
func (e *Event[T]) Cursor() string { return e.cursor }

// In is the context to read the fields of the event's object in.
func (e *Event[T]) In(ctx context.Context) context.Context {
	if e.reading == nil {
		return ctx
	}
	return e.reading(ctx)
}

// Remembers reports whether ShouldSend has to be asked about the event.
func (e *Event[T]) Remembers() bool { return e.delivered != nil }

// ShouldSend reports whether the event is to be sent, by what was read of what is selected
// on its object: nil where it can't be compared, because some of it could not be
// read.
func (e *Event[T]) ShouldSend(selected []byte) bool {
	switch {
	case e.delivered == nil || e.key == "":
		return true
	case e.Type == Deleted || selected == nil:
		e.delivered.forget(e.key)
		return true
	}
	return e.delivered.update(e.key, selected) || !e.compare
}

// ObjectFields are the fields that all objects of instances carry.
func ObjectFields[T any](base func(T) *object.Object) []Field[T] {
	// Every write gives an object another version, so the whole of it changes too.
	version := func(v T) any { return base(v).ResourceVersion() }
	return []Field[T]{
		{"labels", func(v T) any { return base(v).Labels() }},
		{"annotations", func(v T) any { return base(v).Annotations() }},
		{"resourceVersion", version},
		{"manifest", version},
		{"yaml", version},
	}
}

// Selection is what a subscriber selected on the objects of the events.
type Selection struct {
	// Carried are the paths of fields that the objects of events carry.
	Carried []string
	// Read: there are fields that have to be read to know whether they changed.
	Read bool
	// Loads: something has to be read to show what is selected. It is set with Read.
	Loads bool
	// Alone: what is selected of an object depends on the object alone: not on who looks
	// at it or when, and not on anything else.
	Alone bool
}

// sends says how a change of some fields is told: not at all, at once, or once it
// shows in what is read.
func (s Selection) sends(changed []string) (tell, compare bool) {
	switch {
	case len(changed) == 0:
		return false, false
	case Touches(changed, s.Carried):
		return true, false
	}
	return s.Read, s.Read
}
