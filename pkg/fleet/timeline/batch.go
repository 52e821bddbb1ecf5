package timeline

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/graph-gophers/dataloader/v7"

	"github.com/kairship-io/kairship/pkg/projection"
)

// wait is how long the histories are collected that one statement reads.
const wait = time.Millisecond

// history is a page of the history of one object.
type history struct {
	projection.HistoryPage

	// since is when the history begins, asOf up to when it is complete.
	since, asOf time.Time
}

// histories are those of some objects, in one range.
type histories map[projection.HistoryQuery]*history

// asked is one history that is asked for.
type asked struct {
	projection.HistoryQuery
	span
}

// span is a range as part of a key, which must be comparable: its changes are one text.
type span struct {
	changes  string
	from, to float64
	before   int64
	limit    int
	counted  bool
}

func spanOf(r *projection.HistoryRange) span {
	changes := make([]string, len(r.Changes))
	for i, c := range r.Changes {
		changes[i] = string(c)
	}
	return span{strings.Join(changes, " "), r.From, r.To, r.Before, r.Limit, r.WithCount}
}

// part is the range of a key.
func (s *span) part() *projection.HistoryRange {
	r := &projection.HistoryRange{From: s.from, To: s.to, Before: s.before, Limit: s.limit, WithCount: s.counted}
	for c := range strings.FieldsSeq(s.changes) {
		r.Changes = append(r.Changes, projection.HistoryChange(c))
	}
	return r
}

// together are histories that are asked for at once, those of the items of a list for one. They are read by the same
// statement, however long it takes to ask for each of them.
type together struct {
	objects []projection.HistoryQuery
	span
}

// operation is what one operation reads: histories that are asked for at the same time, with one statement for
// each range.
type operation struct {
	loader *dataloader.Loader[*together, histories]

	mu   sync.Mutex
	with map[asked]*together
}

type operationKey struct{}

// With returns a context for a new operation.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, operationKey{}, &operation{})
}

// load returns the first of some histories, and reads the others with it. In a context of no operation, they are read for
// this call alone.
func (s *Service) load(ctx context.Context, all []projection.HistoryQuery, r *projection.HistoryRange) (*history, error) {
	o, ok := ctx.Value(operationKey{}).(*operation)
	if !ok {
		o = &operation{}
	}
	found, err := o.ask(ctx, s.fetch, all, spanOf(r))()
	return found[all[0]], err
}

// ask asks for the first of some histories, unless it is asked for already, and for the others with it.
func (o *operation) ask(ctx context.Context, fetch dataloader.BatchFunc[*together, histories], all []projection.HistoryQuery, of span) dataloader.Thunk[histories] {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.loader == nil {
		o.loader = dataloader.NewBatchedLoader(fetch, dataloader.WithWait[*together, histories](wait))
		o.with = map[asked]*together{}
	}
	t, ok := o.with[asked{all[0], of}]
	if !ok {
		t = &together{span: of}
		for _, one := range all {
			if _, ok := o.with[asked{one, of}]; !ok {
				o.with[asked{one, of}] = t
				t.objects = append(t.objects, one)
			}
		}
	}
	return o.loader.Load(ctx, t)
}

// fetch reads histories.
func (s *Service) fetch(ctx context.Context, all []*together) []*dataloader.Result[histories] {
	objects := map[span][]projection.HistoryQuery{}
	for _, t := range all {
		objects[t.span] = append(objects[t.span], t.objects...)
	}
	read := make(map[span]*dataloader.Result[histories], len(objects))
	for of, objects := range objects {
		read[of] = s.readAll(ctx, objects, of)
	}
	results := make([]*dataloader.Result[histories], len(all))
	for i, t := range all {
		results[i] = read[t.span]
	}
	return results
}

// readAll reads histories of one range, with one statement.
func (s *Service) readAll(ctx context.Context, objects []projection.HistoryQuery, of span) *dataloader.Result[histories] {
	found, asOf, err := s.History.History(ctx, objects, of.part())
	if err != nil {
		return &dataloader.Result[histories]{Error: err}
	}
	pages := make(histories, len(objects))
	for i, one := range objects {
		pages[one] = &history{found.Pages[i], found.Since, asOf}
	}
	return &dataloader.Result[histories]{Data: pages}
}
