// Package projected reads workloads from the projection, with their states, lists of pods, and
// everything else from the index.
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
)

// Index is what is read from the index itself; *index.Client is one.
type Index interface {
	List(ctx context.Context, q index.ListQuery) (*index.Page, error)
	ListParts(ctx context.Context, q index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error)
	GetMany(ctx context.Context, keys []index.Key, detail index.Detail) (map[index.Key]*index.Object, error)
	PodsOf(ctx context.Context, owners []index.PodOwner) (map[index.PodOwner][]*index.Object, error)
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
	// Pods reads the lists of pods of the same database; nil where the program was given none.
	Pods Pods
	// Sent reads the same database; nil where the program was given none.
	Sent Sent
	// Timeout bounds one statement.
	Timeout time.Duration
	Now     func() time.Time
}

// errPassedBy means that the index has to answer instead.
var errPassedBy = errors.New("the projection is passed by")

// List reads a page over several clusters.
func (s *Source) List(ctx context.Context, q index.ListQuery) (*index.Page, error) {
	switch {
	case q.OfPods() && q.Projected.ImageList != nil:
		return s.images(ctx, &q)
	case q.OfPods() && len(q.Projected.Facets) > 0:
		return s.podFacets(ctx, &q)
	case q.OfPods():
		return s.pods(ctx, &q)
	case q.Projected != nil && len(q.Projected.Facets) > 0:
		return s.facets(ctx, &q)
	case plain(&q) && !s.serves(ctx, q.Types, clustersOf(&q)...):
	case plain(&q) && q.Detail == index.Whole:
		page, err := s.Index.List(ctx, q)
		if err != nil {
			return nil, err
		}
		return page, s.states(ctx, page.Items)
	default:
		page, err := s.page(ctx, &q)
		if errors.Is(err, errPassedBy) {
			break
		}
		if err != nil || q.Detail != index.Whole {
			return page, err
		}
		return page, s.whole(ctx, page)
	}
	custom := q.Custom != nil && s.Projection != nil
	q.Custom = nil
	q, asOf, err := s.restrict(ctx, q)
	if err != nil {
		return nil, err
	}
	page, err := s.Index.List(ctx, q)
	if err != nil {
		return nil, err
	}
	page.WithoutCustom = custom
	if !asOf.IsZero() {
		page.AsOf = asOf
	}
	return page, nil
}

// page reads a page from the projection.
func (s *Source) page(ctx context.Context, q *index.ListQuery) (*index.Page, error) {
	selects, err := queryOf(q)
	if err != nil {
		return nil, passedBy(q, err)
	}
	var found *projection.Selection
	asOf, err := s.selected(ctx, q, clustersOf(q), func(ctx context.Context) (projection.Moment, error) {
		var err error
		if found, err = s.Projection.Select(ctx, selects); err != nil {
			return projection.Moment{}, err
		}
		return found.Moment, nil
	})
	if err != nil {
		return nil, err
	}
	return pageOf(ctx, found, asOf)
}

// selected reads a list from the projection. A list that only the projection can make waits for the
// versions that the operation has to see, and returns the projection's errors; any other falls back
// to the index.
func (s *Source) selected(ctx context.Context, q *index.ListQuery, clusters []string, ask func(context.Context) (projection.Moment, error)) (time.Time, error) {
	only := q.Projected != nil || q.Custom != nil && len(q.Types) == 0
	if s.Projection == nil && !only {
		return time.Time{}, errPassedBy
	}
	if s.Projection == nil {
		return time.Time{}, apierror.New(apierror.CodeIndexUnavailable,
			"Workloads cannot be selected or ordered by their state, clusters, images or text, nor custom ones be listed here: the API server was started without --index-database-file; list them without, or ask the operator of Kairship for it")
	}
	var late bool
	asOf, err := s.askCurrent(ctx, (only || q.Custom != nil) && consistency.Concerns(ctx, clusters...), func(ctx context.Context) (projection.Moment, error) {
		at, err := ask(ctx)
		late = at.Lag() > freshness.StaleAfter
		return at, err
	})
	if !only && (errors.Is(err, projection.ErrIncomplete) || errors.Is(err, errBehind) || err == nil && late) {
		return asOf, errPassedBy
	}
	return asOf, err
}

