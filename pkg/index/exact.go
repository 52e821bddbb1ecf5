package index

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"slices"
)

// GetMany reads these objects, of whatever kinds and clusters. An object that
// is not there is not in the result. The requests it costs do not depend on how
// many objects are asked for, until their names fill a request (thousands).
func (c *Client) GetMany(ctx context.Context, keys []Key, detail Detail) (map[Key]*Object, error) {
	if len(keys) == 0 {
		return map[Key]*Object{}, nil
	}
	return ask(ctx, c, func(d *dialect) (map[Key]*Object, error) {
		if len(keys) == 1 {
			if o, foundOut, err := c.getOne(ctx, keys[0], detail); foundOut || err != nil {
				return keyed(keys, slices.DeleteFunc([]*Object{o}, func(o *Object) bool { return o == nil })), err
			}
		}
		return c.getExact(ctx, d, keys, detail)
	})
}

func (c *Client) getExact(ctx context.Context, d *dialect, keys []Key, detail Detail) (map[Key]*Object, error) {
	requests, err := d.exactRequests(keys)
	if err != nil {
		return nil, err
	}
	results := make([][]*Object, len(requests))
	err = sideBySide(ctx, len(requests), func(ctx context.Context, i int) (err error) {
		r := requests[i]
		if detail == Metadata {
			r.params.Set("onlyMetadata", "true")
		}
		if r.of == nil {
			results[i], _, err = c.list(ctx, r.params)
		} else {
			results[i], _, err = c.listOne(ctx, *r.of, detail, r.params)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	objects := slices.Concat(results...)
	if !named(keys, objects) {
		return nil, passedOver()
	}
	return keyed(keys, objects), nil
}

// named reports whether keys have the name and the cluster of each of some objects.
func named(keys []Key, objects []*Object) bool {
	clusters, pairs := map[string]struct{}{}, map[pair]struct{}{}
	for _, k := range keys {
		clusters[k.Cluster], pairs[pair{k.Namespace, k.Name}] = struct{}{}, struct{}{}
	}
	return !slices.ContainsFunc(objects, func(o *Object) bool {
		_, cluster := clusters[o.Cluster]
		_, pair := pairs[pair{o.Meta.Namespace, o.Meta.Name}]
		return !cluster || !pair
	})
}

// exactRequest asks for exact objects; of is their type when all have the same.
type exactRequest struct {
	params url.Values
	of     *Type
}

// exactRequests asks for some objects, in as many requests as their names need.
func (d *dialect) exactRequests(keys []Key) ([]exactRequest, error) {
	var requests []exactRequest
	add := func(of *Type, where *clause) error {
		statement, args, err := where.encode()
		if err != nil {
			return err
		}
		params := url.Values{"groups": {"*"}, "whereSQLStatement": {statement}, "whereSQLJSONParams": {args}}
		requests = append(requests, exactRequest{params: params, of: of})
		return nil
	}
	groups := groupKeys(keys)
	if of := groups[0][0].Type; !slices.ContainsFunc(groups, func(g []Key) bool { return g[0].Type != of }) {
		// Half of a request is for the clusters, half for the names.
		clusters, pairs := pairsOf(keys)
		for in := range split(clusters, textBytes, maxParamBytes/2) {
			for batch := range split(pairs, pairBytes, maxParamBytes/2) {
				var where clause
				d.exactIn(&where, of, in, batch)
				if err := add(&of, &where); err != nil {
					return nil, err
				}
			}
		}
		return requests, nil
	}
	for _, batch := range splitGroups(groups, maxParamBytes) {
		var where clause
		for _, group := range batch {
			_, pairs := pairsOf(group)
			d.exact(&where, group[0].Type, group[0].Cluster, pairs)
		}
		if err := add(nil, &where); err != nil {
			return nil, err
		}
	}
	return requests, nil
}

// pair is the namespace and name of an object.
type pair struct{ namespace, name string }

// pairsOf are the clusters and the pairs of some keys, each once. Not every pair
// was asked for in every cluster; what is found beyond that is dropped by keyed.
func pairsOf(keys []Key) (clusters []string, pairs []pair) {
	for _, k := range keys {
		clusters = append(clusters, k.Cluster)
		pairs = append(pairs, pair{k.Namespace, k.Name})
	}
	slices.Sort(clusters)
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return slices.Compact(clusters), slices.Compact(pairs)
}

// textBytes is what a text costs in a request: quoted, in base64, which makes
// four bytes of three.
func textBytes(text string) int { return (len(text) + len(`"",`)) * 4 / 3 }

// pairBytes is what a pair costs in a request: its placeholders and its texts.
func pairBytes(p pair) int {
	return len(sqlPair) + len(sqlComma) + textBytes(p.namespace) + textBytes(p.name)
}

// split makes batches that cost at most so many bytes, but no empty ones.
func split[T any](all []T, bytes func(T) int, most int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		start, size := 0, 0
		for i, one := range all {
			if size += bytes(one); size > most && i > start {
				if !yield(all[start:i]) {
					return
				}
				start, size = i, bytes(one)
			}
		}
		yield(all[start:])
	}
}

// groupKeys groups keys by type and cluster, without duplicates.
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

// splitGroups makes batches whose parameters stay under a number of bytes.
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
			size += pairBytes(pair{k.Namespace, k.Name})
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
