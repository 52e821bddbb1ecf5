package projected

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/quota"
)

// Pods reads the pods that the projection has, and their images; *projection.DB is one.
type Pods interface {
	SelectPods(ctx context.Context, q *projection.PodQuery) (*projection.PodSelection, error)
	SelectPodParts(ctx context.Context, q *projection.PodQuery, parts []projection.Part) ([]projection.PodSelection, projection.Moment, error)
	PodFacets(ctx context.Context, q *projection.PodQuery, fields []projection.PodFacetField, values int) (*projection.CountedPods, error)
	SelectImages(ctx context.Context, q *projection.ImageQuery) (*projection.ImageSelection, error)
	NodeRequests(ctx context.Context, members []projection.MemberKey) (map[projection.NodeKey]projection.Requested, projection.Moment, error)
}

// pods reads a page of the pods of instances' members. Only the projection has them.
func (s *Source) pods(ctx context.Context, q *index.ListQuery) (*index.Page, error) {
	page, err := s.podPage(ctx, q)
	if err != nil || q.Detail != index.Whole {
		return page, err
	}
	return page, s.whole(ctx, page)
}

// podPage reads a page with one statement. The pods in it have no manifests.
func (s *Source) podPage(ctx context.Context, q *index.ListQuery) (*index.Page, error) {
	var found *projection.PodSelection
	asOf, err := s.askPods(ctx, func(ctx context.Context) (projection.Moment, error) {
		var err error
		if found, err = s.Pods.SelectPods(ctx, podQueryOf(q)); err != nil {
			return projection.Moment{}, err
		}
		return found.Moment, nil
	})
	if err != nil {
		return nil, err
	}
	return podPageOf(ctx, found, asOf)
}

// NodeRequests reads what the pods on the nodes of some member clusters request, with one statement. The caller of it
// has seen these nodes, and with them all pods.
func (s *Source) NodeRequests(ctx context.Context, members []projection.MemberKey) (map[projection.NodeKey]projection.Requested, error) {
	var found map[projection.NodeKey]projection.Requested
	_, err := s.askPods(ctx, func(ctx context.Context) (projection.Moment, error) {
		var at projection.Moment
		var err error
		found, at, err = s.Pods.NodeRequests(ctx, members)
		return at, err
	})
	return found, err
}

// podPageOf makes the page of what was read.
func podPageOf(ctx context.Context, found *projection.PodSelection, asOf time.Time) (*index.Page, error) {
	bytes := 0
	for i := range found.Items {
		bytes += sizeOf(&found.Items[i])
	}
	if err := quota.From(ctx).Hold(int64(bytes)); err != nil {
		return nil, err
	}
	page := &index.Page{HasNext: found.HasNext, Count: found.Count, AsOf: asOf}
	for i := range found.Items {
		page.Items = append(page.Items, index.NewPod(&found.Items[i], asOf))
	}
	if n := len(page.Items); n > 0 {
		end := index.PositionOf(page.Items[n-1])
		page.End = &end
	}
	return page, nil
}

// sizeOf is about how much memory a row takes.
func sizeOf(row *projection.PodItem) int {
	const fixed, pair = 512, 64
	n := fixed + len(row.Message)
	for key, value := range row.Labels {
		n += pair + len(key) + len(value)
	}
	for _, image := range row.Images {
		n += len(image)
	}
	return n
}

// podParts reads the same page of several instances with one statement.
func (s *Source) podParts(ctx context.Context, q *index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error) {
	asked, err := partsOf(q, parts)
	if err != nil {
		return nil, err
	}
	var found []projection.PodSelection
	asOf, err := s.askPods(ctx, func(ctx context.Context) (projection.Moment, error) {
		var at projection.Moment
		var err error
		found, at, err = s.Pods.SelectPodParts(ctx, podQueryOf(q), asked)
		return at, err
	})
	if err != nil {
		return nil, err
	}
	pages := make(map[index.Part]*index.Page, len(parts))
	for i, part := range parts {
		if pages[part], err = podPageOf(ctx, &found[i], asOf); err != nil {
			return nil, err
		}
	}
	if q.Detail == index.Whole {
		return pages, s.whole(ctx, slices.Collect(maps.Values(pages))...)
	}
	return pages, nil
}

