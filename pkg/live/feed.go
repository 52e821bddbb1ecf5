package live

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// sink receives what a feed learns, in order, with the feed's lock held.
type sink interface {
	// synced reports that the feed's objects are complete. It is called once in an epoch, and again
	// when another cluster has replaced the feed's.
	synced(f *feed)
	// transitioned reports that these objects changed at the feed's current version.
	transitioned(f *feed, transitions []transition)
	// progressed reports that the feed is at a later version without changes.
	progressed(f *feed)
	// interrupted reports that the source does not answer; with nil, that it answers again.
	interrupted(f *feed, err error)
	// ended reports that the source was removed, and its objects before.
	ended(f *feed, err error)
}

// feed follows one source.
type feed struct {
	source   Source
	upstream upstream
	logger   *slog.Logger
	metrics  *metrics
	stop     context.CancelFunc

	// bases shares the old states that were read from the cluster for resuming streams.
	bases bases
	// advancing limits the listings that advance the feed to one at a time.
	advancing chan struct{}

	// users counts the views; the hub's lock guards it.
	users int

	mu      sync.Mutex
	sinks   []sink
	objects map[Key]*Object
	// version is that of objects; epoch identifies the cluster that it is a version of.
	version uint64
	epoch   uint32
	// listed is set once a list of this epoch was taken.
	listed  bool
	history history
	// problem is why the source does not answer; gone is why it was removed for good.
	problem, gone error
	// ordered are the objects by key; nil until sorted computes it.
	ordered []*Object
}

func newFeed(source Source, up upstream, historyLimit int, m *metrics, logger *slog.Logger) *feed {
	return &feed{
		source: source, upstream: up, metrics: m, logger: logger.With("source", source.String()),
		objects: map[Key]*Object{}, history: history{limit: historyLimit},
		advancing: make(chan struct{}, 1),
	}
}

func compareKeys(a, b Key) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// attach adds a sink, and reports the feed's current state to it. It is called with the lock held.
func (f *feed) attach(s sink) {
	f.sinks = append(f.sinks, s)
	if f.listed {
		s.synced(f)
	}
	switch {
	case f.gone != nil:
		s.ended(f, f.gone)
	case f.problem != nil:
		s.interrupted(f, f.problem)
	}
}

func (f *feed) detach(s sink) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sinks = slices.DeleteFunc(f.sinks, func(other sink) bool { return other == s })
}

// sorted is called with the lock held. The result is never changed.
func (f *feed) sorted() []*Object {
	if f.ordered == nil {
		f.ordered = sortedObjects(f.objects)
	}
	return f.ordered
}

func sortedObjects(objects map[Key]*Object) []*Object {
	ordered := make([]*Object, 0, len(objects))
	for _, o := range objects {
		ordered = append(ordered, o)
	}
	slices.SortFunc(ordered, func(a, b *Object) int { return compareKeys(a.Key(), b.Key()) })
	return ordered
}

// hear applies one frame of a watch that began at the feed's version.
func (f *feed) hear(fr frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fr.version <= f.version {
		return // A listing was faster.
	}
	if fr.kind == "BOOKMARK" {
		f.version = fr.version
		for _, s := range f.sinks {
			s.progressed(f)
		}
		return
	}
	key := fr.object.Key()
	t := transition{key: key, old: f.objects[key], at: fr.version, floor: fr.version - 1}
	f.version = fr.version
	if fr.kind == "DELETED" {
		t.last = fr.object
	} else {
		t.now = fr.object
	}
	if t.old == nil && t.now == nil {
		for _, s := range f.sinks {
			s.progressed(f)
		}
		return
	}
	f.apply([]transition{t})
}

// apply is called with the lock held, and with the version of the turns set.
func (f *feed) apply(transitions []transition) {
	for _, t := range transitions {
		if t.now == nil {
			delete(f.objects, t.key)
		} else {
			f.objects[t.key] = t.now
		}
		f.history.add(t)
	}
	f.ordered = nil
	for _, s := range f.sinks {
		s.transitioned(f, transitions)
	}
}

// take replaces the feed's objects by a listing; only the differences are changes. The listing was
// requested when the feed was at version since.
func (f *feed) take(l *listing, epoch uint32, since uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.listed {
		f.objects, f.version, f.epoch, f.listed, f.ordered = l.objects, l.version, epoch, true, nil
		f.history.reset(l.version)
		for _, s := range f.sinks {
			s.synced(f)
		}
		return
	}
	if f.epoch == epoch && l.version < f.version && l.version >= since {
		return // The feed was brought further meanwhile, see advance.
	}
	if f.epoch != epoch || l.version < f.version {
		// Another history: its versions are not comparable with those before.
		f.metrics.relists.WithLabelValues("other").Inc()
		f.turnTo(l, epoch)
		f.history.reset(l.version)
		for _, s := range f.sinks {
			s.synced(f)
		}
		return
	}
	f.metrics.relists.WithLabelValues("expired").Inc()
	f.turnTo(l, epoch)
}

// turnTo is called with the lock held.
func (f *feed) turnTo(l *listing, epoch uint32) {
	touches := differences(f.objects, l.objects)
	floor := f.version
	f.version, f.epoch = l.version, epoch
	if len(touches) == 0 {
		f.history.skip(floor, l.version)
		for _, s := range f.sinks {
			s.progressed(f)
		}
		return
	}
	transitions := make([]transition, len(touches))
	for i, t := range touches {
		transitions[i] = transition{key: t.key, old: t.base, now: l.objects[t.key], last: t.base, at: l.version, floor: floor}
	}
	f.apply(transitions)
}

// interrupt records that the source does not answer; with nil, that it does.
func (f *feed) interrupt(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone != nil || (err == nil) == (f.problem == nil) {
		return
	}
	f.problem = err
	if err != nil {
		f.logger.Warn("what is watched does not answer; trying again until it does", "error", err)
	} else {
		f.logger.Info("what is watched answers")
	}
	for _, s := range f.sinks {
		s.interrupted(f, err)
	}
}

// end records that the source was removed.
func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone != nil {
		return
	}
	if f.listed {
		f.turnTo(&listing{objects: map[Key]*Object{}, version: f.version + 1}, f.epoch)
	}
	f.gone = err
	for _, s := range f.sinks {
		s.ended(f, err)
	}
}

func (f *feed) isGone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gone != nil
}

// isGone reports whether an instance was removed for good.
func isGone(err error) bool { return apierror.Is(err, apierror.CodeNotFound) }

// bases caches states that streams resumed from: after an outage many resume from the same one.
type bases struct {
	mu   sync.Mutex
	kept []base
}

type base struct {
	listing *listing
	epoch   uint32
}

const (
	maxBases = 8
	baseAge  = 15 * time.Second
)

func (b *bases) find(version uint64, epoch uint32) *listing {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.kept {
		if k.listing.version == version && k.epoch == epoch {
			return k.listing
		}
	}
	return nil
}

// keep keeps a state for baseAge only, because it is a whole copy of the source.
func (b *bases) keep(l *listing, epoch uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.kept) >= maxBases {
		b.kept = slices.Delete(b.kept, 0, 1)
	}
	b.kept = append(b.kept, base{listing: l, epoch: epoch})
	time.AfterFunc(baseAge, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.kept = slices.DeleteFunc(b.kept, func(k base) bool { return k.listing == l })
	})
}
