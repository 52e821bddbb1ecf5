package loaders

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/graph-gophers/dataloader/v7"

	"github.com/kairship-io/kairship/pkg/requeststats"
)

// wait is how long a loader collects keys that were not prefetched.
const wait = time.Millisecond

// fetch reads the rows of some keys. A key without a row is not in the result.
type fetch[K comparable, V any] func(context.Context, []K) (map[K]V, error)

// loader is a dataloader whose cache can be filled ahead.
type loader[K comparable, V any] struct {
	*dataloader.Loader[K, V]
	pending *pending[K, V]
	fetch   fetch[K, V]
	// missing makes the error of a key without a row.
	missing func(K) error
}

func newLoader[K comparable, V any](name string, f fetch[K, V], missing func(K) error) *loader[K, V] {
	l := &loader[K, V]{fetch: observed(name, f), missing: missing, pending: &pending[K, V]{thunks: map[K]dataloader.Thunk[V]{}}}
	l.Loader = dataloader.NewBatchedLoader(l.batch, dataloader.WithWait[K, V](wait), dataloader.WithCache[K, V](l.pending))
	return l
}

// batch re-keys the rows to the order in which they were asked for.
func (l *loader[K, V]) batch(ctx context.Context, keys []K) []*dataloader.Result[V] {
	rows, err := l.fetch(ctx, keys)
	results := make([]*dataloader.Result[V], len(keys))
	for i, k := range keys {
		v, err := l.resultOf(k, rows, err)
		results[i] = &dataloader.Result[V]{Data: v, Error: err}
	}
	return results
}

func (l *loader[K, V]) resultOf(k K, rows map[K]V, err error) (V, error) {
	var zero V
	if err != nil {
		return zero, err
	}
	v, ok := rows[k]
	if !ok {
		return zero, l.missing(k)
	}
	return v, nil
}

// prefetch starts reading the keys that were not requested yet, in one batch, and returns at once.
// When the rows have been read it calls then, and only afterwards wakes the callers that wait for
// them.
func (l *loader[K, V]) prefetch(ctx context.Context, keys []K, then func(map[K]V)) {
	var (
		rows map[K]V
		err  error
		done = make(chan struct{})
	)
	claimed := l.pending.claim(keys, func(k K) dataloader.Thunk[V] {
		return func() (V, error) {
			<-done
			return l.resultOf(k, rows, err)
		}
	})
	if len(claimed) == 0 {
		return
	}
	requeststats.From(ctx).Look(requeststats.Rows, 0, len(claimed))
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic while reading ahead: %v", p)
			}
		}()
		rows, err = l.fetch(ctx, claimed)
		if err == nil && then != nil {
			then(rows)
		}
	}()
}

// load waits for one row.
func (l *loader[K, V]) load(ctx context.Context, key K) (V, error) {
	thunk, ok := l.pending.Get(ctx, key)
	if ok {
		requeststats.From(ctx).Look(requeststats.Rows, 1, 0)
		return thunk()
	}
	requeststats.From(ctx).Look(requeststats.Rows, 0, 1)
	return l.Load(ctx, key)()
}

// pending is the cache of a loader: what has been asked for, there or on its way.
type pending[K comparable, V any] struct {
	mu     sync.Mutex
	thunks map[K]dataloader.Thunk[V]
}

// claim takes the keys that no other caller has, and puts promises in their places.
func (p *pending[K, V]) claim(keys []K, promise func(K) dataloader.Thunk[V]) []K {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.thunks) == 0 {
		p.thunks = make(map[K]dataloader.Thunk[V], len(keys))
	}
	claimed := make([]K, 0, len(keys))
	for _, k := range keys {
		if _, taken := p.thunks[k]; taken {
			continue
		}
		p.thunks[k] = promise(k)
		claimed = append(claimed, k)
	}
	return claimed
}

// Get implements dataloader.Cache.
func (p *pending[K, V]) Get(_ context.Context, key K) (dataloader.Thunk[V], bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.thunks[key]
	return t, ok
}

// Set implements dataloader.Cache.
func (p *pending[K, V]) Set(_ context.Context, key K, thunk dataloader.Thunk[V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thunks[key] = thunk
}

// Delete implements dataloader.Cache.
func (p *pending[K, V]) Delete(_ context.Context, key K) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.thunks[key]
	delete(p.thunks, key)
	return ok
}

// Clear implements dataloader.Cache.
func (p *pending[K, V]) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.thunks)
}
