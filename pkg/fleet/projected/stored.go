package projected

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

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

// PodsOf reads the pods of some owners, by name.
func (s *Source) PodsOf(ctx context.Context, owners []index.PodOwner) (map[index.PodOwner][]*index.Object, error) {
	if s.Projection == nil {
		return s.Index.PodsOf(ctx, owners)
	}
	var of projection.Owned
	asked, places := make(map[index.PodOwner]bool, len(owners)), map[projection.Place]bool{}
	for _, o := range owners {
		asked[o] = true
		of.Owners = append(of.Owners, string(o.UID))
		if place := (projection.Place{Cluster: o.Cluster, Namespace: o.Namespace}); !places[place] {
			places[place] = true
			of.Places = append(of.Places, place)
		}
	}
	var rows []projection.Pod
	_, err := s.send(ctx, func(ctx context.Context) (projection.Moment, error) {
		var err error
		rows, err = s.Projection.Pods(ctx, of)
		return projection.Moment{}, err
	})
	switch {
	case errors.Is(err, projection.ErrIncomplete):
		return s.Index.PodsOf(ctx, owners)
	case err != nil:
		return nil, err
	}
	if err := hold(ctx, rows, func(p *projection.Pod) []byte { return p.Text }); err != nil {
		return nil, err
	}
	pods := make(map[index.PodOwner][]*index.Object, len(owners))
	for i := range rows {
		row := &rows[i]
		owner := index.PodOwner{Owner: index.Owner{Cluster: row.Cluster, UID: types.UID(row.Owner)}, Namespace: row.Namespace}
		if !asked[owner] {
			continue // A UID means something in its own cluster.
		}
		key := index.Key{Cluster: row.Cluster, Type: index.Pods, Namespace: row.Namespace, Name: row.Name}
		o, err := index.NewStored(key, row.Text, index.Whole)
		if err != nil {
			return nil, err
		}
		pods[owner] = append(pods[owner], o)
	}
	return pods, nil
}
