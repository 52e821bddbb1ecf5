package timeline

import (
	"context"
	"encoding/json"
	"time"

	"github.com/graph-gophers/dataloader/v7"

	"github.com/kairship-io/kairship/pkg/projection"
)

// wait is how long the histories are collected that one statement reads.
const wait = time.Millisecond

// historyPage is a page of a history, and since when there is one.
type historyPage struct {
	projection.HistoryPage

	since time.Time
}

// asked is one history that is asked for. The range is its text, because a key must be comparable.
type asked struct {
	projection.HistoryQuery

	r string
}

// operation is what one operation reads: histories that are asked for at the same time, with one statement for
// each range.
type operation struct {
	*dataloader.Loader[asked, *historyPage]
}

type operationKey struct{}

// With returns a context for a new operation, which reads from a source.
func With(ctx context.Context, source History) context.Context {
	return context.WithValue(ctx, operationKey{}, newOperation(source))
}

// from is the operation of a context.
func from(ctx context.Context) *operation {
	o, ok := ctx.Value(operationKey{}).(*operation)
	if !ok {
		panic("timeline: the context is of no operation; With makes it one") // A bug of the caller.
	}
	return o
}

func newOperation(source History) *operation {
	batch := func(ctx context.Context, keys []asked) []*dataloader.Result[*historyPage] {
		results := make([]*dataloader.Result[*historyPage], len(keys))
		ranges := map[string][]int{}
		for i := range keys {
			ranges[keys[i].r] = append(ranges[keys[i].r], i)
		}
		for text, places := range ranges {
			var r projection.HistoryRange
			err := json.Unmarshal([]byte(text), &r)
			objects := make([]projection.HistoryQuery, len(places))
			for i, place := range places {
				objects[i] = keys[place].HistoryQuery
			}
			var pages []projection.HistoryPage
			var since time.Time
			if err == nil {
				pages, since, err = source.History(ctx, objects, &r)
			}
			for i, place := range places {
				results[place] = &dataloader.Result[*historyPage]{Error: err}
				if err == nil {
					results[place].Data = &historyPage{pages[i], since}
				}
			}
		}
		return results
	}
	return &operation{dataloader.NewBatchedLoader(batch, dataloader.WithWait[asked, *historyPage](wait))}
}

func (o *operation) load(ctx context.Context, q projection.HistoryQuery, r *projection.HistoryRange) (*historyPage, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return o.Load(ctx, asked{q, string(text)})()
}
