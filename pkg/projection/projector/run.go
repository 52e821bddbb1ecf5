package projector

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/pkg/projection"
)

const (
	// shortestPause and longestPause are between two looks at the outbox: the shortest
	// after a change, then longer while there is none.
	shortestPause = 10 * time.Millisecond
	longestPause  = 50 * time.Millisecond
	// lookInterval is the time between two looks at what changes rarely.
	lookInterval = time.Second
	// DefaultCheckInterval is the time between two comparisons of all rows.
	DefaultCheckInterval = time.Minute
	// checkPause is how many times as long as a comparison the pause after it is at least.
	checkPause = 3
	// checkRest is how many times as long as the comparison of a page the pause after it is: readers and
	// changes have the processor and the database then.
	checkRest = 3
)

// Run keeps the projection until something fails or the context ends. Several may run;
// one works.
func (p *Projector) Run(ctx context.Context) error {
	if err := p.DB.Install(ctx); err != nil {
		return err
	}
	lacking, err := p.DB.Lacking(ctx)
	if err != nil {
		return err
	}
	if lacking != "" {
		p.Log.Info("Pods of workloads are found slowly, because the projector may not make an index on Clusterpedia's table: have the table's owner run a statement", "statement", lacking)
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return keepOn(ctx, p.keepUp) })
	all.Go(func() error { return keepOn(ctx, p.keepUpPods) })
	all.Go(func() error { return p.inspectEvery(ctx, p.CheckInterval) })
	return all.Wait()
}

// keepOn deals with changes until it fails or the context ends, with a pause while there are few.
func keepOn(ctx context.Context, keepUp func(context.Context) (taken int, err error)) error {
	for wait := shortestPause; ; {
		taken, err := keepUp(ctx)
		if err != nil {
			return err
		}
		if taken == batch {
			continue // More may wait.
		}
		if wait = min(2*wait, longestPause); taken > 0 {
			wait = shortestPause
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// keepUp looks at what changes rarely when it is time, and deals with the first changes of workloads,
// unless another projector does.
func (p *Projector) keepUp(ctx context.Context) (taken int, err error) {
	if now := time.Now(); now.After(p.nextLook) {
		p.nextLook = now.Add(lookInterval)
		if err := p.look(ctx); err != nil {
			return 0, err
		}
	}
	taken, err = p.Step(ctx)
	if projection.Overtaken(err) {
		return 0, nil
	}
	return taken, err
}

// keepUpPods deals with the first changes of pods, unless another projector does.
func (p *Projector) keepUpPods(ctx context.Context) (taken int, err error) {
	taken, err = p.StepPods(ctx)
	if projection.Overtaken(err) {
		return 0, nil
	}
	return taken, err
}

// look measures the lag, takes over what the inventory knows, and begins a rebuild where
// one is needed.
func (p *Projector) look(ctx context.Context) error {
	if p.Collections != nil {
		collections, err := p.Collections(ctx)
		if err != nil {
			return err
		}
		if err := p.DB.SetCollections(ctx, collections); err != nil {
			return err
		}
	}
	if err := p.observeInstances(ctx); err != nil {
		return err
	}
	if err := p.rebuildIfNeeded(ctx); err != nil {
		return err
	}
	lag, err := p.DB.Lag(ctx)
	if err != nil {
		return err
	}
	pods, err := p.DB.PodLag(ctx)
	if err == nil {
		p.Metrics.Measured(lag, pods)
	}
	return err
}

// rebuildIfNeeded puts everything into the outbox after triggers or columns were missing.
func (p *Projector) rebuildIfNeeded(ctx context.Context) error {
	state, refresh, err := p.DB.State(ctx)
	if err != nil {
		return err
	}
	pods, err := p.DB.PodState(ctx)
	if err != nil {
		return err
	}
	if pods == projection.Needed || refresh == projection.Needed {
		p.Log.Info("Rebuilding the pods of the projection", "served", pods == projection.Complete)
		if err := p.DB.RebuildPods(ctx); err != nil {
			return err
		}
	}
	if state != projection.Needed && refresh != projection.Needed {
		return nil
	}
	p.Log.Info("Rebuilding the projection", "served", state == projection.Complete)
	return p.DB.Rebuild(ctx)
}

// inspectEvery inspects from time to time, beside the changes.
func (p *Projector) inspectEvery(ctx context.Context, interval time.Duration) error {
	for wait := interval; ; {
		if err := pause(ctx, wait); err != nil {
			return err
		}
		begun := time.Now()
		if err := p.inspect(ctx); errors.Is(err, ErrBusy) {
			p.Log.V(1).Info("The projection is not compared now", "reason", err.Error())
		} else if err != nil {
			return err
		}
		wait = max(interval, checkPause*time.Since(begun))
	}
}

// inspect makes triggers and tables that were removed again, and compares all rows.
func (p *Projector) inspect(ctx context.Context) error {
	if err := p.DB.Install(ctx); err != nil {
		return err
	}
	state, refresh, err := p.DB.State(ctx)
	if err != nil || state != projection.Complete || refresh != "" {
		return err // Rows that are on their way are missing, or of another version.
	}
	page := time.Now()
	_, err = p.check(ctx, func() error {
		err := pause(ctx, checkRest*time.Since(page))
		page = time.Now()
		return err
	})
	return err
}

// pause waits; its error is that of the context.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
