package consistency

import (
	"context"
	"maps"

	"github.com/kairship-io/kairship/pkg/index"
)

// Reader is an index.Reader that reads what an operation has to see. It belongs
// below what confines reads to what the user may see, so that objects that come
// from an instance are judged like all others, and above the dataloaders, so that
// nothing is read before the wait is over.
//
// An operation without a token passes it by at no cost. One with a token waits in
// its first read of a cluster that the token is about, and only then. Lists of pods wait
// for nothing: pods are in members, which are not written to.
type Reader struct {
	reader index.Reader
	waiter *IndexWaiter
}

var _ index.Reader = (*Reader)(nil)

// NewReader makes a Reader.
func NewReader(reader index.Reader, waiter *IndexWaiter) *Reader {
	return &Reader{reader: reader, waiter: waiter}
}

// List implements index.Reader.
func (r *Reader) List(ctx context.Context, q index.ListQuery) (*index.Page, error) {
	if q.OfPods() {
		return r.reader.List(ctx, q)
	}
	clusters := clustersOf(&q)
	overlay, err := r.waiter.waitForIndex(ctx, clusters...)
	if err != nil {
		return nil, err
	}
	page, err := r.reader.List(ctx, q)
	if err != nil || len(overlay) == 0 {
		return page, err
	}
	return q.Overlay(page, overlay), nil
}

// PageOf implements index.Reader.
func (r *Reader) PageOf(ctx context.Context, part index.Part, q index.ListQuery) (*index.Page, error) {
	if q.OfPods() {
		return r.reader.PageOf(ctx, part, q)
	}
	overlay, err := r.waiter.waitForIndex(ctx, part.Cluster)
	if err != nil {
		return nil, err
	}
	page, err := r.reader.PageOf(ctx, part, q)
	if err != nil || len(overlay) == 0 {
		return page, err
	}
	return q.OverlayPart(part, page, overlay), nil
}

// Get implements index.Reader.
func (r *Reader) Get(ctx context.Context, key index.Key, detail index.Detail) (*index.Object, error) {
	overlay, err := r.waiter.waitForIndex(ctx, key.Cluster)
	if err != nil {
		return nil, err
	}
	if over, ok := find(overlay, key); ok {
		if over.Now == nil {
			return nil, key.NotFound()
		}
		return over.Now, nil
	}
	return r.reader.Get(ctx, key, detail)
}

// PodsOf implements index.Reader. Pods are in members, which are not written to.
func (r *Reader) PodsOf(ctx context.Context, owner index.PodOwner) ([]*index.Object, error) {
	return r.reader.PodsOf(ctx, owner)
}

// Prefetch implements index.Reader. What is read ahead is read after the wait too;
// an error of the wait is left to the callers that ask for the object.
func (r *Reader) Prefetch(ctx context.Context, keys []index.Key, detail index.Detail, then func(map[index.Key]*index.Object)) {
	clusters := make([]string, len(keys))
	for i, k := range keys {
		clusters[i] = k.Cluster
	}
	overlay, err := r.waiter.waitForIndex(ctx, clusters...)
	if err != nil {
		return
	}
	if then == nil || len(overlay) == 0 {
		r.reader.Prefetch(ctx, keys, detail, then)
		return
	}
	r.reader.Prefetch(ctx, keys, detail, func(found map[index.Key]*index.Object) {
		found = maps.Clone(found) // It is the loader's.
		for _, k := range keys {
			over, ok := find(overlay, k)
			switch {
			case ok && over.Now == nil:
				delete(found, k)
			case ok:
				found[k] = over.Now
			}
		}
		then(found)
	})
}

// PrefetchPages implements index.Reader.
func (r *Reader) PrefetchPages(ctx context.Context, parts []index.Part, q index.ListQuery, then func(map[index.Part]*index.Page)) {
	if q.OfPods() {
		r.reader.PrefetchPages(ctx, parts, q, then)
		return
	}
	clusters := make([]string, len(parts))
	for i, p := range parts {
		clusters[i] = p.Cluster
	}
	overlay, err := r.waiter.waitForIndex(ctx, clusters...)
	if err != nil {
		return
	}
	if then == nil || len(overlay) == 0 {
		r.reader.PrefetchPages(ctx, parts, q, then)
		return
	}
	r.reader.PrefetchPages(ctx, parts, q, func(found map[index.Part]*index.Page) {
		laid := make(map[index.Part]*index.Page, len(found))
		for part, page := range found {
			laid[part] = q.OverlayPart(part, page, overlay)
		}
		then(laid)
	})
}

// PrefetchPods implements index.Reader.
func (r *Reader) PrefetchPods(ctx context.Context, owners []index.PodOwner) {
	r.reader.PrefetchPods(ctx, owners)
}

func find(overlay []replacement, key index.Key) (replacement, bool) {
	for _, r := range overlay {
		if r.Key.Cluster == key.Cluster && r.Key.Type.Group == key.Type.Group && r.Key.Type.Resource == key.Type.Resource &&
			r.Key.Namespace == key.Namespace && r.Key.Name == key.Name {
			return r, true
		}
	}
	return replacement{}, false
}

func clustersOf(q *index.ListQuery) []string {
	clusters := append([]string(nil), q.Clusters...)
	for _, s := range q.Scopes {
		clusters = append(clusters, s.Cluster)
	}
	return clusters
}
