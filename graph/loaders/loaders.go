package loaders

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
)

// Source is the index as the loaders need it. *index.Client is one.
type Source interface {
	List(ctx context.Context, q index.ListQuery) (*index.Page, error)
	ListParts(ctx context.Context, q index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error)
	GetMany(ctx context.Context, keys []index.Key, metadataOnly bool) (map[index.Key]*index.Object, error)
	Owned(ctx context.Context, q index.OwnedQuery) (map[index.Owner][]*index.Object, error)
}

// scope is the loaders of one operation.
type scope struct {
	source   Source
	objects  *loader[index.Key, *index.Object]
	metadata *loader[index.Key, *index.Object]
	pages    *loader[pageKey, *index.Page]
	pods     *loader[index.PodOwner, []*index.Object]

	mu      sync.Mutex
	queries map[string]index.ListQuery
}

// pageKey is one part's page of a query. The query is its text, because a key
// must be comparable.
type pageKey struct {
	part  index.Part
	query string
}

func newScope(source Source) *scope {
	s := &scope{source: source, queries: map[string]index.ListQuery{}}
	notFound := func(k index.Key) error {
		name := k.Name
		if k.Namespace != "" {
			name = k.Namespace + "/" + k.Name
		}
		return apierror.NotFound(k.Type.Kind, name)
	}
	s.objects = newLoader(func(ctx context.Context, keys []index.Key) (map[index.Key]*index.Object, error) {
		return source.GetMany(ctx, keys, false)
	}, notFound)
	s.metadata = newLoader(func(ctx context.Context, keys []index.Key) (map[index.Key]*index.Object, error) {
		return source.GetMany(ctx, keys, true)
	}, notFound)
	s.pages = newLoader(s.fetchPages, func(k pageKey) error {
		return apierror.New(apierror.CodeIndexUnavailable, "The index gave no page of %s", k.part.Cluster)
	})
	s.pods = newLoader(s.fetchPods, func(index.PodOwner) error { return nil })
	return s
}

// keysOf are the keys of some parts' pages.
func (s *scope) keysOf(parts []index.Part, q index.ListQuery) []pageKey {
	q.Clusters = nil
	selector := ""
	if q.Selector != nil {
		selector = q.Selector.String()
	}
	plain := q
	plain.Selector = nil
	raw, err := json.Marshal([]any{plain, selector})
	if err != nil {
		// Plain values and text: an unencodable one is a programming error.
		panic("loaders: encoding a query: " + err.Error())
	}
	s.mu.Lock()
	s.queries[string(raw)] = q
	s.mu.Unlock()
	keys := make([]pageKey, len(parts))
	for i, part := range parts {
		keys[i] = pageKey{part: part, query: string(raw)}
	}
	return keys
}

// fetchPages reads pages: one question for each query, whatever the parts.
func (s *scope) fetchPages(ctx context.Context, keys []pageKey) (map[pageKey]*index.Page, error) {
	byQuery := map[string][]index.Part{}
	for _, k := range keys {
		byQuery[k.query] = append(byQuery[k.query], k.part)
	}
	rows := make(map[pageKey]*index.Page, len(keys))
	for _, text := range slices.Sorted(maps.Keys(byQuery)) {
		s.mu.Lock()
		q := s.queries[text]
		s.mu.Unlock()
		pages, err := s.source.ListParts(ctx, q, byQuery[text])
		if err != nil {
			return nil, err
		}
		for part, page := range pages {
			rows[pageKey{part, text}] = page
		}
	}
	return rows, nil
}

func (s *scope) fetchPods(ctx context.Context, owners []index.PodOwner) (map[index.PodOwner][]*index.Object, error) {
	q := index.OwnedQuery{Type: index.Pods, Via: []index.Type{index.ReplicaSets, index.Jobs}}
	for _, o := range owners {
		q.Owners = append(q.Owners, o.Owner)
		q.Namespaces = append(q.Namespaces, o.Namespace)
	}
	slices.Sort(q.Namespaces)
	q.Namespaces = slices.Compact(q.Namespaces)
	owned, err := s.source.Owned(ctx, q)
	if err != nil {
		return nil, err
	}
	rows := make(map[index.PodOwner][]*index.Object, len(owners))
	for _, o := range owners {
		rows[o] = owned[o.Owner]
	}
	return rows, nil
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
func (r Reader) Get(ctx context.Context, key index.Key) (*index.Object, error) {
	return r.scope(ctx).objects.load(ctx, key)
}

// GetMetadata implements index.Reader.
func (r Reader) GetMetadata(ctx context.Context, key index.Key) (*index.Object, error) {
	return r.scope(ctx).metadata.load(ctx, key)
}

// PodsOf implements index.Reader.
func (r Reader) PodsOf(ctx context.Context, owner index.PodOwner) ([]*index.Object, error) {
	return r.scope(ctx).pods.load(ctx, owner)
}

// Prefetch implements index.Reader.
func (r Reader) Prefetch(ctx context.Context, keys []index.Key, metadataOnly bool, then func(map[index.Key]*index.Object)) {
	s := r.scope(ctx)
	l := s.objects
	if metadataOnly {
		l = s.metadata
	}
	l.prefetch(ctx, keys, then)
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
