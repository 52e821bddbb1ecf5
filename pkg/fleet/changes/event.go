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
	Unavailable Type = "UNAVAILABLE"
)

// Types are all of them, in the order of the schema.
func Types() []Type { return []Type{Added, Modified, Deleted, Synced, Gap, Unavailable} }

// Event is one event of a subscription to a noun.
type Event[T any] struct {
	Type Type
	// Object is the object as it is; in Deleted, as it was last. Nothing in events
	// that are about no object.
	Object T
	// ChangedFields are the fields that differ in Modified, whether selected or not.
	ChangedFields []string
	// InstanceName is the instance that it is about; nil for all.
	InstanceName *string
	// Message says what is wrong, for a person.
	Message *string
	// Cursor is where it is in the stream.
	Cursor string

	// key tells objects apart.
	key string
	// compare: whether a selected field changed shows only once it is read.
	compare bool
	// reading carries what the fields of the event's object are read with.
	reading Reading
}

// Reading adds to a context what reads with it share.
type Reading func(context.Context) context.Context

// In is the context to read the fields of the event's object in.
func (e *Event[T]) In(ctx context.Context) context.Context {
	if e.reading == nil {
		return ctx
	}
	return e.reading(ctx)
}

// Compared tells which object the event is about, and whether it is to be sent
// only if what is selected of the object is not what was sent of it before.
func (e *Event[T]) Compared() (key string, again bool) { return e.key, e.compare }

// Gone tells that the object of the event is gone.
func (e *Event[T]) Gone() bool { return e.Type == Deleted }

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
