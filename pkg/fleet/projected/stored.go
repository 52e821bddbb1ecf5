package projected

import (
	"context"
	"errors"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/quota"
)

// stored reads some objects as the index has them.
func (s *Source) stored(ctx context.Context, keys []index.Key, detail index.Detail) (map[index.Key]*index.Object, error) {
	if len(keys) == 0 {
		return nil, nil //nolint:nilnil // Nothing is found of nothing.
	}
	asked, types := make([]projection.ResourceKey, len(keys)), map[projection.ResourceKey]index.Key{}
	for i, k := range keys {
		asked[i] = projection.ResourceKey{Cluster: k.Cluster, Group: k.Type.Group, Version: k.Type.Version, Resource: k.Type.Resource, Namespace: k.Namespace, Name: k.Name}
		types[asked[i]] = k
	}
	piece := projection.Whole
	if detail == index.Metadata {
		piece = projection.Metadata
	}
	var rows []projection.Object
	_, err := s.send(ctx, func(ctx context.Context) (projection.Moment, error) {
		var err error
		rows, err = s.Projection.Objects(ctx, piece, asked)
		return projection.Moment{}, err
	})
	switch {
	case errors.Is(err, projection.ErrIncomplete):
		return nil, errPassedBy
	case err != nil:
		return nil, err
	}
	if err := hold(ctx, rows, func(o *projection.Object) []byte { return o.Text }); err != nil {
		return nil, err
	}
	found := make(map[index.Key]*index.Object, len(rows))
	for i := range rows {
		key := types[rows[i].ResourceKey]
		if found[key], err = index.NewStored(key, rows[i].Text, detail); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// hold counts the texts of rows before they are decoded.
func hold[T any](ctx context.Context, rows []T, text func(*T) []byte) error {
	bytes := 0
	for i := range rows {
		bytes += len(text(&rows[i]))
	}
	return quota.From(ctx).Hold(int64(bytes) * quota.Expansion)
}
