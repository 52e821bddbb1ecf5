package live

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"
)

const (
	// firstWait and longestWait bound the wait between two attempts at a source that does not
	// answer.
	firstWait   = 100 * time.Millisecond
	longestWait = 3 * time.Second
	// refusedWait is the same for a source that its cluster does not serve.
	refusedWait = 15 * time.Second
	// markSynced is how long a resumed watch must be silent until it counts as caught up. An API server
	// sends missed changes at once.
	quietPeriod = 250 * time.Millisecond
	// brief is how long a working watch lasts at least.
	brief = time.Second
)

// run follows the source until the context ends or the source is removed.
func (f *feed) run(ctx context.Context) {
	s := session{feed: f}
	gone := false
	for failures := 0; ctx.Err() == nil; {
		begun := time.Now()
		err := s.follow(ctx)
		lasted := time.Since(begun) >= brief
		switch {
		case ctx.Err() != nil:
			return
		case isGone(err):
			// Another instance may have the name by now; a second attempt finds out.
			if gone {
				f.end(err)
				return
			}
			gone = true
			continue
		case errors.Is(err, errNoWatchList) && !s.withoutWatchList:
			s.withoutWatchList = true
			continue
		case errors.Is(err, errExpired), errors.Is(err, errOtherHistory):
			s.lost, err = true, nil
		case err == nil, errors.Is(err, io.EOF):
			err = nil
		default:
			s.suspicious = true
		}
		gone = false
		if lasted {
			failures = 0
		}
		// A connection may break under a cluster that is well, so one failure says nothing.
		if err != nil && (failures > 0 || !f.known()) {
			f.interrupt(explain(f.source, err))
		}
		failures++
		if failures > 1 || (err != nil && !f.known()) {
			pause(ctx, waitAfter(err, failures-1))
		}
	}
}

// known reports whether the source was listed.
func (f *feed) known() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listed
}

// waitAfter grows with the number of failures, and differs between feeds.
func waitAfter(err error, failures int) time.Duration {
	wait := longestWait
	if errors.Is(err, errNotServed) || errors.Is(err, errVersion) {
		wait = refusedWait
	} else if failures < 6 {
		wait = min(firstWait<<failures, longestWait)
	}
	return wait/2 + rand.N(wait/2+1) //nolint:gosec // It spreads load.
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// session is what a feed knows of its conversation with the cluster.
type session struct {
	*feed
	// lost: the cluster no longer has what came after the feed's version.
	lost bool
	// suspicious: the last watch ended in a way that may mean another cluster, or
	// another history.
	suspicious bool
	// withoutWatchList: the cluster has to be asked for a list and then a watch.
	withoutWatchList bool
}

// follow watches once, from where the feed is. A nil error is a regular end.
func (s *session) follow(ctx context.Context) error {
	if s.suspicious && s.known() && !s.lost {
		if err := s.compare(ctx); err != nil {
			return err
		}
	}
	if s.lost || !s.known() {
		return s.begin(ctx)
	}
	s.mu.Lock()
	version := s.version
	s.mu.Unlock()
	w, err := s.upstream.watch(ctx, version)
	if err != nil {
		return err
	}
	return s.listen(w)
}

// compare makes sure that the cluster is the one that was watched, with the history
// that was watched.
func (s *session) compare(ctx context.Context) error {
	latest, err := s.upstream.latest(ctx)
	if err != nil {
		return err
	}
	// Only now: an API server that has just started forbids everything, and what is
	// forbidden counts as a cluster that does not show what it is.
	epoch, err := s.upstream.epoch(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = epoch != s.epoch || latest < s.version
	s.suspicious = false
	return nil
}

// begin reads what is there, and watches from then on.
func (s *session) begin(ctx context.Context) error {
	since := s.at()
	if s.withoutWatchList {
		l, err := s.upstream.list(ctx, 0)
		if err != nil {
			return err
		}
		epoch, err := s.upstream.epoch(ctx) // Behind the list; see compare.
		if err != nil {
			return err
		}
		s.taken(l, epoch, since)
		w, err := s.upstream.watch(ctx, l.version)
		if err != nil {
			return err
		}
		return s.listen(w)
	}
	w, err := s.upstream.watch(ctx, 0)
	if err != nil {
		return err
	}
	epoch, err := s.upstream.epoch(ctx) // Behind the watch; see compare.
	if err != nil {
		w.close()
		return err
	}
	l := &listing{objects: map[Key]*Object{}}
	for {
		fr, err := w.next()
		switch {
		case err != nil:
			w.close()
			return err
		case fr.kind == "DELETED":
			delete(l.objects, fr.object.Key())
		case fr.object != nil:
			l.objects[fr.object.Key()] = fr.object
		case fr.listed:
			l.version = fr.version
			s.taken(l, epoch, since)
			return s.listen(w)
		}
	}
}

func (s *session) taken(l *listing, epoch uint32, since uint64) {
	s.take(l, epoch, since)
	s.lost, s.suspicious = false, false
	s.interrupt(nil)
}

// listen takes what a watch says until it ends.
func (s *session) listen(w watcher) error {
	s.metrics.watches.Inc()
	defer s.metrics.watches.Dec()
	defer w.close()
	quiet := time.AfterFunc(quietPeriod, func() { s.interrupt(nil) })
	defer quiet.Stop()
	for {
		fr, err := w.next()
		if err != nil {
			return err
		}
		s.hear(fr)
		quiet.Reset(quietPeriod)
	}
}

// advance brings the feed to what another replica or the subscriber has seen already,
// or fails with errOtherHistory when its cluster never was there. It asks with the lock
// held whether it has arrived.
func (f *feed) advance(ctx context.Context, arrived func() bool) error {
	locked := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return arrived()
	}
	// It is on its way, most likely.
	for range 5 {
		if locked() {
			return nil
		}
		pause(ctx, 20*time.Millisecond)
	}
	select {
	case f.advancing <- struct{}{}:
		defer func() { <-f.advancing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if locked() {
		return nil
	}
	l, err := f.upstream.list(ctx, 0)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone == nil && f.listed && f.version < l.version {
		f.metrics.relists.WithLabelValues("behind").Inc()
		f.turnTo(l, f.epoch)
	}
	if !arrived() {
		return errOtherHistory
	}
	return nil
}

func (f *feed) at() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

// baseAt is the source as it was at a version; errExpired when the cluster no
// longer knows.
func (f *feed) baseAt(ctx context.Context, version uint64) (*listing, error) {
	f.mu.Lock()
	epoch := f.epoch
	f.mu.Unlock()
	select {
	case f.advancing <- struct{}{}:
		defer func() { <-f.advancing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if known := f.bases.find(version, epoch); known != nil {
		return known, nil
	}
	l, err := f.upstream.list(ctx, version)
	if err != nil {
		return nil, err
	}
	if l.version != version {
		return nil, errExpired // It was not asked exactly, then.
	}
	f.bases.keep(l, epoch)
	return l, nil
}
