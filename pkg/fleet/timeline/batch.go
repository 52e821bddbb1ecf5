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

// operation is what one operation reads: histories that are asked for at the same time, with one statement for
// each range.
type operation struct {
	once   sync.Once
	loader *dataloader.Loader[asked, *history]
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
	o.once.Do(func() { o.loader = dataloader.NewBatchedLoader(s.fetch, dataloader.WithWait[asked, *history](wait)) })
	thunks := make([]dataloader.Thunk[*history], len(all))
	for i := range all {
		thunks[i] = o.loader.Load(ctx, asked{all[i], spanOf(r)})
	}
	return thunks[0]()
}

// fetch reads histories.
func (s *Service) fetch(ctx context.Context, keys []asked) []*dataloader.Result[*history] {
	results := make([]*dataloader.Result[*history], len(keys))
	ranges := map[span][]int{}
	for i := range keys {
		ranges[keys[i].span] = append(ranges[keys[i].span], i)
	}
	for of, places := range ranges {
		objects := make([]projection.HistoryQuery, len(places))
		for i, place := range places {
			objects[i] = keys[place].HistoryQuery
		}
		found, asOf, err := s.History.History(ctx, objects, of.part())
		for i, place := range places {
			results[place] = &dataloader.Result[*history]{Error: err}
			if err == nil {
				results[place].Data = &history{found.Pages[i], found.Since, asOf}
			}
		}
	}
	return results
}
