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
	default:
		// The inputs of a join are not all locked here.
		if len(v.inputs) > 1 || !v.resume(p) {
			p.stream.hub.work.begin(func() { v.recover(p) })
		}
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

// resume tells a part what is otherwise than what is known, if memory tells. The view
// and its inputs are locked.
func (v *view) resume(p *part) bool {
	changes, missing := v.changesSince(p.resume, nil)
	if len(missing) > 0 {
		return false
	}
	v.metrics.resumed.WithLabelValues("history").Inc()
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

// beginFrom begins a part with what is known, or tells what is missing for that.
func (v *view) beginFrom(p *part, bases map[past]*listing, told string) (missing []past, begun bool) {
	v.lock()
	defer v.unlock()
	if _, here := v.parts[p]; !here || v.gone != nil {
		return nil, true
	}
	if v.foreign(p.resume) {
		v.lose(p, "cluster")
		return nil, true
	}
	changes, missing := v.changesSince(p.resume, bases)
	if len(missing) > 0 {
		return missing, false
	}
	v.metrics.resumed.WithLabelValues(told).Inc()
	p.start(start{changes: changes, from: p.resume, at: v.now})
	return nil, true
}

func (v *view) tryRecover(ctx context.Context, p *part) error {
	bases, told := map[past]*listing{}, "history"
	for {
		missing, begun := v.beginFrom(p, bases, told)
		if begun {
			return nil
		}
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
