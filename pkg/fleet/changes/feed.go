package changes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
	"weak"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/live"
)

// Stream is what a Feed reads; *live.Stream is one, that wakes the consumer of the feed.
type Stream interface {
	Poll() (live.Event, bool, error)
	Follow(interests []live.Interest, left error) error
	Close()
}

const (
	// batch limits the events whose reads share requests, such as those of a snapshot.
	batch = 50
	// batchDelay is how long a batch waits for further events.
	batchDelay = time.Millisecond
	// retry is the pause after Interests failed.
	retry = time.Second
)

// Feed converts the events of a stream into those of a noun.
type Feed[T any] struct {
	Stream Stream
	// Selection is the selected part of the objects; Fields are compared for it.
	Selection Selection
	Fields    []Field[T]
	// Bare converts an object to the noun, regardless of the caller; Show converts the part that
	// the subscriber may see.
	Bare, Show func(*live.Object) (T, error)
	// Hide returns the paths of fields that the subscriber may not see of an object; nil for none.
	Hide func(*live.Object) []string
	// KindOf names the kind of a source for SYNCED and the like.
	KindOf func(live.Source) string

	// Begin makes the context that the reads of some events share; Prefetch starts reading the
	// selected fields of their objects. They are called only where something has to be read.
	Begin    func(context.Context) context.Context
	Prefetch func(context.Context, []T)

	// Changed is signalled when the interests may have changed, and Interests returns them. Both
	// may be nil.
	Changed   *Listener
	Interests func(context.Context) ([]live.Interest, error)

	// Whole reports whether Show shows everything of an object; nil for never.
	Whole func(*live.Object) bool

	// End ends the subscription with an error.
	End    func(context.Context, error)
	Logger *slog.Logger

	out chan *Event[T]
	// memory holds what was delivered; nil where nothing has to be read.
	memory *delivered
	// events are those to be delivered; Pull has pulled the first.
	events []*pulled[T]
	// over: there are no more events; closed: the channel is closed.
	over, closed bool
}

var _ Iterator = (*Feed[any])(nil)

// Run returns the channel of the feed's events. The consumer decides when they are made, and closes
// the feed in the end.
func (f *Feed[T]) Run(ctx context.Context, d Consumer) <-chan *Event[T] {
	f.out = make(chan *Event[T], 1)
	if f.Selection.Read {
		f.memory = newDelivered()
	}
	f.Changed.wakes(d.Wake)
	d.Consume(ctx, f)
	return f.out
}

// Pull implements Iterator.
func (f *Feed[T]) Pull(ctx context.Context) (ready bool) {
	if f.over {
		return true
	}
	defer func() {
		if p := recover(); p != nil {
			f.panicked(ctx, p)
			ready = true
		}
	}()
	if len(f.events) > 0 {
		f.events[0] = nil // A delivered event is not kept.
		if f.events = f.events[1:]; len(f.events) > 0 {
			return true
		}
		f.events = nil
	}
	var err error
	if f.events, err = f.gather(ctx); err != nil {
		f.events, f.over = nil, true
		if ctx.Err() == nil {
			f.End(ctx, err)
		}
		return true
	}
	f.read(ctx, f.events)
	return len(f.events) > 0
}

// panicked ends the subscription because of a bug.
func (f *Feed[T]) panicked(ctx context.Context, p any) {
	f.events, f.over = nil, true
	f.End(ctx, fmt.Errorf("panic in a subscription: %v\n%s", p, debug.Stack()))
}

// Content implements Iterator.
func (f *Feed[T]) Content() (Content, bool) {
	if f.over || !f.Selection.Alone || f.Whole == nil {
		return Content{}, false
	}
	e := &f.events[0].event
	if e.Object == nil || !f.Whole(e.Object) || (e.Old != nil && !f.Whole(e.Old)) {
		return Content{}, false
	}
	return NewContent(Type(e.Type), e.Object, e.Old), true
}