// passedBy returns the error of a list that the projection cannot make: the index is asked,
// unless the list needs the projection.
func passedBy(q *index.ListQuery, err error) error {
	if q.Projected != nil || q.Custom != nil && len(q.Types) == 0 {
		return err
	}
	return errPassedBy
}

// whole puts the whole objects of some pages in the place of what the projection has of
// them. What was deleted since is left out.
func (s *Source) whole(ctx context.Context, pages ...*index.Page) error {
	var stored, others []index.Key
	for _, page := range pages {
		for _, o := range page.Items {
			switch key := wholeKey(o); {
			case key.Type.Resource == "":
			case s.Projection != nil && projection.Readable(key.Type.Group, key.Type.Resource):
				stored = append(stored, key)
			default:
				others = append(others, key)
			}
		}
	}
	found, err := s.stored(ctx, stored, index.Whole)
	if errors.Is(err, errPassedBy) {
		others, err = append(others, stored...), nil
	}
	if err == nil && len(others) > 0 {
		var more map[index.Key]*index.Object
		if more, err = s.Index.GetMany(ctx, others, index.Whole); err == nil {
			more = maps.Clone(more)
			maps.Copy(more, found)
			found = more
		}
	}
	if err != nil {
		return err
	}
	for _, page := range pages {
		var items []*index.Object
		for _, o := range page.Items {
			whole := found[wholeKey(o)]
			if whole == nil && o.State != nil && workload.Kind(o.State.Kind).Custom() {
				items = append(items, o) // Its instance is asked for the rest.
				continue
			}
			if whole == nil || o.Pod != nil && whole.Meta.UID != o.Meta.UID {
				continue // It was deleted, perhaps with another pod of its name in its place.
			}
			whole.State, whole.Pod, whole.AsOf = o.State, o.Pod, o.AsOf
			items = append(items, whole)
		}
		page.Items = items
	}
	return nil
}

