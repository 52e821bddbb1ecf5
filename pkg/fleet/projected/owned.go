package projected

import (
	"context"
	"errors"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/quota"
)

// PodsOf reads the pods of some owners, by name: from the rows of the projection where these have what is wanted of
// them, else as they are stored.
func (s *Source) PodsOf(ctx context.Context, owners []index.PodOwner) (map[index.PodOwner][]*index.Object, error) {
	if s.Projection == nil {
		return s.Index.PodsOf(ctx, owners)
	}
	var rows, whole []index.PodOwner
	for _, o := range owners {
		if o.Detail == index.Metadata {
			rows = append(rows, o)
		} else {
			whole = append(whole, o)
		}
	}
	pods, err := s.ownedRows(ctx, rows)
	if errors.Is(err, errPassedBy) {
		pods, err = s.ownedObjects(ctx, rows)
	}
	if err != nil {
		return nil, err
	}
	more, err := s.ownedObjects(ctx, whole)
	maps.Copy(pods, more)
	return pods, err
}

// owners are the owners of which some pods are wanted.
type owners map[index.PodOwner]index.PodOwner

// ownersOf returns what a statement that reads pods of some owners is asked for.
func ownersOf(all []index.PodOwner) (owners, projection.Owned) {
	var of projection.Owned
	asked, places := make(owners, len(all)), map[projection.Place]bool{}
	for _, o := range all {
		plain := o
		plain.Detail = index.Whole
		asked[plain] = o
		of.Owners = append(of.Owners, string(o.UID))
		if place := (projection.Place{Cluster: o.Cluster, Namespace: o.Namespace}); !places[place] {
			places[place] = true
			of.Places = append(of.Places, place)
		}
	}
	return asked, of
}

// find finds the owner of a pod. A UID means something in its own cluster.
func (o owners) find(cluster, uid, namespace string) (index.PodOwner, bool) {
	of, found := o[index.PodOwner{Owner: index.Owner{Cluster: cluster, UID: types.UID(uid)}, Namespace: namespace}]
	return of, found
}

// ownedRows reads the rows of the pods of some owners.
func (s *Source) ownedRows(ctx context.Context, all []index.PodOwner) (map[index.PodOwner][]*index.Object, error) {
	pods := make(map[index.PodOwner][]*index.Object, len(all))
	if len(all) == 0 {
		return pods, nil
	}
	asked, of := ownersOf(all)
	var rows []projection.OwnedPod
	var late bool
	asOf, err := s.askCurrent(ctx, false, func(ctx context.Context) (at projection.Moment, err error) {
		rows, at, err = s.Projection.OwnedPods(ctx, of)
		late = at.Lag() > freshness.StaleAfter
		return at, err
	})
	if errors.Is(err, projection.ErrIncomplete) || err == nil && late {
		return nil, errPassedBy
	}
	if err != nil {
		return nil, err
	}
	bytes := 0
	for i := range rows {
		bytes += sizeOf(&rows[i].PodItem)
	}
	if err := quota.From(ctx).Hold(int64(bytes)); err != nil {
		return nil, err
	}
	for i := range rows {
		row := &rows[i]
		if owner, ok := asked.find(row.Cluster, row.Owner, row.Namespace); ok {
			pods[owner] = append(pods[owner], index.NewPod(&row.PodItem, asOf))
		}
	}
	return pods, nil
}

// ownedObjects reads the pods of some owners as they are stored.
func (s *Source) ownedObjects(ctx context.Context, all []index.PodOwner) (map[index.PodOwner][]*index.Object, error) {
	pods := make(map[index.PodOwner][]*index.Object, len(all))
	if len(all) == 0 {
		return pods, nil
	}
	asked, of := ownersOf(all)
	var rows []projection.Pod
	_, err := s.send(ctx, func(ctx context.Context) (projection.Moment, error) {
		var err error
		rows, err = s.Projection.Pods(ctx, of)
		return projection.Moment{}, err
	})
	switch {
	case errors.Is(err, projection.ErrIncomplete):
		return s.Index.PodsOf(ctx, all)
	case err != nil:
		return nil, err
	}
	if err := hold(ctx, rows, func(p *projection.Pod) []byte { return p.Text }); err != nil {
		return nil, err
	}
	for i := range rows {
		row := &rows[i]
		owner, ok := asked.find(row.Cluster, row.Owner, row.Namespace)
		if !ok {
			continue
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
