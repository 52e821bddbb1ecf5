// Package projected reads workloads from the projection, with their states, and everything
// else from the index.
package projected

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/quota"
)

// Index is what is read from the index itself; *index.Client is one.
type Index interface {
	List(ctx context.Context, q index.ListQuery) (*index.Page, error)
	ListParts(ctx context.Context, q index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error)
	GetMany(ctx context.Context, keys []index.Key, detail index.Detail) (map[index.Key]*index.Object, error)
	Owned(ctx context.Context, q index.OwnedQuery) (map[index.Owner][]*index.Object, error)
}

// Source is the index and the projection. It belongs below everything that confines reads
// to what the user may see.
//
// The projection has the workloads of instances, but for their whole manifests. It is
// passed by where there is none, while it is built, where it is so late that answers would
// be stale, and where the operation has to see what it may not have yet.
type Source struct {
	Index

	// Projection is the database; nil where the program was given none.
	Projection *projection.DB
	// Timeout bounds one statement.
	Timeout time.Duration
	Now     func() time.Time
}

// errPassedBy means that the index is to be asked.
var errPassedBy = errors.New("the projection is passed by")

// List reads a page over several clusters.
func (s *Source) List(ctx context.Context, q index.ListQuery) (*index.Page, error) {
	if q.Projected {
		return s.projected(ctx, &q)
	}
	switch serves := s.serves(ctx, q.Types, clustersOf(&q)...); {
	case !serves:
	case q.Detail == index.Whole:
		page, err := s.Index.List(ctx, q)
		if err != nil {
			return nil, err
		}
		return page, s.states(ctx, page.Items)
	default:
		page, err := s.page(ctx, &q, false)
		if !errors.Is(err, errPassedBy) {
			return page, err
		}
	}
	return s.Index.List(ctx, q)
}

// projected makes a list that the index cannot make.
func (s *Source) projected(ctx context.Context, q *index.ListQuery) (*index.Page, error) {
	if s.Projection == nil {
		return nil, apierror.New(apierror.CodeIndexUnavailable,
			"Workloads cannot be selected by their state here: the API server was started without --index-database-file; leave filter.health out, or ask the operator of Kairship for it")
	}
	if len(q.Facets) > 0 {
		return s.facets(ctx, q)
	}
	page, err := s.page(ctx, q, true)
	if err != nil || q.Detail != index.Whole {
		return page, err
	}
	keys := make([]index.Key, len(page.Items))
	for i, o := range page.Items {
		keys[i] = templateKey(o)
	}
	whole, err := s.Index.GetMany(ctx, keys, index.Whole)
	if err != nil {
		return nil, err
	}
	var items []*index.Object
	for i, o := range page.Items {
		if found := whole[keys[i]]; found != nil { // Else it was deleted after the projection was read.
			attach(found, o.State)
			items = append(items, found)
		}
	}
	page.Items = items
	return page, nil
}

// page reads a page from the projection. A list that only the projection can make waits for
// it, and is told what is wrong; any other passes it by.
func (s *Source) page(ctx context.Context, q *index.ListQuery, only bool) (*index.Page, error) {
	selects, err := queryOf(q)
	if err != nil {
		if only {
			return nil, err
		}
		return nil, errPassedBy
	}
	var found *projection.Selection
	asOf, err := s.settled(ctx, only && consistency.Concerns(ctx, clustersOf(q)...), func(ctx context.Context) (projection.Moment, error) {
		var err error
		if found, err = s.Projection.Select(ctx, selects); err != nil {
			return projection.Moment{}, err
		}
		return found.Moment, nil
	})
	if !only && (errors.Is(err, projection.ErrIncomplete) || err == nil && found.Lag() > freshness.StaleAfter) {
		return nil, errPassedBy
	}
	if err != nil {
		return nil, err
	}
	return pageOf(ctx, found, asOf)
}

