package clusternode

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/index"
)

// Filter says which nodes to list.
type Filter struct {
	Name           []string
	NameContains   *string
	LabelSelector  *string
	Ready          *bool
	Unschedulable  *bool
	Taint          *membercluster.TaintFilter
	KubeletVersion []string
}

// Service reads nodes.
type Service struct {
	// Requests reads what the pods on nodes request.
	Requests Requests

	resources *resource.Service
}

// NewService makes a Service, which reads nodes as objects in member clusters are read.
func NewService(resources *resource.Service) *Service { return &Service{resources: resources} }

// List returns a page of the nodes of a member cluster.
func (s *Service) List(ctx context.Context, in object.Name, args page.Args, f *Filter, order *object.Order, count bool) (*Connection, error) {
	result, unread, err := s.resources.InMember(ctx, in, request(args, f, order, count))
	switch {
	case err != nil:
		return nil, err
	case unread != "":
		return page.Unread[*Node](unread), nil
	}
	return listing.Decoded(result, func(o *index.Object) (*Node, error) { return New(in.Instance, o, result.Freshness) })
}

// Prefetch starts reading what List will be asked for in each of some member clusters.
func (s *Service) Prefetch(ctx context.Context, members []object.Name, args page.Args, f *Filter, order *object.Order, count bool) {
	s.resources.PrefetchInMember(ctx, members, request(args, f, order, count))
}

func request(args page.Args, f *Filter, order *object.Order, count bool) listing.Request {
	if f == nil {
		f = &Filter{}
	}
	r := listing.Request{
		Noun:      TypeName,
		Types:     []index.Type{{Version: "v1", Resource: "nodes"}},
		Args:      args,
		Filter:    listing.Filter{Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector},
		Order:     order.Index(index.Order{Field: index.OrderByName}),
		WithCount: count,
		Detail:    index.Whole,
	}
	if f.Ready != nil || f.Unschedulable != nil || f.Taint != nil || f.KubeletVersion != nil {
		r.Select, r.SelectIdentity = f.selects, []any{f.Ready, f.Unschedulable, f.Taint, f.KubeletVersion}
	}
	return r
}

// selects is the Select of the filter.
func (f *Filter) selects(_ context.Context, o *index.Object) (bool, error) {
	n, err := New("", o, freshness.Freshness{})
	if err != nil {
		return false, err
	}
	return (f.Ready == nil || n.Ready() == *f.Ready) &&
		(f.Unschedulable == nil || n.Unschedulable() == *f.Unschedulable) &&
		(f.Taint == nil || slices.ContainsFunc(n.Taints(), f.Taint.Matches)) &&
		(f.KubeletVersion == nil || cluster.OfVersion(n.node.Status.NodeInfo.KubeletVersion, f.KubeletVersion)), nil
}
