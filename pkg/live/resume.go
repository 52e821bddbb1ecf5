package live

import (
	"context"
	"errors"
	"slices"
)

// begin tells a part what is there, or what is otherwise than what its subscriber
// knows. The view is locked and, where it has a single input, that too.
func (v *view) begin(p *part) {
	switch {
	case v.gone != nil:
	case p.resume == nil:
		p.start(start{snapshot: v.sorted(), from: nothing, at: v.now})
	case v.foreign(p.resume):
		v.lose(p, "cluster")
	case len(v.inputs) == 1 && v.resume(p, nil, "history"):
	default:
		p.stream.hub.work.begin(func() { v.recover(p) })
	}
}

// foreign tells that a position is one of another cluster.
func (v *view) foreign(from position) bool {
	for _, s := range from {
		if s.stamp != nil && (s.stamp.epoch != v.now.epoch || len(s.stamp.versions) != len(v.inputs)) {
			return true
		}
	}
	return false
}

// lose begins with a gap. The view is locked.
func (v *view) lose(p *part, reason string) {
	v.metrics.gaps.WithLabelValues(reason).Inc()
	v.metrics.resumed.WithLabelValues("lost").Inc()
	p.start(start{gap: true, snapshot: v.sorted(), from: nothing, at: v.now})
}

// past is an input at a version.
type past struct {
	input   int
	version uint64
}

// since tells what is otherwise than at a stamp, from the feeds' histories and from
// bases where there are some; or else which bases it would need. The view and its
// inputs are locked.
func (v *view) since(at *stamp, bases map[past]*listing) (changes []change, missing []past) {
	touched := make([][]touch, len(v.inputs))
	for i, in := range v.inputs {
		of := past{i, at.versions[i]}
		if in.feed.version < of.version {
			missing = append(missing, of) // It is behind; see recover.
			continue
		}
		if known, ok := in.feed.history.since(of.version); ok {
			touched[i] = known
		} else if base := bases[of]; base != nil {
			touched[i] = differences(base.objects, in.feed.objects)
		} else {
			missing = append(missing, of)
		}
	}
	if len(missing) > 0 {
		return nil, missing
	}
	if v.joiner != nil {
		return v.joiner.since(touched), nil
	}
	objects := v.inputs[0].feed.objects
	for _, t := range touched[0] {
		changes = append(changes, change{key: t.key, old: t.base, now: objects[t.key], last: t.base})
	}
	slices.SortFunc(changes, func(a, b change) int { return compareKeys(a.key, b.key) })
	return changes, nil
}

// changesSince is since for a position.
func (v *view) changesSince(from position, bases map[past]*listing) (changes []change, missing []past) {
	for i := range from {
		var within []change
		if from[i].stamp == nil {
			for _, o := range v.sorted() {
				within = append(within, change{key: o.Key(), now: o})
			}
		} else {
			var without []past
			within, without = v.since(from[i].stamp, bases)
			missing = append(missing, without...)
		}
		for _, c := range within {
			if from[i].has(c.key) && (i == 0 || !from[i-1].has(c.key)) {
				changes = append(changes, c)
			}
		}
	}
	return changes, missing
}

// resume tells a part what is otherwise than what is known, if that can be told now.
// The view and its inputs are locked.
func (v *view) resume(p *part, bases map[past]*listing, told string) bool {
	changes, missing := v.changesSince(p.resume, bases)
	if len(missing) > 0 {
		return false
	}
	v.metrics.resumed.WithLabelValues(told).Inc()
	p.start(start{changes: changes, from: p.resume, at: v.now})
	return true
}

// recover asks the cluster for what a part missed.
func (v *view) recover(p *part) {
	ctx := p.stream.ctx
	for failures := 0; ctx.Err() == nil; failures++ {
		err := v.tryRecover(ctx, p)
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
		pause(ctx, waitAfter(err, failures))
	}
}

func (v *view) tryRecover(ctx context.Context, p *part) error {
	bases, told := map[past]*listing{}, "history"
	for {
		var missing []past
		v.lock()
		_, here := v.parts[p]
		switch {
		case !here || v.gone != nil:
			v.unlock()
			return nil
		case v.foreign(p.resume):
			v.lose(p, "cluster")
			v.unlock()
			return nil
		case v.resume(p, bases, told):
			v.unlock()
			return nil
		}
		_, missing = v.changesSince(p.resume, bases)
		v.unlock()
		for _, of := range missing {
			feed := v.inputs[of.input].feed
			if feed.at() < of.version {
				// Another replica was ahead of this one.
				if err := feed.advance(ctx, of.version); err != nil {
					return err
				}
				continue
			}
			base, err := feed.baseAt(ctx, of.version)
			if err != nil {
				return err
			}
			bases[of], told = base, "cluster"
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
