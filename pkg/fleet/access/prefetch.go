package access

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/index"
)

// Reading ahead. What may not be seen is left out, without a message: a caller that
// asks for it later gets the answer that is due, also when nothing could be
// decided now.

// Prefetch implements index.Reader.
func (r *Reader) Prefetch(ctx context.Context, keys []index.Key, detail index.Detail, then func(map[index.Key]*index.Object)) {
	clusters := make([]string, len(keys))
	for i, k := range keys {
		clusters[i] = k.Cluster
	}
	grants, _, err := r.grants(ctx, clusters...)
	if err != nil {
		return
	}
	visible := slices.DeleteFunc(slices.Clone(keys), func(k index.Key) bool { return viewOf(grants[k.Cluster], k) == hidden })
	if len(visible) == 0 {
		return
	}
	if then == nil {
		r.reader.Prefetch(ctx, visible, detail, nil)
		return
	}
	r.reader.Prefetch(ctx, visible, detail, func(found map[index.Key]*index.Object) {
		admitted := make(map[index.Key]*index.Object, len(found))
		for k, o := range found {
			if one, err := admit(grants[k.Cluster], []index.Type{k.Type}, o); err == nil && one != nil && o.Cluster == k.Cluster {
				admitted[k] = one
			}
		}
		then(admitted)
	})
}

// PrefetchPages implements index.Reader. What it asks for each part is what PageOf
// asks for it, so that PageOf finds it.
func (r *Reader) PrefetchPages(ctx context.Context, parts []index.Part, q index.ListQuery, then func(map[index.Part]*index.Page)) {
	q.Clusters, q.Scopes = nil, nil
	for _, p := range parts {
		q.Clusters = append(q.Clusters, p.Cluster)
	}
	slices.Sort(q.Clusters)
	q.Clusters = slices.Compact(q.Clusters)
	grants, all, err := r.grants(ctx, q.Clusters...)
	if err != nil {
		return
	}
	narrowed, ok := r.narrow(ctx, grants, all, q)
	if !ok {
		return
	}
	visible := slices.DeleteFunc(slices.Clone(parts), func(p index.Part) bool {
		return !slices.Contains(narrowed.Clusters, p.Cluster) &&
			!slices.ContainsFunc(narrowed.Scopes, func(s index.Scope) bool { return s.Cluster == p.Cluster })
	})
	if then == nil {
		r.reader.PrefetchPages(ctx, visible, narrowed, nil)
		return
	}
	r.reader.PrefetchPages(ctx, visible, narrowed, func(found map[index.Part]*index.Page) {
		admitted := make(map[index.Part]*index.Page, len(found))
		for part, page := range found {
			own := map[string]authz.Grant{part.Cluster: grants[part.Cluster]}
			if one, err := r.admitPage(ctx, own, &narrowed, page); err == nil {
				admitted[part] = one
			}
		}
		then(admitted)
	})
}

// PrefetchPods implements index.Reader.
func (r *Reader) PrefetchPods(ctx context.Context, owners []index.PodOwner) {
	clusters := make([]string, len(owners))
	for i, o := range owners {
		clusters[i] = o.Cluster
	}
	grants, _, err := r.grants(ctx, clusters...)
	if err != nil {
		return
	}
	visible := slices.DeleteFunc(slices.Clone(owners), func(o index.PodOwner) bool { return !grants[o.Cluster].CanRead(o.Namespace) })
	if len(visible) > 0 {
		r.reader.PrefetchPods(ctx, visible)
	}
}
