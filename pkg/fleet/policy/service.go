package policy

import (
	"context"
	"maps"
	"slices"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Policies reads the policies of one kind.
type Policies[T any] struct {
	lister *listing.Lister
	of     index.Type
	make   func(instance string, o *index.Object, fresh freshness.Freshness) (*T, error)
}

// Service reads the policies of all kinds.
type Service struct {
	Propagation        *Policies[PropagationPolicy]
	ClusterPropagation *Policies[ClusterPropagationPolicy]
	Override           *Policies[OverridePolicy]
	ClusterOverride    *Policies[ClusterOverridePolicy]
}

// NewService makes a Service.
func NewService(lister *listing.Lister) *Service {
	return &Service{
		Propagation:        &Policies[PropagationPolicy]{lister, index.PropagationPolicies, NewPropagationPolicy},
		ClusterPropagation: &Policies[ClusterPropagationPolicy]{lister, index.ClusterPropagationPolicies, NewClusterPropagationPolicy},
		Override:           &Policies[OverridePolicy]{lister, index.OverridePolicies, NewOverridePolicy},
		ClusterOverride:    &Policies[ClusterOverridePolicy]{lister, index.ClusterOverridePolicies, NewClusterOverridePolicy},
	}
}

// Get returns one policy; nil when there is none of that name. Kinds without
// namespace take an empty one.
func (p *Policies[T]) Get(ctx context.Context, instance, namespace, name string) (*T, error) {
	o, err := index.Find(ctx, p.lister.Reader, p.key(object.Name{Instance: instance, Namespace: namespace, Name: name}), index.Whole)
	if o == nil || err != nil {
		return nil, apierror.In(err, instance)
	}
	return p.make(instance, o, p.lister.Freshness.Of(ctx, o.Cluster))
}

// PrefetchNamed starts reading some policies that Get will ask for. When they have been read, it
// calls then, if it is not nil, and only afterwards unblocks the callers that wait for them.
func (p *Policies[T]) PrefetchNamed(ctx context.Context, named []object.Name, then func([]*index.Object)) {
	keys := make([]index.Key, len(named))
	for i, n := range named {
		keys[i] = p.key(n)
	}
	p.lister.Reader.Prefetch(ctx, keys, index.Whole, func(found map[index.Key]*index.Object) {
		if then != nil {
			then(slices.Collect(maps.Values(found)))
		}
	})
}

func (p *Policies[T]) key(n object.Name) index.Key {
	return index.Key{Cluster: v1alpha1.VirtualClusterName(n.Instance), Type: p.of, Namespace: n.Namespace, Name: n.Name}
}

// List returns a page of an instance's policies.
func (p *Policies[T]) List(ctx context.Context, instance string, args page.Args, f *Filter, order *object.Order, needs listing.Needs) (*page.Connection[*T], error) {
	q, err := p.request(ctx, []string{instance}, args, f, order, needs)
	if err != nil {
		return nil, err
	}
	r, err := p.lister.ListOne(ctx, q)
	if err != nil {
		return nil, err
	}
	decode := func(o *index.Object) (*T, error) { return p.make(instance, o, r.Freshness) }
	c, err := listing.Decoded(r, decode)
	if err != nil {
		return nil, err
	}
	return c, listing.CountSelected(c, r, needs.Facets, decode, func(one *T, field projection.FacetField) []string {
		return valuesOf(any(one).(Any), FacetField(field))
	})
}

// Prefetch starts reading what List will ask for in each instance. When the policies have been
// read, it calls then, if it is not nil, and only afterwards unblocks the callers that wait for
// them.
func (p *Policies[T]) Prefetch(ctx context.Context, instances []string, args page.Args, f *Filter, order *object.Order, needs listing.Needs, then func([]*index.Object)) {
	q, err := p.request(ctx, instances, args, f, order, needs)
	if err != nil {
		return // List says what is wrong.
	}
	p.lister.Prefetch(ctx, q, then)
}

// request makes the list of a filter in some instances, and starts reading the member clusters that it
// selects by. Its errors name the argument.
func (p *Policies[T]) request(ctx context.Context, instances []string, args page.Args, f *Filter, order *object.Order, needs listing.Needs) (listing.Request, error) {
	if f == nil {
		f = &Filter{}
	}
	q := listing.Request{
		Noun:      p.of.Kind,
		Types:     []index.Type{p.of},
		Instances: instances,
		Args:      args,
		Filter:    listing.Filter{Namespaces: f.Namespaces, Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector},
		Order:     order.Index(index.Order{Field: index.OrderByNamespace}),
		WithCount: needs.Count,
	}
	if f.Selects == nil && f.Cluster == nil {
		if len(needs.Facets.Fields) > 0 {
			q.Select = listing.SelectAll
		}
		return q, nil
	}
	if err := f.check(); err != nil {
		return q, err
	}
	p.prefetchMembers(ctx, instances, f)
	q.Select, q.SelectIdentity = p.selectOf(f), []any{f.Selects, f.Cluster}
	return q, nil
}
