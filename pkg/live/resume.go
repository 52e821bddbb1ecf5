package live

import (
	"context"
	"slices"
)

// begin begins a part with the current objects, or with the differences from what its subscriber
// knows. The view is locked and, where it has a single input, that too.
func (v *view) begin(p *part) {
	switch {
	case v.gone != nil:
	// The inputs of a join are not all locked here.
	case len(p.knownWrites) > 0, p.resume != nil && len(v.inputs) > 1, len(v.beginWith(p, nil, "history")) > 0:
		p.stream.hub.work.begin(func() { v.recover(p) })
	}
}

// beginWith begins a part from the histories and from bases where there are some, or else returns
// the bases that are missing. The view is locked and, where its subscriber has a position, its
// inputs are too.
func (v *view) beginWith(p *part, bases map[past]*listing, told string) (missing []past) {
	switch {
	case p.resume == nil:
		p.start(start{snapshot: v.sorted(), from: nothing, at: v.now})
		return nil
	case v.foreign(p.resume):
		v.lose(p, "cluster")
		return nil
	}
	changes, missing := v.changesSince(p.resume, bases)
	if len(missing) == 0 {
		v.metrics.resumed.WithLabelValues(told).Inc()
		p.start(start{changes: changes, from: p.resume, at: v.now})
	}
	return missing
}

// foreign reports whether a position belongs to another cluster.
func (v *view) foreign(from position) bool {
	for _, s := range from {
		if s.stamp != nil && (s.stamp.epoch != v.now.epoch || len(s.stamp.versions) != len(v.inputs)) {
			return true
		}
	}
	return false
}

// lose begins a part with a gap. The view is locked.
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

// since returns the differences from a stamp, from the feeds' histories and from bases where there
// are some, or else the bases that are missing. The view and its inputs are locked.
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

// changesSince returns the differences from a position, like since.
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

// recover begins a part for which the histories may not suffice: it reads old states from the
// cluster, and waits for the known writes.
func (v *view) recover(p *part) {
	ctx := p.stream.ctx
	for failures := 0; ctx.Err() == nil; failures++ {
		err := v.tryRecover(ctx, p)
		switch {
		case err == nil:
			return
		case beyondRecovery(err):
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

// beginFrom calls beginWith with all locks, unless the part was removed meanwhile.
func (v *view) beginFrom(p *part, bases map[past]*listing, told string) (missing []past) {
	v.lock()
	defer v.unlock()
	if _, here := v.parts[p]; !here || v.gone != nil {
		return nil
	}
	return v.beginWith(p, bases, told)
}

func (v *view) tryRecover(ctx context.Context, p *part) error {
	if err := p.meet(ctx); err != nil {
		return err
	}
	bases, told := map[past]*listing{}, "history"
	for {
		missing := v.beginFrom(p, bases, told)
		if len(missing) == 0 {
			return nil
		}
		for _, of := range missing {
			feed := v.inputs[of.input].feed
			if feed.at() < of.version {
				// Another replica was ahead of this one.
				if err := feed.advance(ctx, func() bool { return feed.version >= of.version }); err != nil {
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
