package activity

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/projection"
)

const (
	// overlap is how long an entry may take to become visible after others with later numbers, in seconds.
	overlap = 10
	// pageSize is how many entries one look reads at once.
	pageSize = 500
	// waiting is how many entries may wait for a subscriber.
	waiting = 1000
	// lookWithin bounds one look.
	lookWithin = 5 * time.Second
)

// Feed looks for new entries while it has subscribers, and hands each of them all. One look serves all subscribers.
type Feed struct {
	// Read reads a page of the activity of all instances.
	Read     func(ctx context.Context, q *projection.ActivityQuery) (*projection.ActivityPage, error)
	Interval time.Duration
	// End ends a subscription with an error.
	End    func(ctx context.Context, err error)
	Logger *slog.Logger

	mu          sync.Mutex
	subscribers map[chan *projection.ActivityEntry]struct{}
	stop        context.CancelFunc
}

// follow sends the entries that a subscriber is to have, until the context ends.
func (f *Feed) follow(ctx context.Context, wanted func(*projection.ActivityEntry) (bool, error)) (<-chan *Entry, error) {
	l := &looks{read: f.Read}
	if !f.runs() {
		// What is added from now on is new, also before the first look of all.
		if _, err := l.next(ctx); err != nil {
			return nil, apierror.Wrap(err, apierror.CodeIndexUnavailable, "The database of the index does not answer")
		}
	}
	in, out := make(chan *projection.ActivityEntry, waiting), make(chan *Entry)
	f.add(in, l) //nolint:contextcheck // The looks are for all subscribers, and go on when this one has left.
	go func() {
		defer close(out)
		defer f.remove(in)
		defer func() {
			// It runs in a goroutine of its own, where a panic would end the process.
			if p := recover(); p != nil {
				f.End(ctx, fmt.Errorf("panic in a subscription to the activity: %v\n%s", p, debug.Stack()))
			}
		}()
		if err := send(ctx, in, out, wanted); err != nil && ctx.Err() == nil {
			f.End(ctx, err)
		}
	}()
	return out, nil
}

// send sends what is wanted of what comes in.
func send(ctx context.Context, in <-chan *projection.ActivityEntry, out chan<- *Entry, wanted func(*projection.ActivityEntry) (bool, error)) error {
	for {
		var e *projection.ActivityEntry
		select {
		case <-ctx.Done():
			return nil
		case e = <-in:
		}
		if e == nil {
			return apierror.New(apierror.CodeTimeout, "you did not read as fast as entries came: list `activity`, then subscribe again")
		}
		if send, err := wanted(e); err != nil {
			return err
		} else if !send {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case out <- newEntry(e):
		}
	}
}

// runs reports whether there are looks.
func (f *Feed) runs() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subscribers) > 0
}

// add begins to hand entries to a subscriber. The first has its looks go on for all.
func (f *Feed) add(in chan *projection.ActivityEntry, l *looks) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subscribers == nil {
		f.subscribers = map[chan *projection.ActivityEntry]struct{}{}
	}
	if len(f.subscribers) == 0 {
		var ctx context.Context
		ctx, f.stop = context.WithCancel(context.Background())
		go f.run(ctx, l)
	}
	f.subscribers[in] = struct{}{}
}

// remove ends that. The last has the looks end.
func (f *Feed) remove(in chan *projection.ActivityEntry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := f.subscribers[in]; !there {
		return
	}
	delete(f.subscribers, in)
	if len(f.subscribers) == 0 {
		f.stop()
	}
}

// hand gives entries to all subscribers. One that has too many waiting is closed.
func (f *Feed) hand(entries []*projection.ActivityEntry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for in := range f.subscribers {
		if len(in)+len(entries) > waiting {
			close(in)
			delete(f.subscribers, in)
			continue
		}
		for _, e := range entries {
			in <- e
		}
	}
	if len(f.subscribers) == 0 {
		f.stop()
	}
}

// run looks until the context ends.
func (f *Feed) run(ctx context.Context, l *looks) {
	defer func() {
		if p := recover(); p != nil {
			f.Logger.ErrorContext(ctx, "panic while following the activity", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	for {
		entries, err := l.next(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			f.Logger.WarnContext(ctx, "reading the activity failed, retrying", "error", err)
		case len(entries) > 0:
			f.hand(entries)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(f.Interval):
		}
	}
}

// looks remember which entries were seen.
type looks struct {
	read func(ctx context.Context, q *projection.ActivityQuery) (*projection.ActivityPage, error)
	// begun is set by the first look, which finds what was there before.
	begun bool
	// latest is the time of the latest entry, in seconds since 1970. Numbers are not in the order in which entries
	// become visible, so each look reads some seconds again, and seen has the times of what was read of them.
	latest float64
	seen   map[int64]float64
}

// next returns the entries that were added since the last look, the earliest first.
func (l *looks) next(ctx context.Context) ([]*projection.ActivityEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	q := &projection.ActivityQuery{Reach: projection.ActivityReach{Everything: true, AllAccess: true}, From: max(l.latest-overlap, 0), Limit: pageSize}
	var added []*projection.ActivityEntry
	for {
		found, err := l.read(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range found.Entries {
			if e := &found.Entries[i]; !l.has(e.ID) {
				added = append(added, e)
			}
			q.Before = found.Entries[i].ID
		}
		if !found.HasNext || !l.begun {
			break
		}
	}
	if l.seen == nil {
		l.seen = map[int64]float64{}
	}
	for _, e := range added {
		l.seen[e.ID], l.latest = e.At, max(l.latest, e.At)
	}
	maps.DeleteFunc(l.seen, func(_ int64, at float64) bool { return at < l.latest-overlap })
	if !l.begun {
		l.begun = true
		return nil, nil
	}
	slices.Reverse(added)
	return added, nil
}

func (l *looks) has(id int64) bool {
	_, seen := l.seen[id]
	return seen
}
