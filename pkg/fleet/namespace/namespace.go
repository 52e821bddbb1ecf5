// Package namespace answers queries about the namespaces of an instance.
package namespace

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// TypeName is the noun's name in the schema and in IDs.
const TypeName = "Namespace"

// Connection is a page of them.
type Connection = page.Connection[*Namespace]

// Edge is one of them with its place in the list.
type Edge = page.Edge[*Namespace]

// Filter says which namespaces to list.
type Filter struct {
	Name          []string
	NameContains  *string
	LabelSelector *string
}

// Namespace is a namespace of an instance.
type Namespace struct {
	object.Object
}

// New makes a Namespace.
func New(instance string, o *index.Object, fresh freshness.Freshness) *Namespace {
	return &Namespace{Object: object.New(instance, o, fresh)}
}

// IsNode marks it as a Node.
func (*Namespace) IsNode() {}

// ID is its global ID.
func (n *Namespace) ID() string { return nodeid.New(TypeName, n.Instance, n.Name()) }

// Phase is Active or Terminating.
func (n *Namespace) Phase() (string, error) {
	ns, err := index.Decode[corev1.Namespace](n.Indexed)
	if err != nil {
		return "", err
	}
	if ns.Status.Phase == "" {
		return string(corev1.NamespaceActive), nil
	}
	return string(ns.Status.Phase), nil
}

// Service reads namespaces.
type Service struct {
	lister *listing.Lister
}

// NewService makes a Service.
func NewService(lister *listing.Lister) *Service { return &Service{lister: lister} }

// Get returns one namespace; nil when there is none of that name.
func (s *Service) Get(ctx context.Context, instance, name string) (*Namespace, error) {
	o, err := index.Find(ctx, s.lister.Reader, key(instance, name), index.Whole)
	if o == nil || err != nil {
		return nil, apierror.In(err, instance)
	}
	return New(instance, o, s.lister.Freshness.Of(ctx, o.Cluster)), nil
}

// PrefetchNamed starts reading some namespaces that Get will be asked for.
func (s *Service) PrefetchNamed(ctx context.Context, named []object.Name) {
	keys := make([]index.Key, len(named))
	for i, n := range named {
		keys[i] = key(n.Instance, n.Name)
	}
	s.lister.Reader.Prefetch(ctx, keys, index.Whole, nil)
}

func key(instance, name string) index.Key {
	return index.Key{Cluster: v1alpha1.VirtualClusterName(instance), Type: index.Namespaces, Name: name}
}

// List returns a page of an instance's namespaces.
func (s *Service) List(ctx context.Context, instance string, args page.Args, f *Filter, order *object.Order, count bool) (*Connection, error) {
	r, err := s.lister.ListOne(ctx, request([]string{instance}, args, f, order, count))
	if err != nil {
		return nil, err
	}
	return listing.Connection(r, func(o *index.Object) *Namespace { return New(instance, o, r.Freshness) }), nil
}

// Unknown returns those of some namespaces that none of some instances has, as far as
// the caller may see, by one request to the index. It returns none where there are more
// of them than one request returns.
func (s *Service) Unknown(ctx context.Context, instances, names []string) ([]string, error) {
	q, _, err := s.lister.Parse(request(instances, page.Args{First: new(page.MaxSize)}, &Filter{Name: names}, nil, false))
	if err != nil {
		return nil, err
	}
	q.Detail = index.Metadata
	found, err := s.lister.Reader.List(ctx, q)
	if err != nil || found.HasNext {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(found.Items, func(o *index.Object) bool { return o.Meta.Name == name })
	}), nil
}

// Prefetch starts reading what List will be asked for in each instance.
func (s *Service) Prefetch(ctx context.Context, instances []string, args page.Args, f *Filter, order *object.Order, count bool) {
	s.lister.Prefetch(ctx, request(instances, args, f, order, count), nil)
}

func request(instances []string, args page.Args, f *Filter, order *object.Order, count bool) listing.Request {
	if f == nil {
		f = &Filter{}
	}
	return listing.Request{
		Noun:      TypeName,
		Types:     []index.Type{index.Namespaces},
		Instances: instances,
		Args:      args,
		Filter:    listing.Filter{Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector},
		Order:     order.Index(index.Order{Field: index.OrderByName}),
		WithCount: count,
	}
}