// Cursor implements Iterator.
func (f *Feed[T]) Cursor() string { return f.events[0].cursor }

// Send implements Iterator.
func (f *Feed[T]) Send(ctx context.Context) SendResult {
	sent := f.showFirst(ctx)
	switch {
	case sent != nil:
		select {
		case f.out <- sent:
			return Sent
		case <-ctx.Done():
			f.over = true
		}
	case !f.over:
		return Skipped
	}
	if !f.closed {
		f.closed = true
		close(f.out)
	}
	return Closed
}

// showFirst makes the event for the subscriber from the one that was pulled; nil where there is
// none, or the object can't be read.
func (f *Feed[T]) showFirst(ctx context.Context) *Event[T] {
	defer func() {
		if p := recover(); p != nil {
			f.panicked(ctx, p)
		}
	}()
	if f.over {
		return nil
	}
	return f.show(f.events[0])
}

// Close implements Iterator.
func (f *Feed[T]) Close() {
	f.Changed.Stop()
	f.Stream.Close()
}

// gather returns the next event and, where its object has to be read, further ones that are
// available. There may be none.
func (f *Feed[T]) gather(ctx context.Context) ([]*pulled[T], error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var events []*pulled[T]
	for waited := false; ; {
		if f.Changed.woken() {
			f.follow(ctx)
		}
		e, ok, err := f.Stream.Poll()
		switch {
		case err != nil && len(events) == 0:
			return nil, err
		case err != nil:
			return events, nil //nolint:nilerr // It is told again, behind these.
		case ok:
			if e.Type == live.Gap {
				traceGap(ctx, e.Source)
			}
			if sent := f.pull(&e); sent != nil {
				events = append(events, sent)
			}
		case len(events) == 0 || waited:
			return events, nil
		default:
			waited = true
			time.Sleep(batchDelay)
		}
		if len(events) == batch || (len(events) > 0 && !f.Selection.Loads) {
			return events, nil
		}
	}
}

// follow replaces the interests of the stream.
func (f *Feed[T]) follow(ctx context.Context) {
	interests, err := f.Interests(ctx)
	if err == nil {
		err = f.Stream.Follow(interests, nil)
	}
	if err != nil && ctx.Err() == nil {
		f.Logger.WarnContext(ctx, "a subscription could not find out what to follow; it tries again", "error", err)
		f.Changed.again(retry)
	}
}

// read starts reading the selected fields of the events' objects.
func (f *Feed[T]) read(ctx context.Context, events []*pulled[T]) {
	if !f.Selection.Loads || len(events) == 0 {
		return
	}
	var objects []T
	for _, e := range events {
		if sent := f.show(e); sent != nil && sent.key != "" {
			objects = append(objects, sent.Object)
		}
	}
	together := f.Begin(ctx)
	if len(objects) > 0 && f.Prefetch != nil {
		f.Prefetch(together, objects)
	}
	for _, e := range events {
		if e.made != nil {
			e.made.delivered, e.made.reading = f.memory, func(ctx context.Context) context.Context { return shared{ctx, together} }
		}
	}
}

// shared is a context with the values of another one besides.
type shared struct {
	context.Context //nolint:containedctx // It is one.

	values context.Context //nolint:containedctx // It is asked for values alone.
}

// Value implements context.Context.
func (s shared) Value(key any) any {
	if v := s.Context.Value(key); v != nil {
		return v
	}
	return s.values.Value(key)
}

// pulled is an event to be delivered.
type pulled[T any] struct {
	event live.Event
	// changed are the fields that differ; compare is Event.compare.
	changed []string
	compare bool
	// cursor is made at once, because the stream's position moves on.
	cursor string
	// made is the converted event; shown: made was set, and stays nil where the object can't be
	// read.
	made  *Event[T]
	shown bool
}