// facets counts the workloads of a list.
func (s *Source) facets(ctx context.Context, q *index.ListQuery) (*index.Page, error) {
	selects, err := queryOf(q)
	if err != nil {
		return nil, err
	}
	var counted *projection.Counted
	asOf, err := s.settled(ctx, consistency.Concerns(ctx, clustersOf(q)...), func(ctx context.Context) (projection.Moment, error) {
		var err error
		if counted, err = s.Projection.Facets(ctx, selects, q.Facets, q.FacetValues); err != nil {
			return projection.Moment{}, err
		}
		return counted.Moment, nil
	})
	if err != nil {
		return nil, err
	}
	return &index.Page{Facets: counted.Facets, AsOf: asOf}, nil
}

// ListParts reads the same page of several parts.
func (s *Source) ListParts(ctx context.Context, q index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error) {
	clusters := make([]string, len(parts))
	for i, part := range parts {
		clusters[i] = part.Cluster
	}
	switch serves := s.serves(ctx, q.Types, clusters...); {
	case !serves:
	case q.Detail == index.Whole:
		pages, err := s.Index.ListParts(ctx, q, parts)
		if err != nil {
			return nil, err
		}
		var all []*index.Object
		for _, page := range pages {
			all = append(all, page.Items...)
		}
		return pages, s.states(ctx, all)
	default:
		pages, err := s.parts(ctx, &q, parts)
		if !errors.Is(err, errPassedBy) {
			return pages, err
		}
	}
	return s.Index.ListParts(ctx, q, parts)
}

