package live

import (
	"context"
	"errors"
	"time"
)

// begin tells a part what is there, or what is otherwise than where it resumes.
// The view is locked and, where it has a single input, that too.
func (v *view) begin(p *part) {
	from := p.resume
	switch {
	case v.gone != nil:
		return
	case from == nil:
		p.start(start{snapshot: v.sorted(), at: v.now})
		return
	case from.epoch != v.now.epoch || len(from.versions) != len(v.inputs):
		v.lose(p, "cluster")
		return
	}
	if len(v.inputs) == 1 {
		touched, missing, behind := v.since(from, nil)
		if len(missing) == 0 && !behind {
			v.metrics.resumed.WithLabelValues("history").Inc()
			v.resume(p, from, touched)
			return
		}
	}
	p.stream.hub.work.begin(func() { v.recover(p, from) })
}

// lose begins with a gap. All locks are held.
func (v *view) lose(p *part, reason string) {
	v.metrics.gaps.WithLabelValues(reason).Inc()
	v.metrics.resumed.WithLabelValues("lost").Inc()
	p.start(start{gap: true, snapshot: v.sorted(), at: v.now})
}

// since tells for each input what is otherwise than at a position, from the feeds'
// histories and from bases where there are some; missing are the inputs of which
// neither tells. behind: an input is not yet where the position is. All locks are held.
func (v *view) since(from *position, bases []*listing) (touched [][]touch, missing []int, behind bool) {
	touched = make([][]touch, len(v.inputs))
	for i, in := range v.inputs {
		version := from.versions[i]
		if in.feed.version < version {
			behind = true
			continue
		}
		if known, ok := in.feed.history.since(version); ok {
			touched[i] = known
			continue
		}
		if bases != nil && bases[i] != nil {
			touched[i] = differences(bases[i].objects, in.feed.objects, in.feed.version)
			continue
		}
		missing = append(missing, i)
	}
	return touched, missing, behind
}

// resume tells a part what is otherwise. All locks are held.
func (v *view) resume(p *part, from *position, touched [][]touch) {
	var changes []stamped
	if v.joiner == nil {
		objects := v.inputs[0].feed.objects
		var at *stamp
		for _, t := range touched[0] {
			if at == nil || at.versions[0] != t.at {
				at = &stamp{versions: []uint64{t.at}, epoch: v.now.epoch}
			}
			now := objects[t.key]
			changes = append(changes, stamped{change{key: t.key, old: t.base, now: now, last: t.base}, at})
		}
	} else {
		for _, c := range v.joiner.since(touched) {
			changes = append(changes, stamped{c, v.now})
		}
	}
	begin := start{resumed: true, at: v.now, changes: changes}
	if from.partial {
		// What was told of the snapshot is brought up to date, and the rest follows.
		begin.changes = nil
		for _, c := range changes {
			if compareKeys(c.key, from.last) <= 0 {
				begin.changes = append(begin.changes, c)
			}
		}
		begin.snapshot = v.sorted()
		begin.after = &from.last
	}
	p.start(begin)
}

// recoverAgain is the time between two attempts to learn what a part missed.
const recoverAgain = 500 * time.Millisecond

// recover learns from the cluster what a part missed.
func (v *view) recover(p *part, from *position) {
	ctx := p.stream.ctx
	for ctx.Err() == nil {
		err := v.tryRecover(ctx, p, from)
		switch {
		case err == nil:
			return
		case errors.Is(err, errExpired), errors.Is(err, errOtherHistory), errors.Is(err, errNoWatchList), errors.Is(err, errNotServed):
			v.lock()
			if _, here := v.parts[p]; here && v.gone == nil {
				v.lose(p, "resume")
			}
			v.unlock()
			return
		}
		pause(ctx, recoverAgain)
	}
}

func (v *view) tryRecover(ctx context.Context, p *part, from *position) error {
	bases, learned := make([]*listing, len(v.inputs)), "history"
	for {
		for i, in := range v.inputs {
			if err := in.feed.advance(ctx, from.versions[i]); err != nil {
				return err
			}
		}
		v.lock()
		if _, here := v.parts[p]; !here || v.gone != nil {
			v.unlock()
			return nil
		}
		if from.epoch != v.now.epoch {
			v.lose(p, "cluster")
			v.unlock()
			return nil
		}
		touched, missing, behind := v.since(from, bases)
		if len(missing) == 0 && !behind {
			v.metrics.resumed.WithLabelValues(learned).Inc()
			v.resume(p, from, touched)
			v.unlock()
			return nil
		}
		v.unlock()
		for _, i := range missing {
			base, err := v.inputs[i].feed.baseAt(ctx, from.versions[i])
			if err != nil {
				return err
			}
			bases[i], learned = base, "cluster"
		}
		if behind {
			// The cluster's history changed in between; the next round tells.
			pause(ctx, recoverAgain)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
