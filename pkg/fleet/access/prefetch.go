package access

import (
	"context"
	"maps"
	"slices"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/index"
)

// Reading ahead. What may not be seen is left out, and nobody is told: whoever
// asks for it later gets the answer that is due, also when nothing could be
// decided now.

// Prefetch implements index.Reader.
func (r *Reader) Prefetch(ctx context.Context, keys []index.Key, detail index.Detail, then func(map[index.Key]*index.Object)) {
	clusters := make([]string, len(keys))
	for i, k := range keys {
		clusters[i] = k.Cluster
	}
	grants, err := r.grants(ctx, clusters...)
	if err != nil {
		return
	}
	visible := slices.DeleteFunc(slices.Clone(keys), func(k index.Key) bool {
		switch viewOf(grants[k.Cluster], k) {
		case whole:
			return false
		case metadata, ofBinding:
			// Get reads the metadata of these, which is another list of loaders.
			return detail != index.Metadata
		case hidden:
		}
		return true
	})
	if len(visible) == 0 {
		return
	}
	if then == nil {
		r.reader.Prefetch(ctx, visible, detail, nil)
		return
	}
	r.reader.Prefetch(ctx, visible, detail, func(found map[index.Key]*index.Object) {
		found = maps.Clone(found)
		maps.DeleteFunc(found, func(k index.Key, o *index.Object) bool {
			return o.Cluster != k.Cluster || !shows(grants[k.Cluster], o)
		})
		then(found)
	})
}

// PrefetchPages implements index.Reader. What it asks for each part is what PageOf
// asks for it, so that PageOf finds it.
func (r *Reader) PrefetchPages(ctx context.Context, parts []index.Part, q index.ListQuery, then func(map[index.Part]*index.Page)) {
	clusters := make([]string, len(parts))
	for i, p := range parts {
		clusters[i] = p.Cluster
	}
	grants, err := r.grants(ctx, clusters...)
	if err != nil {
		return
	}
	slices.Sort(clusters)
	// Where bodies may not be read, the question is another one.
	asked := map[index.Detail]*pages{}
	for _, cluster := range slices.Compact(clusters) {
		q.Clusters, q.Scopes = []string{cluster}, nil
		narrowed, ok := narrow(grants, q)
		if !ok {
			continue
		}
		p := asked[narrowed.Detail]
		if p == nil {
			p = &pages{query: narrowed}
			p.query.Clusters, p.query.Scopes = nil, nil
			asked[narrowed.Detail] = p
		}
		p.query.Clusters = append(p.query.Clusters, narrowed.Clusters...)
		p.query.Scopes = append(p.query.Scopes, narrowed.Scopes...)
		for _, part := range parts {
			if part.Cluster == cluster {
				p.parts = append(p.parts, part)
			}
		}
	}
	for _, p := range asked {
		r.prefetchPages(ctx, grants, p, then)
	}
}

// pages are parts that are asked for with one query.
type pages struct {
	query index.ListQuery
	parts []index.Part
}

func (r *Reader) prefetchPages(ctx context.Context, grants map[string]authz.Grant, p *pages, then func(map[index.Part]*index.Page)) {
	if then == nil {
		r.reader.PrefetchPages(ctx, p.parts, p.query, nil)
		return
	}
	r.reader.PrefetchPages(ctx, p.parts, p.query, func(found map[index.Part]*index.Page) {
		found = maps.Clone(found)
		maps.DeleteFunc(found, func(part index.Part, page *index.Page) bool {
			_, err := checked(map[string]authz.Grant{part.Cluster: grants[part.Cluster]}, page)
			return err != nil // PageOf tells.
		})
		then(found)
	})
}

// PrefetchPods implements index.Reader.
func (r *Reader) PrefetchPods(ctx context.Context, owners []index.PodOwner) {
	clusters := make([]string, len(owners))
	for i, o := range owners {
		clusters[i] = o.Cluster
	}
	grants, err := r.grants(ctx, clusters...)
	if err != nil {
		return
	}
	visible := slices.DeleteFunc(slices.Clone(owners), func(o index.PodOwner) bool { return !grants[o.Cluster].CanRead(o.Namespace) })
	if len(visible) > 0 {
		r.reader.PrefetchPods(ctx, visible)
	}
}
