package loaders

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// Source is the index as the loaders need it. *index.Client is one.
type Source interface {
	List(ctx context.Context, q index.ListQuery) (*index.Page, error)
	ListParts(ctx context.Context, q index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error)
	GetMany(ctx context.Context, keys []index.Key, detail index.Detail) (map[index.Key]*index.Object, error)
	PodsOf(ctx context.Context, owners []index.PodOwner) (map[index.PodOwner][]*index.Object, error)
}

// scope is the loaders of one operation.
type scope struct {
	source Source
	// objects are by detail: less of an object is another object.
	objects [index.Metadata + 1]*loader[index.Key, *index.Object]
	pages   *loader[pageKey, *index.Page]
	pods    *loader[index.PodOwner, []*index.Object]

	mu      sync.Mutex
	queries map[string]index.ListQuery
	scopes  map[string]index.Scope
}

// pageKey is one part's page of a query. The query is its text, because a key must be comparable.
// So is the scope that the part is restricted to, empty for a whole cluster: it is separate from
// the query, so that parts with different scopes share a request, and part of the key, so that a
// page that was read for one scope is never returned for another.
type pageKey struct {
	part         index.Part
	query, scope string
}

// objectLoaders are the names of the loaders of objects, by detail.
var objectLoaders = [index.Metadata + 1]string{index.Whole: "objects", index.Known: "known", index.Metadata: "metadata"}

func newScope(source Source) *scope {
	s := &scope{source: source, queries: map[string]index.ListQuery{}, scopes: map[string]index.Scope{}}
	for detail := range index.Detail(len(s.objects)) {
		s.objects[detail] = newLoader(objectLoaders[detail], func(ctx context.Context, keys []index.Key) (map[index.Key]*index.Object, error) {
			return source.GetMany(ctx, keys, detail)
		}, index.Key.NotFound)
	}
	s.pages = newLoader("pages", s.fetchPages, func(k pageKey) error {
		return apierror.New(apierror.CodeIndexUnavailable, "The index gave no page of %s", k.part.Cluster)
	})
	s.pods = newLoader("pods", source.PodsOf, func(index.PodOwner) error { return nil })
	return s
}

// keysOf are the keys of some parts' pages.
func (s *scope) keysOf(parts []index.Part, q index.ListQuery) []pageKey {
	scopes := map[string]string{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scope := range q.Scopes {
		text := textOf(scope)
		s.scopes[text], scopes[scope.Cluster] = scope, text
	}
	q.Clusters, q.Scopes = nil, nil
	selector := ""
	if q.Selector != nil {
		selector = q.Selector.String()
	}
	plain := q
	plain.Selector = nil
	query := textOf([]any{plain, selector})
	s.queries[query] = q
	keys := make([]pageKey, len(parts))
	for i, part := range parts {
		keys[i] = pageKey{part: part, query: query, scope: scopes[part.Cluster]}
	}
	return keys
}

// textOf stands for a value where only text can.
func textOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		// Plain values and text: an unencodable one is a programming error.
		panic("loaders: encoding a query: " + err.Error())
	}
	return string(raw)
}

// pageBatch is the parts of one query that share a request: those of one cluster all have one
// scope.
type pageBatch struct {
	keys   []pageKey
	scopes map[string]string
}

// batches groups keys by query.
func batches(keys []pageKey) map[string][]*pageBatch {
	byQuery := map[string][]*pageBatch{}
	for _, k := range keys {
		i := slices.IndexFunc(byQuery[k.query], func(b *pageBatch) bool {
			scope, known := b.scopes[k.part.Cluster]
			return !known || scope == k.scope
		})
		if i < 0 {
			i = len(byQuery[k.query])
			byQuery[k.query] = append(byQuery[k.query], &pageBatch{scopes: map[string]string{}})
		}
		b := byQuery[k.query][i]
		b.keys = append(b.keys, k)
		b.scopes[k.part.Cluster] = k.scope
	}
	return byQuery
}

