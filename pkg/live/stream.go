package live

import "context"

// position is how far a stream has delivered its sources.
type position struct{}

// Cursor is the text to go on from after this event. It is made when asked for.
func (e *Event) Cursor() string { return "" }

// Stream is one subscription at work. Next is called by one goroutine at a time;
// the other methods by any.
type Stream struct{}

// Next waits for the next event. It returns the error that ended the stream:
// context.Cause of the subscription's context, ErrSlow, ErrStopped, ErrClosed, or
// the *apierror.Error of the last source. The end of the context that is given here
// ends only the wait.
func (s *Stream) Next(context.Context) (Event, error) { return Event{}, nil }

// Follow replaces the interests of the stream. Sources that were followed before
// go on where the filter is to stay (Join and Filter of a source that stays are
// ignored); new ones begin with what is there and a SYNCED of their own; the objects
// of those that are left out are told as DELETED, followed by ENDED with the error given.
func (s *Stream) Follow([]Interest, error) error { return nil }

// Close ends the stream. It does not wait.
func (s *Stream) Close() {}
