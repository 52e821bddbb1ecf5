package index

import (
	"context"
	"errors"
	"maps"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
)

// Counting many parts at once.
//
// The index tells one number with a list: how many rows the whole list has. A
// list of fifty instances' workloads would need fifty lists to count each. But
// which rows come back is an answer too, and a query decides that freely. So
// the size of each part is asked for bit by bit: of the first rows of a part,
// those come back whose rank stands for a bit that is set in the part's size.
//
// Three lists are read beside each other: the first rows of every part, those
// whose bit is set, and those whose bit is not set. The first tells the ranks.
// The other two must make it up exactly; when something changed between the
// three they do not, and the parts concerned are counted one by one.

// sizeBits is how many bits a size has, and how many rows of a part are read
// to tell it. A part of 2^32 objects is beyond any index.
const sizeBits = 32

// countDirectly is up to how many parts are counted one by one: not more
// requests than counting them together costs.
const countDirectly = 3

// countParts counts what is in some parts.
func (c *Client) countParts(ctx context.Context, d *dialect, q ListQuery, parts []Part) (map[Part]int64, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	q.Detail, q.After = Metadata, nil
	if !partFieldInMetadata(q.PartField) {
		q.Detail = Known
	}
	if len(parts) <= countDirectly {
		return c.countEach(ctx, d, q, parts)
	}
	clusters, values := partLists(parts)
	q = q.in(clusters...)
	var ranks, set, unset map[Part][]*Object
	g, gctx := errgroup.WithContext(ctx)
	for _, ask := range []struct {
		into *map[Part][]*Object
		add  func(*clause)
	}{
		{&ranks, func(w *clause) { d.parts(w, &q, values, sizeBits) }},
		{&set, func(w *clause) { d.sizes(w, &q, values, true) }},
		{&unset, func(w *clause) { d.sizes(w, &q, values, false) }},
	} {
		g.Go(func() error {
			var where clause
			ask.add(&where)
			params, err := d.params(&q, &where)
			if err != nil {
				return err
			}
			objects, _, err := c.listFor(gctx, &q, params)
			*ask.into = groupParts(objects, q.PartField)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	counts := make(map[Part]int64, len(parts))
	var moved []Part
	for _, part := range parts {
		size, err := sizeOf(ranks[part], set[part], unset[part])
		if err != nil {
			moved = append(moved, part)
			continue
		}
		counts[part] = size
	}
	if len(moved) > 0 {
		again, err := c.countEach(ctx, d, q, moved)
		if err != nil {
			return nil, err
		}
		maps.Copy(counts, again)
	}
	return counts, nil
}

var errMoved = errors.New("the part changed while it was counted")

// sizeOf reads the size of a part from its first rows, in order, and from those
// of them that stand for bits which are set and not set.
func sizeOf(ranks, set, unset []*Object) (int64, error) {
	// A part is counted because it had rows.
	if len(ranks) == 0 || len(ranks) > sizeBits || len(set)+len(unset) != len(ranks) {
		return 0, errMoved
	}
	bits := make(map[types.UID]bool, len(ranks))
	for _, o := range unset {
		bits[o.Meta.UID] = false
	}
	for _, o := range set {
		if _, both := bits[o.Meta.UID]; both {
			return 0, errMoved
		}
		bits[o.Meta.UID] = true
	}
	var size int64
	for i, o := range ranks {
		isSet, known := bits[o.Meta.UID]
		if !known {
			return 0, errMoved
		}
		if isSet {
			size |= 1 << i
		}
	}
	// A part that is smaller than the bits shows all its rows; a larger one fills them.
	if small := len(ranks) < sizeBits; (small && size != int64(len(ranks))) || (!small && size < sizeBits) {
		return 0, errMoved
	}
	return size, nil
}

// countEach counts parts one by one.
func (c *Client) countEach(ctx context.Context, d *dialect, q ListQuery, parts []Part) (map[Part]int64, error) {
	sizes := make([]*int64, len(parts))
	err := sideBySide(ctx, len(parts), func(ctx context.Context, i int) (err error) {
		one := q.of(parts[i])
		sizes[i], err = c.count(ctx, d, &one)
		return err
	})
	if err != nil {
		return nil, err
	}
	counts := make(map[Part]int64, len(parts))
	for i, part := range parts {
		counts[part] = *sizes[i]
	}
	return counts, nil
}
