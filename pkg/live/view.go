package live

import (
	"slices"
	"sync"
	"time"
)

// stamp is the state of a view: a version for each of its inputs. It is immutable.
type stamp struct {
	versions []uint64
	// epoch is the cluster that they are versions of.
	epoch uint32
	// sequence orders the stamps of one view.
	sequence uint64
	// heard is when the view received the change.
	heard time.Time
}

// change is a change of one object that a view delivers.
type change struct {
	key      Key
	old, now *Object
	last     *Object
}

// input is a feed that a view is made of.
type input struct {
	feed  *feed
	ready bool
}

// view holds the objects of one feed, or of a join of several. Parts of streams are attached to it.
type view struct {
	key    string
	inputs []*input
	// joiner is nil for the view of a single feed.
	joiner  *joiner
	metrics *metrics

	// users and stopIdle are guarded by the hub's lock.
	users    int
	stopIdle func() bool

	mu    sync.Mutex
	parts map[*part]struct{}
	// ready: all inputs are known.
	ready bool
	now   *stamp
	// problems are those of the inputs, nil where there is none; gone is why the view has ended.
	problems []error
	gone     error
}

// lock locks the view and its feeds.
func (v *view) lock() {
	for _, f := range v.feedsInOrder() {
		f.mu.Lock()
	}
	v.mu.Lock()
}

func (v *view) unlock() {
	v.mu.Unlock()
	for _, f := range v.feedsInOrder() {
		f.mu.Unlock()
	}
}

func (v *view) feedsInOrder() []*feed {
	feeds := make([]*feed, len(v.inputs))
	for i, in := range v.inputs {
		feeds[i] = in.feed
	}
	slices.SortFunc(feeds, func(a, b *feed) int { return compareSources(a.source, b.source) })
	return slices.Compact(feeds)
}

// versions returns the current stamp with the feed's present version. The lock is held.
func (v *view) versions(of *feed) *stamp {
	s := &stamp{versions: make([]uint64, len(v.inputs)), epoch: of.epoch, heard: time.Now()}
	if v.now != nil {
		copy(s.versions, v.now.versions)
		s.sequence = v.now.sequence + 1
	}
	for i, in := range v.inputs {
		if in.feed == of {
			s.versions[i] = of.version
		}
	}
	return s
}

// synced implements sink.
func (v *view) synced(f *feed) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = v.versions(f)
	all := true
	for i, in := range v.inputs {
		if in.feed == f {
			in.ready = true
			if v.joiner != nil {
				v.joiner.load(i, f.objects)
			}
		}
		all = all && in.ready
	}
	switch {
	case v.ready: // Another cluster: what differs has been told.
		v.seen()
	case all:
		v.ready = true
		if v.joiner != nil {
			v.joiner.build()
		}
		for p := range v.parts {
			v.begin(p)
		}
	}
}

// isGone reports whether the source was removed for good.
func (v *view) isGone() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.gone != nil
}

// transitioned implements sink.
func (v *view) transitioned(f *feed, transitions []transition) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = v.versions(f)
	if v.joiner == nil {
		changes := make([]change, len(transitions))
		for i, t := range transitions {
			changes[i] = change{key: t.key, old: t.old, now: t.now, last: t.last}
		}
		v.tell(changes)
		return
	}
	var changes []change
	for i, in := range v.inputs {
		if in.feed == f && in.ready {
			changes = append(changes, v.joiner.transitioned(i, transitions, v.ready)...)
		}
	}
	v.tell(changes)
}

// progressed implements sink.
func (v *view) progressed(f *feed) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = v.versions(f)
	if v.ready {
		v.seen()
	}
}

// interrupted implements sink.
func (v *view) interrupted(f *feed, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, in := range v.inputs {
		if in.feed == f {
			v.problems[i] = err
		}
	}
	problem := v.problem()
	for p := range v.parts {
		p.interrupted(problem)
	}
}

// problem returns the first problem of the inputs. The lock is held.
func (v *view) problem() error {
	for _, err := range v.problems {
		if err != nil {
			return err
		}
	}
	return nil
}

// ended implements sink.
func (v *view) ended(_ *feed, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone != nil {
		return
	}
	v.gone = err
	for p := range v.parts {
		p.end(err)
	}
}

// tell offers changes to all parts. The lock is held.
func (v *view) tell(changes []change) {
	if !v.ready {
		return
	}
	if len(changes) > 1 {
		for p := range v.parts {
			p.hold()
		}
	}
	for i := range changes {
		for p := range v.parts {
			p.offer(&changes[i], v.now)
		}
	}
	if len(changes) > 1 {
		for p := range v.parts {
			p.release()
		}
	}
	v.seen()
}

// seen records that all changes up to now were offered. The lock is held.
func (v *view) seen() {
	for p := range v.parts {
		p.seen.Store(v.now)
	}
}

// objects returns the current objects. All locks are held.
func (v *view) objects() map[Key]*Object {
	if v.joiner != nil {
		return v.joiner.joined
	}
	return v.inputs[0].feed.objects
}

// sorted returns the current objects by key; the slice is not changed later. All locks are held.
func (v *view) sorted() []*Object {
	if v.joiner != nil {
		return v.joiner.sorted()
	}
	return v.inputs[0].feed.sorted()
}

// attach adds a part, which begins when the view is ready.
func (v *view) attach(p *part) {
	v.lock()
	defer v.unlock()
	v.parts[p] = struct{}{}
	if v.ready {
		v.begin(p)
	}
	switch {
	case v.gone != nil:
		p.end(v.gone)
	case v.problem() != nil:
		p.interrupted(v.problem())
	}
}

// detach removes a part. With a reason, the deletion of its objects is delivered before.
func (v *view) detach(p *part, reason error) {
	v.lock()
	defer v.unlock()
	if _, here := v.parts[p]; !here {
		return
	}
	delete(v.parts, p)
	if reason == nil {
		return
	}
	p.hold()
	for key, o := range v.objects() {
		p.offer(&change{key: key, old: o, last: o}, v.now)
	}
	p.release()
	p.end(reason)
}

// restart begins a part again whose inbox was full.
func (v *view) restart(p *part) {
	v.lock()
	defer v.unlock()
	if _, here := v.parts[p]; here && v.ready {
		v.metrics.gaps.WithLabelValues("overflow").Inc()
		p.start(start{gap: true, snapshot: v.sorted(), from: nothing, at: v.now})
	}
}