// facets counts the workloads of a list.
func (s *Source) facets(ctx context.Context, q *index.ListQuery) (*index.Page, error) {
	selects, err := queryOf(q)
	if err != nil {
		return nil, err
	}
	var counted *projection.Counted
	asOf, err := s.selected(ctx, q, clustersOf(q), func(ctx context.Context) (projection.Moment, error) {
		var err error
		if counted, err = s.Projection.Facets(ctx, selects, q.Projected.Facets, q.Projected.FacetValues); err != nil {
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
	if q.OfPods() {
		return s.podParts(ctx, &q, parts)
	}
	clusters := make([]string, len(parts))
	for i, part := range parts {
		clusters[i] = part.Cluster
	}
	switch {
	case plain(&q) && !s.serves(ctx, q.Types, clusters...):
	case plain(&q) && q.Detail == index.Whole:
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
		pages, err := s.parts(ctx, &q, parts, clusters)
		if errors.Is(err, errPassedBy) {
			break
		}
		if err != nil || q.Detail != index.Whole {
			return pages, err
		}
		return pages, s.whole(ctx, slices.Collect(maps.Values(pages))...)
	}
	custom := q.Custom != nil && s.Projection != nil
	q.Custom = nil
	pages, err := s.listSent(ctx, q, parts)
	for _, page := range pages {
		page.WithoutCustom = custom
	}
	return pages, err
}

func (s *Source) parts(ctx context.Context, q *index.ListQuery, parts []index.Part, clusters []string) (map[index.Part]*index.Page, error) {
	// The parts say what is reached.
	rest := *q
	rest.Clusters, rest.Scopes = nil, nil
	selects, err := queryOf(&rest)
	if err != nil {
		return nil, passedBy(q, err)
	}
	asked, err := partsOf(q, parts)
	if err != nil {
		return nil, passedBy(q, err)
	}
	var found []projection.Selection
	asOf, err := s.selected(ctx, q, clusters, func(ctx context.Context) (projection.Moment, error) {
		var at projection.Moment
		var err error
		found, at, err = s.Projection.SelectParts(ctx, selects, asked)
		return at, err
	})
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
	var workloads, custom, stored, others []index.Key
	for _, key := range keys {
		switch {
		case isCustomKey(&key):
			custom = append(custom, key)
		case detail != index.Whole && s.serves(ctx, []index.Type{key.Type}, key.Cluster):
			workloads = append(workloads, key)
		case s.Projection != nil && projection.Readable(key.Type.Group, key.Type.Resource):
			stored = append(stored, key)
		default:
			others = append(others, key)
		}
	}
	all := make(map[index.Key]*index.Object, len(keys))
	found, err := s.findCustom(ctx, custom, detail)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, found)
	found, err = s.find(ctx, workloads, projection.Show{States: true, Objects: true})
	switch {
	case errors.Is(err, errPassedBy):
		stored = append(stored, workloads...)
	case err != nil:
		return nil, err
	}
	maps.Copy(all, found)
	found, err = s.stored(ctx, stored, detail)
	switch {
	case errors.Is(err, errPassedBy):
		others = append(others, stored...)
	case err != nil:
		return nil, err
	}
	maps.Copy(all, found)
	if len(others) > 0 {
		if found, err = s.Index.GetMany(ctx, others, detail); err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	if detail != index.Whole {
		return all, nil
	}
	return all, s.states(ctx, slices.Collect(maps.Values(all)))
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
	found, err := s.find(ctx, keys, projection.Show{States: true})
	if errors.Is(err, errPassedBy) {
		return nil
	}
	if err != nil {
		return err
	}
	for i, o := range workloads {
		if same := found[keys[i]]; same != nil {
			attach(o, same)
		}
	}
	return nil
}

// find reads some workloads from the projection.
func (s *Source) find(ctx context.Context, keys []index.Key, show projection.Show) (map[index.Key]*index.Object, error) {
	if len(keys) == 0 {
		return nil, nil //nolint:nilnil // Nothing is found of nothing.
	}
	page, late, err := s.findCurrent(ctx, keys, show, false)
	if errors.Is(err, projection.ErrIncomplete) || err == nil && late {
		return nil, errPassedBy
	}
	return page, err
}

// findCustom reads some custom workloads, which the projection alone has.
func (s *Source) findCustom(ctx context.Context, keys []index.Key, detail index.Detail) (map[index.Key]*index.Object, error) {
	if len(keys) == 0 {
		return nil, nil //nolint:nilnil // Nothing is found of nothing.
	}
	if s.Projection == nil {
		return nil, apierror.New(apierror.CodeIndexUnavailable,
			"Custom workloads cannot be read here: the API server was started without --index-database-file; ask the operator of Kairship for it")
	}
	clusters := make([]string, len(keys))
	for i := range keys {
		clusters[i] = keys[i].Cluster
	}
	found, _, err := s.findCurrent(ctx, keys, projection.Show{States: true, Objects: true}, consistency.Concerns(ctx, clusters...))
	if err != nil || detail != index.Whole {
		return found, err
	}
	page := &index.Page{}
	for _, key := range keys {
		if o := found[key]; o != nil {
			page.Items = append(page.Items, o)
		}
	}
	if err := s.whole(ctx, page); err != nil {
		return nil, err
	}
	for _, o := range page.Items {
		found[keyOf(&o.State.WorkloadKey)] = o
	}
	return found, nil
}

// findCurrent reads some workloads from the projection, and reports whether this is late.
func (s *Source) findCurrent(ctx context.Context, keys []index.Key, show projection.Show, current bool) (objects map[index.Key]*index.Object, late bool, err error) {
	asked := make([]projection.WorkloadKey, len(keys))
	for i := range keys {
		asked[i] = workloadKeyOf(&keys[i])
	}
	var found *projection.Selection
	asOf, err := s.askCurrent(ctx, current, func(ctx context.Context) (projection.Moment, error) {
		var err error
		if found, err = s.Projection.Find(ctx, asked, show); err != nil {
			return projection.Moment{}, err
		}
		return found.Moment, nil
	})
	if err != nil {
		return nil, false, err
	}
	page, err := pageOf(ctx, found, asOf)
	if err != nil {
		return nil, false, err
	}
	objects = make(map[index.Key]*index.Object, len(page.Items))
	for i, o := range page.Items {
		objects[keyOf(&found.Items[i].WorkloadKey)] = o
	}
	return objects, found.Lag() > freshness.StaleAfter, nil
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

// attach gives an object of the index the state that the projection has of it, when it is
// that of this version of it.
func attach(o, projected *index.Object) {
	state := projected.State
	if state.UID == string(o.Meta.UID) && state.ResourceVersion == o.Meta.ResourceVersion {
		o.State, o.AsOf = state, projected.AsOf
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

// plain reports whether the index has all that a list asks for.
func plain(q *index.ListQuery) bool { return q.Projected == nil && q.Custom == nil }
