package membercluster

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Filter says which member clusters to list.
type Filter struct {
	Name          []string
	NameContains  *string
	LabelSelector *string
	cluster.PropertyFilter
	Taint *TaintFilter
}

// TaintFilter describes a taint. What is nil may have any value.
type TaintFilter struct {
	Key           string
	Value, Effect *string
}

// Service reads member clusters.
type Service struct {
	lister *listing.Lister
}

// NewService makes a Service.
func NewService(lister *listing.Lister) *Service { return &Service{lister: lister} }

// Get returns one member cluster; nil when none of that name is joined.
func (s *Service) Get(ctx context.Context, instance, name string) (*MemberCluster, error) {
	o, err := index.Find(ctx, s.lister.Reader, key(instance, name), index.Whole)
	if o == nil || err != nil {
		return nil, apierror.In(err, instance)
	}
	return New(instance, o, s.lister.Freshness.Of(ctx, o.Cluster))
}

// PrefetchNamed starts reading some member clusters that Get will be asked for.
func (s *Service) PrefetchNamed(ctx context.Context, named []object.Name) {
	keys := make([]index.Key, len(named))
	for i, n := range named {
		keys[i] = key(n.Instance, n.Name)
	}
	s.lister.Reader.Prefetch(ctx, keys, index.Whole, nil)
}

// List returns a page of an instance's member clusters. It passes them to then before it returns.
func (s *Service) List(ctx context.Context, instance string, args page.Args, f *Filter, order *object.Order, needs listing.Needs, then func([]*index.Object)) (*Connection, error) {
	r, err := s.lister.ListOne(ctx, request([]string{instance}, args, f, order, needs))
	if err != nil {
		return nil, err
	}
	then(r.Items)
	decode := func(o *index.Object) (*MemberCluster, error) { return New(instance, o, r.Freshness) }
	c, err := listing.Decoded(r, decode)
	if err != nil {
		return nil, err
	}
	return c, listing.CountSelected(c, r, needs.Facets, decode, func(m *MemberCluster, field projection.FacetField) []string {
		return m.properties().Values(cluster.FacetField(field))
	})
}

// Prefetch starts reading what List will be asked for in each instance, and passes what was read to
// then.
func (s *Service) Prefetch(ctx context.Context, instances []string, args page.Args, f *Filter, order *object.Order, needs listing.Needs, then func([]*index.Object)) {
	s.lister.Prefetch(ctx, request(instances, args, f, order, needs), then)
}

func request(instances []string, args page.Args, f *Filter, order *object.Order, needs listing.Needs) listing.Request {
	if f == nil {
		f = &Filter{}
	}
	r := listing.Request{
		Noun:      TypeName,
		Types:     []index.Type{index.MemberClusters},
		Instances: instances,
		Args:      args,
		Filter:    listing.Filter{Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector},
		Order:     order.Index(index.Order{Field: index.OrderByName}),
		WithCount: needs.Count,
	}
	switch {
	case !f.PropertyFilter.Empty() || f.Taint != nil:
		r.Select, r.SelectIdentity = f.selects, []any{f.PropertyFilter, f.Taint}
	case len(needs.Facets.Fields) > 0:
		r.Select = listing.SelectAll
	}
	return r
}

// selects is the Select of the filter.
func (f *Filter) selects(_ context.Context, o *index.Object) (bool, error) {
	m, err := New(v1alpha1.InstanceOfVirtualCluster(o.Cluster), o, freshness.Freshness{})
	return err == nil && f.PropertyFilter.Matches(m.properties()) && (f.Taint == nil || slices.ContainsFunc(m.Taints(), f.Taint.Matches)), err
}

// Matches reports whether a taint is as the filter describes it.
func (f *TaintFilter) Matches(t Taint) bool {
	return t.Key == f.Key && (f.Value == nil || t.Value == *f.Value) && (f.Effect == nil || t.Effect == *f.Effect)
}

func key(instance, name string) index.Key {
	return index.Key{Cluster: v1alpha1.VirtualClusterName(instance), Type: index.MemberClusters, Name: name}
}
