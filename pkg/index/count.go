package index

import (
	"context"
	"errors"
	"maps"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
)

// Counting many parts in one request.
//
// The index returns one number with a list: how many rows the whole list has. Counting each part of
// a list of fifty instances' workloads would need fifty lists. But a query can also choose freely
// which rows it returns, and so encode a number: the size of each part is requested bit by bit. Of
// the first rows of a part, the query returns those whose rank stands for a bit that is set in the
// part's size.
//
// Three lists are read concurrently: the first rows of every part, those whose bit is set, and
// those whose bit is not set. The first has the ranks. The other two must add up to it exactly; if
// the index changed between the three they do not, and the parts concerned are counted one by one.
// three they do not, and the parts concerned are counted one by one.

// sizeBits is how many bits a size has, and how many rows of a part are read to determine it. A
// part of 2^32 objects is beyond any index.
const sizeBits = 32

// countDirectly is the number of parts up to which each is counted separately: that takes no more
// requests than counting them in one.
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
