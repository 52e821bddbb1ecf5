package index

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"golang.org/x/sync/errgroup"
)

// GetMany reads these objects, of whatever kinds and clusters. An object that
// is not there is not in the result. The requests it costs do not depend on how
// many objects are asked for, until their names fill a request (thousands).
func (c *Client) GetMany(ctx context.Context, keys []Key, metadataOnly bool) (map[Key]*Object, error) {
	if len(keys) == 0 {
		return map[Key]*Object{}, nil
	}
	d, err := c.sql(ctx)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return c.getManyByNames(ctx, keys, metadataOnly)
	}
	groups := groupKeys(keys)
	results := make([][]*Object, 0, 1)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(maxParallel)
	for _, batch := range splitGroups(groups, maxParamBytes) {
		var where clause
		for _, group := range batch {
			d.exact(&where, group[0].Type, group[0].Cluster, group)
		}
		statement, args, err := where.encode()
		if err != nil {
			return nil, err
		}
		params := url.Values{"groups": {"*"}, "whereSQLStatement": {statement}, "whereSQLJSONParams": {args}}
		if metadataOnly {
			params.Set("onlyMetadata", "true")
		}
		i := len(results)
		results = append(results, nil)
		g.Go(func() error {
			objects, _, err := c.list(gctx, params)
			results[i] = objects
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return keyed(keys, slices.Concat(results...)), nil
}

// groupKeys puts keys of one type and one cluster together, each once.
func groupKeys(keys []Key) [][]Key {
	sorted := slices.Clone(keys)
	slices.SortFunc(sorted, func(a, b Key) int {
		return cmp.Or(
			cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Type.Group, b.Type.Group),
			cmp.Compare(a.Type.Resource, b.Type.Resource), cmp.Compare(a.Type.Version, b.Type.Version),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	sorted = slices.Compact(sorted)
	var groups [][]Key
	for _, k := range sorted {
		last := len(groups) - 1
		if last >= 0 && groups[last][0].Cluster == k.Cluster && groups[last][0].Type == k.Type {
			groups[last] = append(groups[last], k)
			continue
		}
		groups = append(groups, []Key{k})
	}
	return groups
}

// maxGroups bounds the conditions of one statement: SQLite refuses one that nests
// deeper than a thousand, and each OR nests what is before it.
const maxGroups = 500

// splitGroups makes batches whose parameters stay under a number of bytes, as
// sent: base64 in a URL makes four bytes of three.
func splitGroups(groups [][]Key, most int) [][][]Key {
	var batches [][][]Key
	var batch [][]Key
	size := 0
	for _, group := range groups {
		if len(batch) == maxGroups {
			batches = append(batches, batch)
			batch, size = nil, 0
		}
		start := 0
		size += len(sqlExactType) + len(group[0].Type.Group) + len(group[0].Type.Resource) + len(group[0].Cluster) + 64
		for i, k := range group {
			// The pair's text and, in base64, its two quoted values.
			size += len(sqlPair) + 2 + (len(k.Namespace)+len(k.Name)+6)*4/3
			if size > most && i > start {
				batch = append(batch, group[start:i])
				batches = append(batches, batch)
				batch, start, size = nil, i, 256
			}
		}
		batch = append(batch, group[start:])
	}
	return append(batches, batch)
}

// keyed puts objects under the keys that asked for them.
func keyed(keys []Key, objects []*Object) map[Key]*Object {
	type id struct{ cluster, apiVersion, kind, namespace, name string }
	byID := make(map[id]*Object, len(objects))
	for _, o := range objects {
		byID[id{o.Cluster, o.APIVersion, o.Kind, o.Meta.Namespace, o.Meta.Name}] = o
	}
	found := make(map[Key]*Object, len(objects))
	for _, k := range keys {
		apiVersion := k.Type.GroupVersionResource().GroupVersion().String()
		if o, ok := byID[id{k.Cluster, apiVersion, k.Type.Kind, k.Namespace, k.Name}]; ok {
			found[k] = o
		}
	}
	return found
}