// pull converts an event of the stream; nil when it is not to be delivered.
func (f *Feed[T]) pull(e *live.Event) *pulled[T] {
	switch e.Type {
	case live.Ended:
		return nil // DELETED was delivered for its objects.
	case live.Modified:
		changed, err := f.differ(e)
		if err != nil {
			f.unreadable(e, err)
			return nil
		}
		tell, compare := f.Selection.sends(changed)
		if !tell {
			return nil
		}
		return &pulled[T]{event: *e, changed: changed, compare: compare, cursor: e.Cursor()}
	case live.Added, live.Deleted, live.Gap, live.Interrupted, live.Synced, live.Restored:
	}
	return &pulled[T]{event: *e, changed: []string{}, cursor: e.Cursor()}
}

// show makes the event for the subscriber; nil where the object can't be read.
func (f *Feed[T]) show(p *pulled[T]) *Event[T] {
	if p.shown {
		return p.made
	}
	p.shown = true
	e := &p.event
	sent := &Event[T]{Type: Type(e.Type), ChangedFields: p.changed, compare: p.compare, cursor: p.cursor}
	switch e.Type {
	case live.Added, live.Modified, live.Deleted:
		var err error
		if sent.Object, err = f.Show(e.Object); err != nil {
			f.unreadable(e, err)
			return nil
		}
		sent.key = e.Object.Source.Resource.Resource + "/" + string(e.Object.Meta.UID)
	case live.Gap:
		sent.Message = new("What happened since is not known any more. What there is now follows.")
	case live.Interrupted:
		sent.Message = new(messageOf(e.Err))
	case live.Synced, live.Restored, live.Ended:
	}
	if e.Source.Instance != "" {
		sent.InstanceName = &e.Source.Instance
	}
	if kind := f.KindOf(e.Source); kind != "" && e.Source != (live.Source{}) {
		sent.Kind = &kind
	}
	p.made = sent
	return sent
}

// unreadable logs an object that can't be decoded as its kind, and that is left out. It would come
// again with every snapshot, so it must not end the stream.
func (f *Feed[T]) unreadable(e *live.Event, err error) {
	f.Logger.Warn("a subscription leaves out an object that can't be read", "source", e.Source.String(),
		"namespace", e.Object.Meta.Namespace, "name", e.Object.Meta.Name, "error", err)
}

// messageOf returns the part of an error that the subscriber may see.
func messageOf(err error) string {
	if e, ok := errors.AsType[*apierror.Error](err); ok && e.Code != apierror.CodeInternal {
		return e.Message
	}
	return "It does not answer."
}

// diffs are the differences of an object to earlier versions of it. Subscribers
// that know the same version share them. The earlier versions are not held: each of
// them has diffs of its own, so that all there ever were would hang on the last one.
type diffs[T any] struct {
	mu    sync.Mutex
	since map[weak.Pointer[live.Object]][]string
}

// maxDiffs is how many differences are kept of one version.
const maxDiffs = 8

// differ returns which fields of an object changed.
func (f *Feed[T]) differ(e *live.Event) ([]string, error) {
	d, err := live.Memo(e.Object, func(*live.Object) (*diffs[T], error) {
		return &diffs[T]{since: map[weak.Pointer[live.Object]][]string{}}, nil
	})
	if err != nil {
		return nil, err
	}
	old := weak.Make(e.Old)
	d.mu.Lock()
	defer d.mu.Unlock()
	changed, known := d.since[old]
	if !known {
		before, err := f.Bare(e.Old)
		if err != nil {
			return nil, err
		}
		after, err := f.Bare(e.Object)
		if err != nil {
			return nil, err
		}
		changed = Of(f.Fields, before, after)
		if len(d.since) >= maxDiffs {
			clear(d.since)
		}
		d.since[old] = changed
	}
	if f.Hide == nil {
		return changed, nil
	}
	return except(changed, f.Hide(e.Object)), nil
}

// except returns the changed paths that are not below some hidden ones.
func except(changed, hidden []string) []string {
	var rest []string
	for _, path := range changed {
		if !touches([]string{path}, hidden) {
			rest = append(rest, path)
		}
	}
	return rest
}