// podFacets counts the pods of a list.
func (s *Source) podFacets(ctx context.Context, q *index.ListQuery) (*index.Page, error) {
	fields := make([]projection.PodFacetField, len(q.Projected.Facets))
	for i, field := range q.Projected.Facets {
		fields[i] = projection.PodFacetField(field)
	}
	var counted *projection.CountedPods
	asOf, err := s.askPods(ctx, func(ctx context.Context) (projection.Moment, error) {
		var err error
		if counted, err = s.Pods.PodFacets(ctx, podQueryOf(q), fields, q.Projected.FacetValues); err != nil {
			return projection.Moment{}, err
		}
		return counted.Moment, nil
	})
	if err != nil {
		return nil, err
	}
	page := &index.Page{AsOf: asOf, Facets: make([]projection.Facet, len(counted.Facets))}
	for i, f := range counted.Facets {
		page.Facets[i] = projection.Facet{Field: projection.FacetField(f.Field), Values: f.Values, TotalValues: f.TotalValues}
	}
	return page, nil
}

// askPods sends ask to the projection. It waits for no version of a consistency token: these are of
// objects in instances, and pods are in members.
func (s *Source) askPods(ctx context.Context, ask func(context.Context) (projection.Moment, error)) (time.Time, error) {
	if s.Pods == nil {
		return time.Time{}, apierror.New(apierror.CodeIndexUnavailable,
			"Pods cannot be listed here: the API server was started without --index-database-file; read those of a workload from its placements, or ask the operator of Kairship for it")
	}
	asOf, err := s.askCurrent(ctx, false, ask)
	if errors.Is(err, projection.ErrIncomplete) {
		err = apierror.Wrap(projection.ErrIncomplete, apierror.CodeIndexUnavailable,
			"The pods of all member clusters are being read, and cannot be listed yet; try again in a minute")
	}
	return asOf, err
}

// podQueryOf is the query of pods for the projection.
func podQueryOf(q *index.ListQuery) *projection.PodQuery {
	of := q.Projected.Pods
	p := &projection.PodQuery{
		Clusters: of.Clusters, Namespaces: q.Namespaces, Names: q.Names, Nodes: of.Nodes, Phases: of.Phases, Ready: of.Ready,
		NameContains: q.NameContains, Selector: q.Selector, Images: q.Projected.Images, Words: q.Projected.Words, UID: q.Projected.UID, Relevant: q.Projected.Relevant, Confined: q.Confined,
		Order: projection.PodOrder{Field: podOrderOf(q.Order.Field), Desc: q.Order.Desc}, Limit: q.Limit, WithCount: q.WithCount,
	}
	p.Instances, p.Scopes = reachOf(q)
	if after := q.After; after != nil {
		key := projection.PodKey{Instance: after.Instance, Cluster: after.Cluster, Namespace: after.Namespace, Name: after.Name}
		p.After = &projection.PodPosition{PodKey: key, CreatedAt: after.CreatedAt.Unix(), Restarts: after.Restarts}
	}
	return p
}

func podOrderOf(field index.OrderField) projection.PodOrderField {
	switch field {
	case index.OrderByName:
		return projection.PodsByName
	case index.OrderByCreation:
		return projection.PodsByCreation
	case index.OrderByRestarts:
		return projection.PodsByRestarts
	case index.OrderByRelevance:
		return projection.PodsByRelevance
	case index.OrderByNamespace, index.OrderByHealth, index.OrderByReady: // Pods have neither of the last two.
	}
	return projection.PodsByNamespace
}

// podKey is the index's key of a pod in a member, whose rows are under its name in the inventory.
func podKey(row *projection.PodItem) index.Key {
	return index.Key{Cluster: row.Cluster, Type: index.Pods, Namespace: row.Namespace, Name: row.Name}
}
