// Package projected reads the states of workloads, and lists that are selected by them. The
// projection says which workloads are in a list, and how many; the index has the objects.
package projected

import (
	"context"
	"errors"
	"fmt"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/upstream"
)

const (
	// currentWithin bounds the wait for a projection that has to have the caller's own
	// change. It usually takes milliseconds.
	currentWithin = 2 * time.Second
	currentPause  = 10 * time.Millisecond
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
type Source struct {
	Index

	// Projection is the database; nil where the program was given none.
	Projection *projection.DB
	// Timeout bounds one statement.
	Timeout time.Duration
	Now     func() time.Time
}

// States reads the states of some workloads. None is known where there is no projection,
// while it is built, and when it is so late that answers would be stale.
func (s *Source) States(ctx context.Context, keys []index.Key) (map[index.Key]*index.State, error) {
	if s.Projection == nil {
		return nil, nil
	}
	asked := make([]projection.WorkloadKey, len(keys))
	for i := range keys {
		kind, _ := workload.KindFromGVR(keys[i].Type.GroupVersionResource()) // Another kind has no row.
		asked[i] = projection.WorkloadKey{
			Instance: v1alpha1.InstanceOfVirtualCluster(keys[i].Cluster), Namespace: keys[i].Namespace, Name: keys[i].Name, Kind: string(kind),
		}
	}
	var found *projection.States
	asOf, err := s.settled(ctx, false, func(ctx context.Context) (projection.Moment, error) {
		var err error
		if found, err = s.Projection.States(ctx, asked); err != nil {
			return projection.Moment{}, err
		}
		return found.Moment, nil
	})
	if errors.Is(err, projection.ErrIncomplete) {
		return nil, nil
	}
	if err != nil || found.Lag() > freshness.StaleAfter {
		return nil, err
	}
	states := make(map[index.Key]*index.State, len(found.States))
	for i := range found.States {
		one := &found.States[i]
		states[keyOf(&one.WorkloadKey)] = &index.State{State: *one, AsOf: asOf}
	}
	return states, nil
}

// List reads a page over several clusters.
func (s *Source) List(ctx context.Context, q index.ListQuery) (*index.Page, error) {
	if !q.Projected {
		return s.Index.List(ctx, q)
	}
	if s.Projection == nil {
		return nil, apierror.New(apierror.CodeIndexUnavailable,
			"Workloads cannot be selected by their state here: the API server was started without --index-database-file; leave filter.health out, or ask the operator of Kairship for it")
	}
	selects, err := queryOf(&q)
	if err != nil {
		return nil, err
	}
	if len(q.Facets) > 0 {
		var counted *projection.Counted
		asOf, err := s.settled(ctx, q.Current, func(ctx context.Context) (projection.Moment, error) {
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
	var selection *projection.Selection
	asOf, err := s.settled(ctx, q.Current, func(ctx context.Context) (projection.Moment, error) {
		var err error
		if selection, err = s.Projection.Select(ctx, selects); err != nil {
			return projection.Moment{}, err
		}
		return selection.Moment, nil
	})
	if err != nil {
		return nil, err
	}
	page := &index.Page{HasNext: selection.HasNext, Count: selection.Count, AsOf: asOf}
	keys := make([]index.Key, len(selection.Items))
	for i := range selection.Items {
		keys[i] = keyOf(&selection.Items[i].WorkloadKey)
	}
	if n := len(keys); n > 0 {
		end := positionOf(&selection.Items[n-1])
		page.End = &end
	}
	found, err := s.GetMany(ctx, keys, q.Detail)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if o := found[key]; o != nil { // Else it was deleted after the projection was read.
			page.Items = append(page.Items, o)
		}
	}
	return page, nil
}

// settled asks the projection, until it has everything that the index had when it was
// asked first, if it has to be current. asOf is the moment whose state it shows.
func (s *Source) settled(ctx context.Context, current bool, ask func(context.Context) (projection.Moment, error)) (asOf time.Time, err error) {
	began := 0.0
	for deadline := s.Now().Add(currentWithin); ; {
		asked := s.Now()
		at, err := s.send(ctx, ask)
		if err != nil {
			return time.Time{}, err
		}
		if began == 0 {
			began = at.Now
		}
		if !current || at.Pending == 0 || at.Pending > began {
			return asked.Add(-at.Lag()), nil
		}
		if s.Now().After(deadline) {
			return time.Time{}, apierror.New(apierror.CodeIndexUnavailable,
				"the state of workloads is %s behind your change; without the consistency token you get what is known", at.Lag().Round(time.Second))
		}
		select {
		case <-ctx.Done():
			return time.Time{}, timedOut(ctx.Err())
		case <-time.After(currentPause):
		}
	}
}

// send sends one statement. Requests of one user to the index wait for their turn, and
// these are some of them.
func (s *Source) send(ctx context.Context, ask func(context.Context) (projection.Moment, error)) (projection.Moment, error) {
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	done, err := quota.Turn(limited)
	if err != nil {
		return projection.Moment{}, timedOut(err)
	}
	defer done()
	sent := upstream.From(ctx).Send(upstream.Target{Kind: upstream.Index})
	at, err := ask(limited)
	sent(err)
	switch {
	case err == nil:
		return at, nil
	case ctx.Err() != nil:
		return at, timedOut(ctx.Err())
	case errors.Is(err, projection.ErrIncomplete):
		return at, apierror.Wrap(err, apierror.CodeIndexUnavailable, "The states of all workloads are being computed, and cannot be selected by yet; try again in a minute")
	}
	return at, apierror.Wrap(err, apierror.CodeIndexUnavailable, "The database of the index does not answer")
}

func timedOut(err error) error {
	return apierror.Wrap(err, apierror.CodeTimeout, "The database of the index did not answer before the request's deadline")
}

// queryOf is the query for the projection.
func queryOf(q *index.ListQuery) (*projection.Query, error) {
	p := &projection.Query{
		Namespaces: q.Namespaces, Names: q.Names, Health: q.Health, NameContains: q.NameContains, Selector: q.Selector, ScheduledTo: q.ScheduledTo,
		Limit: q.Limit, WithCount: q.WithCount, Order: projection.Order{Field: orderOf(q.Order.Field), Desc: q.Order.Desc},
	}
	for _, cluster := range q.Clusters {
		p.Instances = append(p.Instances, v1alpha1.InstanceOfVirtualCluster(cluster))
	}
	for _, scope := range q.Scopes {
		instance := v1alpha1.InstanceOfVirtualCluster(scope.Cluster)
		if scope.EveryNamespace { // Every workload has a namespace.
			p.Instances = append(p.Instances, instance)
		} else {
			p.Scopes = append(p.Scopes, projection.Scope{Instance: instance, Namespaces: scope.Namespaces})
		}
	}
	for _, t := range q.Types {
		kind, ok := workload.KindFromGVR(t.GroupVersionResource())
		if !ok {
			return nil, fmt.Errorf("%s is no kind of workload, and has no state to be selected by", t.Kind)
		}
		p.Kinds = append(p.Kinds, string(kind))
	}
	if q.After != nil {
		after, err := placeOf(q.After)
		if err != nil {
			return nil, err
		}
		p.After = after
	}
	for _, f := range q.Fields {
		if err := narrow(p, f); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// narrow adds the condition that a field of the template has a value. The projection has
// the labels, and the annotations in which Karmada names the policy.
func narrow(p *projection.Query, f index.FieldEquals) error {
	if len(f.Path) == 3 && f.Path[0] == "metadata" {
		key := f.Path[2]
		if f.Path[1] == "labels" {
			p.Labels = append(p.Labels, key+"="+f.Value)
			return nil
		}
		if p.Policy == nil {
			p.Policy = &projection.Policy{}
		}
		switch key {
		case policyv1alpha1.PropagationPolicyNamespaceAnnotation:
			p.Policy.Namespace = f.Value
			return nil
		case policyv1alpha1.PropagationPolicyNameAnnotation, policyv1alpha1.ClusterPropagationPolicyAnnotation:
			p.Policy.Name = f.Value
			return nil
		}
	}
	return fmt.Errorf("the projection does not have the field %q", f.Path)
}

func orderOf(field index.OrderField) projection.OrderField {
	switch field {
	case index.OrderByName:
		return projection.ByName
	case index.OrderByCreation:
		return projection.ByCreation
	case index.OrderByNamespace:
	}
	return projection.ByNamespace
}
