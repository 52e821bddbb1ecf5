package listing

import (
	"context"
	"errors"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
)

// readAtOnce is how many objects are read at a time to select from.
const readAtOnce = 5000

// ErrTooMany is the error of a request with Most whose list has more objects.
var ErrTooMany = errors.New("the list has too many objects")

// Select selects objects of a list by what the index cannot select by, such as elements of lists in
// their specs.
type Select func(context.Context, *index.Object) (bool, error)

// readWhole is the query of all objects that a page is selected from: it is the same for every page
// and every selection.
func readWhole(q index.ListQuery) index.ListQuery {
	q.After, q.Limit, q.WithCount = nil, readAtOnce, false
	return q
}

// selectOne reads a page of a request with Select: all objects that the caller may see, of which the
// page is made of those that are selected.
func (l *Lister) selectOne(ctx context.Context, r Request, q index.ListQuery, result *Result) (*Result, error) {
	part, live := r.part(r.Instances[0]), false
	var all []*index.Object
	for rest := readWhole(q); ; {
		p, err := l.Reader.PageOf(ctx, part, rest)
		if err != nil {
			return nil, apierror.In(err, r.Instances[0])
		}
		all, live = append(all, p.Items...), live || p.Live
		if r.Most > 0 && (len(all) > r.Most || p.HasNext && len(all) == r.Most) {
			return nil, ErrTooMany
		}
		if !p.HasNext || len(p.Items) == 0 {
			break
		}
		last := index.PositionOf(p.Items[len(p.Items)-1])
		rest.After = &last
	}
	selected, err := r.selected(ctx, all)
	if err != nil {
		return nil, err
	}
	p := pick(q, part, selected)
	p.Live = live
	result.Selected = selected
	return l.fill(ctx, result, r, p), nil
}

// pick makes the page of a part, whose cluster may be a member and not one of the query's.
func pick(q index.ListQuery, part index.Part, selected []*index.Object) *index.Page {
	q.Clusters = []string{part.Cluster}
	return q.Pick(selected)
}

// selected are those of some objects that the request selects.
func (r Request) selected(ctx context.Context, all []*index.Object) ([]*index.Object, error) {
	var selected []*index.Object
	for _, o := range all {
		is, err := r.Select(ctx, o)
		if err != nil {
			return nil, err
		}
		if is {
			selected = append(selected, o)
		}
	}
	return selected, nil
}

// prefetchSelected is PrefetchParts for a request with Select, whose pages are those of its query q. A
// list that is too long to be read at once is left to ListOne.
func (l *Lister) prefetchSelected(ctx context.Context, r Request, q index.ListQuery, parts []index.Part, then func([]*index.Object)) {
	l.Reader.PrefetchPages(ctx, parts, readWhole(q), func(pages map[index.Part]*index.Page) {
		if then == nil {
			return
		}
		var all []*index.Object
		for part, p := range pages {
			if p.HasNext {
				continue
			}
			selected, err := r.selected(ctx, p.Items)
			if err != nil {
				return
			}
			all = append(all, pick(q, part, selected).Items...)
		}
		then(all)
	})
}
