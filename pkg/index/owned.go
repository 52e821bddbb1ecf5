package index

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Owner names an object that owns others, as its controller.
type Owner struct {
	Cluster string
	UID     types.UID
}

// OwnedQuery says whose objects to read.
type OwnedQuery struct {
	// Type of the owned objects.
	Type Type
	// Owners of the objects, in whatever clusters.
	Owners []Owner
	// Via is the type that may stand between an owner and its objects, as a
	// ReplicaSet stands between a Deployment and its Pods.
	Via []Type
}

// maxOwners is how many owners one request asks for. A UID takes about a hundred
// bytes of it.
const maxOwners = 2000

// Owned reads what the owners own, directly or through one object of a Via
// type, ordered by name. One request answers for all owners, until they fill it
// (thousands).
func (c *Client) Owned(ctx context.Context, q OwnedQuery) (map[Owner][]*Object, error) {
	result := make(map[Owner][]*Object, len(q.Owners))
	if len(q.Owners) == 0 {
		return result, nil
	}
	all, err := ask(ctx, c, func(d *dialect) ([]*Object, error) { return c.ownedBySome(ctx, d, &q) })
	if err != nil {
		return nil, err
	}
	var objects, between []*Object
	for _, o := range all {
		if o.Kind == q.Type.Kind {
			objects = append(objects, o)
		} else {
			between = append(between, o)
		}
	}
	owner := make(map[Owner]Owner, len(q.Owners)+len(between))
	for _, o := range q.Owners {
		owner[o] = o
	}
	for _, m := range between {
		if ref := metav1.GetControllerOfNoCopy(&m.Meta); ref != nil {
			if top, ok := owner[Owner{m.Cluster, ref.UID}]; ok {
				owner[Owner{m.Cluster, m.Meta.UID}] = top
			}
		}
	}
	for _, o := range objects {
		ref := metav1.GetControllerOfNoCopy(&o.Meta)
		if ref == nil {
			continue
		}
		if top, ok := owner[Owner{o.Cluster, ref.UID}]; ok {
			result[top] = append(result[top], o)
		}
	}
	return result, nil
}

// PodsOf reads the pods of some owners, by name.
func (c *Client) PodsOf(ctx context.Context, owners []PodOwner) (map[PodOwner][]*Object, error) {
	q := OwnedQuery{Type: Pods, Via: []Type{ReplicaSets, Jobs}}
	for _, o := range owners {
		q.Owners = append(q.Owners, o.Owner)
	}
	owned, err := c.Owned(ctx, q)
	if err != nil {
		return nil, err
	}
	pods := make(map[PodOwner][]*Object, len(owners))
	for _, o := range owners {
		pods[o] = owned[o.Owner]
	}
	return pods, nil
}

// ownedBySome reads the owned objects, and the objects of the Via types between them and
// their owners, in one request: only with both is it known which owner each belongs to.
func (c *Client) ownedBySome(ctx context.Context, d *dialect, q *OwnedQuery) ([]*Object, error) {
	batches := slices.Collect(slices.Chunk(q.Owners, maxOwners))
	results := make([][]*Object, len(batches))
	err := sideBySide(ctx, len(batches), func(ctx context.Context, i int) (err error) {
		results[i], err = c.ownedBy(ctx, d, q, batches[i])
		return err
	})
	return slices.Concat(results...), err
}

func (c *Client) ownedBy(ctx context.Context, d *dialect, q *OwnedQuery, owners []Owner) ([]*Object, error) {
	clusters, uids := ownerLists(owners)
	var where clause
	if len(q.Via) == 0 {
		where.add(sqlOwnedDirectly, clusters, uids)
	} else {
		where.add(sqlOwnedIndirect, clusters, uids, clusters, uids)
	}
	types := slices.Concat([]Type{q.Type}, q.Via)
	params, err := d.params(&ListQuery{Types: types, Order: Order{Field: OrderByName}}, &where)
	if err != nil {
		return nil, err
	}
	objects, _, err := c.list(ctx, params)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(objects, func(o *Object) bool { return !slices.Contains(clusters, o.Cluster) }) {
		return nil, passedOver()
	}
	return objects, nil
}

func ownerLists(owners []Owner) (clusters []string, uids []types.UID) {
	for _, o := range owners {
		clusters = append(clusters, o.Cluster)
		uids = append(uids, o.UID)
	}
	slices.Sort(clusters)
	return slices.Compact(clusters), uids
}
