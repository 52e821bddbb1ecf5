package projected

import (
	"context"
	"time"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// pageOf makes the page of a selection.
func pageOf(ctx context.Context, found *projection.Selection, asOf time.Time) (*index.Page, error) {
	page := &index.Page{HasNext: found.HasNext, Count: found.Count, AsOf: asOf}
	if err := hold(ctx, found.Items, func(item *projection.Item) []byte { return item.Object }); err != nil {
		return nil, err
	}
	for i := range found.Items {
		item := &found.Items[i]
		o, err := objectOf(item, asOf)
		if err != nil {
			return nil, err
		}
		page.Items = append(page.Items, o)
	}
	if n := len(found.Items); n > 0 {
		end := positionOf(&found.Items[n-1].Position)
		page.End = &end
	}
	return page, nil
}

// objectOf is the object of an item, with as much of it as was read.
func objectOf(item *projection.Item, asOf time.Time) (*index.Object, error) {
	key := keyOf(&item.WorkloadKey)
	if item.Identity != nil && item.Object == nil {
		return index.NewBrief(key, item.Identity, item.CreatedAt, item.State, asOf), nil
	}
	text := item.Object
	if text == nil {
		text = []byte("{}")
	}
	of, err := typeOfItem(item)
	if err != nil {
		return nil, err
	}
	o, err := index.NewProjected(key.Cluster, of, text, item.State, asOf)
	if err != nil {
		return nil, err
	}
	o.Meta.Namespace, o.Meta.Name = key.Namespace, key.Name
	return o, nil
}
