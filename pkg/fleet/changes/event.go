package changes

import (
	"context"

	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// Type is the type of an event.
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
	// Object is the current object; in Deleted, its last state. It is zero in events that concern
	// no object.
	Object T
	// ChangedFields are the fields that differ in Modified, whether selected or not.
	ChangedFields []string
	// InstanceName is the instance of the event; nil for all instances, and for the global cluster.
	InstanceName *string
	// Kind is Kubernetes' name of the event's kind; nil for all kinds of the subscription.
	Kind *string
	// Message describes the problem, for a person.
	Message *string

	// cursor is the cursor of the stream's event. It is made at once, because the stream's position
	// moves on.
	cursor string
	// key identifies the object.
	key string
	// compare: only a read shows whether a selected field changed.
	compare bool
	// delivered holds what the stream delivered; nil where nothing has to be read.
	delivered *delivered
	// reading adds what the reads of the object's fields share.
	reading Reading
}

// Reading adds to a context the state that reads with it share.
type Reading func(context.Context) context.Context

// Cursor returns the position of the event in the stream.
func (e *Event[T]) Cursor() string { return e.cursor }

// In returns the context to read the fields of the event's object with.
func (e *Event[T]) In(ctx context.Context) context.Context {
	if e.reading == nil {
		return ctx
	}
	return e.reading(ctx)
}

// Remembers reports whether the event may only be sent if ShouldSend reports true.
func (e *Event[T]) Remembers() bool { return e.delivered != nil }

// ShouldSend reports whether to send the event, given the selected fields of its object as they
// were read: nil where they can't be compared, because some could not be read.
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
	// Read: some fields have to be read to find out whether they changed.
	Read bool
	// Loads: the selected fields can't be resolved without a read. It is set with Read.
	Loads bool
	// Alone: the selected fields depend on the object alone, not on the user, the time or anything
	// else.
	Alone bool
}

// sends decides how to handle a change of some fields: not at all, send it at once, or send it if a
// read shows a difference.
func (s Selection) sends(changed []string) (tell, compare bool) {
	switch {
	case len(changed) == 0:
		return false, false
	case touches(changed, s.Carried):
		return true, false
	}
	return s.Read, s.Read
}
