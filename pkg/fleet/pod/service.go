package pod

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Service reads pods.
type Service struct {
	lister    *listing.Lister
	instances *instance.Service
	clusters  *cluster.Service
	members   *membercluster.Service
	watched   client.Reader
}

// NewService makes a Service. What it shows it reads with the lister, as far as the user may see it;
// the watch on the global cluster has what is collected.
func NewService(lister *listing.Lister, instances *instance.Service, clusters *cluster.Service, members *membercluster.Service, watched client.Reader) *Service {
	return &Service{lister: lister, instances: instances, clusters: clusters, members: members, watched: watched}
}

// List returns a page of the pods of all instances.
func (s *Service) List(ctx context.Context, a ListArgs, needs Needs) (*Connection, error) {
	names, err := s.Instances(ctx, a.Filter)
	if err != nil {
		return nil, err
	}
	members, err := s.membersOf(ctx, a.Filter)
	if err != nil {
		return nil, err
	}
	r, err := a.request(names, members.of(names), needs)
	if err != nil {
		return nil, err
	}
	result, err := s.lister.List(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.page(ctx, result, r, needs)
}

// Instances returns the instances that List reads with a filter.
func (s *Service) Instances(ctx context.Context, f *Filter) ([]string, error) {
	names, err := s.instances.Names(ctx)
	return f.within(names), err
}

// ListInstance returns a page of the pods of one instance.
func (s *Service) ListInstance(ctx context.Context, name string, a ListArgs, needs Needs) (*Connection, error) {
	if err := a.Filter.inside([]string{name}); err != nil {
		return nil, err
	}
	members, err := s.membersOf(ctx, a.Filter)
	if err != nil {
		return nil, err
	}
	r, err := a.request([]string{name}, members.of([]string{name}), needs)
	if err != nil {
		return nil, err
	}
	result, err := s.lister.ListOne(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.page(ctx, result, r, needs)
}

// Prefetch starts reading what ListInstance will be asked for in each instance, and what hangs on it.
func (s *Service) Prefetch(ctx context.Context, instances []string, a ListArgs, needs Needs) {
	if a.Filter.inside(instances) != nil {
		return // ListInstance says what is wrong.
	}
	members, err := s.membersOf(ctx, a.Filter)
	if err != nil {
		return
	}
	var some []string
	for _, name := range instances {
		if len(members[name]) > 0 {
			some = append(some, name)
		}
	}
	r, err := a.request(some, members.of(some), needs)
	if err != nil {
		return
	}
	s.lister.Prefetch(ctx, r, func(rows []*index.Object) { s.prefetch(ctx, rows, needs) })
}

// ListInMember returns a page of the pods of one member cluster. Concurrent calls for several share a statement.
func (s *Service) ListInMember(ctx context.Context, in object.Name, a ListArgs, needs Needs) (*Connection, error) {
	if err := a.Filter.inside([]string{in.Instance}); err != nil {
		return nil, err
	}
	members, err := s.membersOf(ctx, a.Filter)
	if err != nil {
		return nil, err
	}
	r, err := a.requestIn(in, needs)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(members[in.Instance], in.Name) {
		r.Members = []string{}
	}
	result, err := s.lister.ListOne(ctx, r)
	if err != nil {
		return nil, err
	}
	// Facets are counted by a list that is not parted.
	r.Part, r.Projected.Pods.Clusters = nil, []string{in.Name}
	return s.page(ctx, result, r, needs)
}

// PrefetchInMembers starts reading what ListInMember will be asked for in each of some member clusters.
func (s *Service) PrefetchInMembers(ctx context.Context, of []object.Name, a ListArgs, needs Needs) {
	members, err := s.membersOf(ctx, a.Filter)
	if err != nil {
		return
	}
	var parts []index.Part
	for _, in := range of {
		if a.Filter.inside([]string{in.Instance}) == nil && slices.Contains(members[in.Instance], in.Name) {
			parts = append(parts, index.Part{Cluster: v1alpha1.VirtualClusterName(in.Instance), Value: in.Name})
		}
	}
	if len(parts) == 0 {
		return
	}
	r, err := a.requestIn(of[0], needs)
	if err != nil {
		return
	}
	s.lister.PrefetchParts(ctx, r, parts, func(rows []*index.Object) { s.prefetch(ctx, rows, needs) })
}

// Members returns the member clusters of some instances that are collected, of which a list with a
// filter shows the pods.
func (s *Service) Members(ctx context.Context, instances []string, f *Filter) ([]string, error) {
	members, err := s.membersOf(ctx, f)
	return members.of(instances), err
}

// members are the member clusters that are collected, by instance.
type members map[string][]string

// membersOf are those that a filter names. A member that was joined outside Kairship is not
// collected, and has no pods here.
func (s *Service) membersOf(ctx context.Context, f *Filter) (members, error) {
	joined, err := s.clusters.Joined(ctx)
	if err != nil {
		return nil, err
	}
	of := members{}
	for name, clusters := range joined {
		of[name] = f.of(clusters)
	}
	return of, nil
}

// of are the members of some instances; it is never nil.
func (m members) of(instances []string) []string {
	all := []string{}
	for _, name := range instances {
		all = append(all, m[name]...)
	}
	return all
}

// prefetch starts reading what hangs on some pods.
func (s *Service) prefetch(ctx context.Context, rows []*index.Object, needs Needs) {
	if !needs.MemberClusters {
		return
	}
	var named []object.Name
	seen := map[object.Name]bool{}
	for _, o := range rows {
		if one := (object.Name{Instance: o.Pod.Instance, Name: o.Pod.Cluster}); !seen[one] {
			seen[one] = true
			named = append(named, one)
		}
	}
	s.members.PrefetchNamed(ctx, named)
}

// page makes the page of a result, with what was asked for.
func (s *Service) page(ctx context.Context, result *listing.Result, r listing.Request, needs Needs) (*Connection, error) {
	s.prefetch(ctx, result.Items, needs)
	fresh, err := s.Uncollected(ctx, r.Members, result.Freshness)
	if err != nil {
		return nil, err
	}
	result.Freshness = fresh
	c, err := listing.Decoded(result, func(o *index.Object) (*Pod, error) { return New(o.Pod.Instance, o, fresh) })
	if err != nil {
		return nil, err
	}
	listing.Count(ctx, s.lister, c, r, needs.Facets)
	return c, nil
}

// Uncollected returns the freshness of a list of pods in some member clusters of which one may not have
// its pods collected: then the list is not known to be whole at any moment.
func (s *Service) Uncollected(ctx context.Context, clusters []string, fresh freshness.Freshness) (freshness.Freshness, error) {
	if fresh.Stale {
		return fresh, nil
	}
	for _, name := range clusters {
		state, err := collection.Kind(ctx, s.watched, name, index.Pods.GroupVersionResource())
		if err != nil {
			return fresh, err
		}
		if state == collection.None {
			return freshness.Freshness{Source: fresh.Source, Stale: true, Message: new(fmt.Sprintf("pods of %s are not collected", name))}, nil
		}
	}
	return fresh, nil
}

// FacetsOf returns the facets of a list in the order of some fields. They were counted with the list;
// see Needs.
func FacetsOf(c *Connection, fields []projection.PodFacetField, first *int) ([]projection.PodFacet, error) {
	asked := make([]projection.FacetField, len(fields))
	for i, field := range fields {
		asked[i] = projection.FacetField(field)
	}
	counted, err := listing.FacetsOf(c, asked, first)
	if err != nil {
		return nil, err
	}
	facets := make([]projection.PodFacet, len(counted))
	for i, f := range counted {
		facets[i] = projection.PodFacet{Field: projection.PodFacetField(f.Field), Values: f.Values, TotalValues: f.TotalValues}
	}
	return facets, nil
}