func (s *Source) parts(ctx context.Context, q *index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error) {
	// The parts say what is reached.
	rest := *q
	rest.Clusters, rest.Scopes = nil, nil
	selects, err := queryOf(&rest)
	if err != nil {
		return nil, errPassedBy
	}
	asked, err := partsOf(q, parts)
	if err != nil {
		return nil, errPassedBy
	}
	var found []projection.Selection
	var at projection.Moment
	asOf, err := s.settled(ctx, false, func(ctx context.Context) (projection.Moment, error) {
		var err error
		found, at, err = s.Projection.SelectParts(ctx, selects, asked)
		return at, err
	})
	if errors.Is(err, projection.ErrIncomplete) || err == nil && at.Lag() > freshness.StaleAfter {
		return nil, errPassedBy
	}
	if err != nil {
		return nil, err
	}
	pages := make(map[index.Part]*index.Page, len(parts))
	for i, part := range parts {
		if pages[part], err = pageOf(ctx, &found[i], asOf); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// GetMany reads some objects. Those that there are not are missing.
func (s *Source) GetMany(ctx context.Context, keys []index.Key, detail index.Detail) (map[index.Key]*index.Object, error) {
	if detail == index.Whole {
		found, err := s.Index.GetMany(ctx, keys, detail)
		if err != nil {
			return nil, err
		}
		return found, s.states(ctx, slices.Collect(maps.Values(found)))
	}
	var here, there []index.Key
	for _, key := range keys {
		if s.serves(ctx, []index.Type{key.Type}, key.Cluster) {
			here = append(here, key)
		} else {
			there = append(there, key)
		}
	}
	if len(here) == 0 {
		return s.Index.GetMany(ctx, keys, detail)
	}
	found, err := s.find(ctx, here, true)
	if errors.Is(err, errPassedBy) {
		return s.Index.GetMany(ctx, keys, detail)
	}
	if err != nil || len(there) == 0 {
		return found, err
	}
	others, err := s.Index.GetMany(ctx, there, detail)
	if err != nil {
		return nil, err
	}
	maps.Copy(found, others)
	return found, nil
}

// states gives those of some objects of the index that are workloads their states.
func (s *Source) states(ctx context.Context, objects []*index.Object) error {
	var workloads []*index.Object
	var keys []index.Key
	for _, o := range objects {
		if key := templateKey(o); s.serves(ctx, []index.Type{key.Type}, key.Cluster) {
			workloads, keys = append(workloads, o), append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found, err := s.find(ctx, keys, false)
	if errors.Is(err, errPassedBy) {
		return nil
	}
	if err != nil {
		return err
	}
	for i, o := range workloads {
		if same := found[keys[i]]; same != nil {
			attach(o, same.State)
		}
	}
	return nil
}

// find reads some workloads from the projection.
func (s *Source) find(ctx context.Context, keys []index.Key, withObjects bool) (map[index.Key]*index.Object, error) {
	asked := make([]projection.WorkloadKey, len(keys))
	for i := range keys {
		kind, _ := workload.KindFromGVR(keys[i].Type.GroupVersionResource())
		asked[i] = projection.WorkloadKey{
			Instance: v1alpha1.InstanceOfVirtualCluster(keys[i].Cluster), Namespace: keys[i].Namespace, Name: keys[i].Name, Kind: string(kind),
		}
	}
	var found *projection.Selection
	asOf, err := s.settled(ctx, false, func(ctx context.Context) (projection.Moment, error) {
		var err error
		if found, err = s.Projection.Find(ctx, asked, withObjects); err != nil {
			return projection.Moment{}, err
		}
		return found.Moment, nil
	})
	if errors.Is(err, projection.ErrIncomplete) || err == nil && found.Lag() > freshness.StaleAfter {
		return nil, errPassedBy
	}
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, found, asOf)
	if err != nil {
		return nil, err
	}
	objects := make(map[index.Key]*index.Object, len(page.Items))
	for i, o := range page.Items {
		objects[keyOf(&found.Items[i].WorkloadKey)] = o
	}
	return objects, nil
}

// serves reports whether objects of some types are read from the projection: those are
// workloads of instances.
func (s *Source) serves(ctx context.Context, types []index.Type, clusters ...string) bool {
	return s.Projection != nil && len(clusters) > 0 &&
		!slices.ContainsFunc(types, func(t index.Type) bool {
			kind, is := workload.KindFromGVR(t.GroupVersionResource())
			return !is || kind.GVR() != t.GroupVersionResource()
		}) &&
		!slices.ContainsFunc(clusters, func(cluster string) bool { return v1alpha1.InstanceOfVirtualCluster(cluster) == "" }) &&
		!consistency.Concerns(ctx, clusters...)
}

// pageOf makes the page of a selection.
func pageOf(ctx context.Context, found *projection.Selection, asOf time.Time) (*index.Page, error) {
	page := &index.Page{HasNext: found.HasNext, Count: found.Count, AsOf: asOf}
	held := 0
	for i := range found.Items {
		held += len(found.Items[i].Object)
	}
	if err := quota.From(ctx).Hold(int64(held) * quota.Expansion); err != nil {
		return nil, err
	}
	for i := range found.Items {
		item := &found.Items[i]
		key := keyOf(&item.WorkloadKey)
		text := item.Object
		if text == nil {
			text = []byte("{}")
		}
		o, err := index.NewProjected(key.Cluster, key.Type, text, &index.State{State: item.State, AsOf: asOf})
		if err != nil {
			return nil, err
		}
		o.Meta.Namespace, o.Meta.Name = key.Namespace, key.Name
		page.Items = append(page.Items, o)
	}
	if n := len(found.Items); n > 0 {
		end := positionOf(&found.Items[n-1].Position)
		page.End = &end
	}
	return page, nil
}

// attach gives an object of the index its state, when it is that of this version of it.
func attach(o *index.Object, state *index.State) {
	if state != nil && state.UID == string(o.Meta.UID) && state.ResourceVersion == o.Meta.ResourceVersion {
		o.State = state
	}
}

// clustersOf are the clusters that a list is read from, in whole or in part.
func clustersOf(q *index.ListQuery) []string {
	clusters := slices.Clone(q.Clusters)
	for _, scope := range q.Scopes {
		clusters = append(clusters, scope.Cluster)
	}
	return clusters
}