// fetchPages reads pages: one question for each query, whatever the parts.
func (s *scope) fetchPages(ctx context.Context, keys []pageKey) (map[pageKey]*index.Page, error) {
	byQuery := batches(keys)
	rows := make(map[pageKey]*index.Page, len(keys))
	for _, text := range slices.Sorted(maps.Keys(byQuery)) {
		for _, batch := range byQuery[text] {
			q := s.query(text, batch)
			parts := make([]index.Part, len(batch.keys))
			for i, k := range batch.keys {
				parts[i] = k.part
			}
			pages, err := s.source.ListParts(ctx, q, parts)
			if err != nil {
				return nil, err
			}
			for _, k := range batch.keys {
				if page, ok := pages[k.part]; ok {
					rows[k] = page
				}
			}
		}
	}
	return rows, nil
}

// query is the query of a batch, with the scopes of its parts.
func (s *scope) query(text string, batch *pageBatch) index.ListQuery {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queries[text]
	for _, cluster := range slices.Sorted(maps.Keys(batch.scopes)) {
		if scope := batch.scopes[cluster]; scope != "" {
			q.Scopes = append(q.Scopes, s.scopes[scope])
		}
	}
	return q
}

type scopeKey struct{}

// With gives the context the loaders of a new operation.
func With(ctx context.Context, source Source) context.Context {
	return context.WithValue(ctx, scopeKey{}, newScope(source))
}

// Reader reads through the loaders of the operation in the context. Outside an
// operation each read has loaders of its own.
type Reader struct {
	source Source
}

var _ index.Reader = Reader{}

// NewReader makes a Reader.
func NewReader(source Source) Reader { return Reader{source: source} }

func (r Reader) scope(ctx context.Context) *scope {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return s
	}
	return newScope(r.source)
}

// List implements index.Reader.
func (r Reader) List(ctx context.Context, q index.ListQuery) (*index.Page, error) {
	return r.source.List(ctx, q)
}

// PageOf implements index.Reader.
func (r Reader) PageOf(ctx context.Context, part index.Part, q index.ListQuery) (*index.Page, error) {
	s := r.scope(ctx)
	return s.pages.load(ctx, s.keysOf([]index.Part{part}, q)[0])
}

// Get implements index.Reader.
func (r Reader) Get(ctx context.Context, key index.Key, detail index.Detail) (*index.Object, error) {
	s := r.scope(ctx)
	for more := range detail {
		if thunk, ok := s.objects[more].pending.Get(ctx, key); ok {
			requeststats.From(ctx).Look(requeststats.Rows, 1, 0)
			return thunk()
		}
	}
	return s.objects[detail].load(ctx, key)
}

// PodsOf implements index.Reader.
func (r Reader) PodsOf(ctx context.Context, owner index.PodOwner) ([]*index.Object, error) {
	s, whole := r.scope(ctx), owner
	whole.Detail = index.Whole
	if thunk, ok := s.pods.pending.Get(ctx, whole); ok {
		requeststats.From(ctx).Look(requeststats.Rows, 1, 0)
		return thunk()
	}
	return s.pods.load(ctx, owner)
}

// Prefetch implements index.Reader.
func (r Reader) Prefetch(ctx context.Context, keys []index.Key, detail index.Detail, then func(map[index.Key]*index.Object)) {
	r.scope(ctx).objects[detail].prefetch(ctx, keys, then)
}

// PrefetchPages implements index.Reader.
func (r Reader) PrefetchPages(ctx context.Context, parts []index.Part, q index.ListQuery, then func(map[index.Part]*index.Page)) {
	s := r.scope(ctx)
	s.pages.prefetch(ctx, s.keysOf(parts, q), func(rows map[pageKey]*index.Page) {
		if then == nil {
			return
		}
		pages := make(map[index.Part]*index.Page, len(rows))
		for k, page := range rows {
			pages[k.part] = page
		}
		then(pages)
	})
}

// PrefetchPods implements index.Reader.
func (r Reader) PrefetchPods(ctx context.Context, owners []index.PodOwner) {
	r.scope(ctx).pods.prefetch(ctx, owners, nil)
}
