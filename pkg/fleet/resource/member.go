package resource

import (
	"context"
	"fmt"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	"github.com/karmada-io/karmada/pkg/util/names"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// InMember is what IDs of objects in member clusters begin with instead of TypeName.
const InMember = "ResourceInMember"

// Members are the member clusters whose objects the index collects.
type Members struct {
	// Clusters returns the names of those of each instance that the user may see.
	Clusters interface {
		Joined(ctx context.Context) (map[string][]string, error)
	}
	// Watched is the watch on the global cluster, which has what is collected.
	Watched client.Reader
}

// ManagedBy is the Work by which Karmada put an object into a member cluster.
type ManagedBy struct {
	WorkNamespace, WorkName string
}

// ClusterName is the member cluster that it is in; nil for an object of the instance itself.
func (r *Resource) ClusterName() *string { return object.Optional(r.member) }

// ManagedBy is the Work of the instance that has its template; nil where Karmada did not put the object
// there, or put it there for another instance.
func (r *Resource) ManagedBy() *ManagedBy {
	meta := &r.Indexed.Meta
	work := &ManagedBy{WorkNamespace: meta.Annotations[workv1alpha2.WorkNamespaceAnnotation], WorkName: meta.Annotations[workv1alpha2.WorkNameAnnotation]}
	if r.member == "" || meta.Labels[karmadautil.ManagedByKarmadaLabel] != karmadautil.ManagedByKarmadaLabelValue || work.WorkName == "" || work.WorkNamespace != names.GenerateExecutionSpaceName(r.member) {
		return nil
	}
	return work
}

// GetInMember returns one object of a member cluster; nil when there is none of that name.
func (s *Service) GetInMember(ctx context.Context, in object.Name, of Kind, namespace, name string) (*Resource, error) {
	c, err := s.ListInMember(ctx, in, []index.Type{of.Type()}, page.Args{First: new(1)}, &Filter{Name: []string{name}, Namespaces: []string{namespace}}, nil, false, index.Whole)
	if err != nil || len(c.Nodes) == 0 {
		return nil, err
	}
	return c.Nodes[0], nil
}

// ListInMember returns a page of objects of some types in a member cluster of an instance, as collected from it. Where
// there are several types, they have kinds.
func (s *Service) ListInMember(ctx context.Context, in object.Name, of []index.Type, args page.Args, f *Filter, order *object.Order, count bool, detail index.Detail) (*Connection, error) {
	result, unread, err := s.InMember(ctx, in, requestOf(nil, of, args, f, order, count, detail))
	switch {
	case err != nil:
		return nil, err
	case unread != "":
		return page.Unread[*Resource](unread), nil
	}
	return listing.Connection(result, func(o *index.Object) *Resource {
		one := New(in.Instance, kindAmong(of, o), o, result.Freshness)
		one.member = in.Name
		return one
	}), nil
}

// kindAmong returns which of some types an object is of.
func kindAmong(types []index.Type, o *index.Object) Kind {
	at := 0
	if len(types) > 1 {
		at = max(at, slices.IndexFunc(types, func(t index.Type) bool { return t.Kind == o.Kind }))
	}
	return Kind{types[at].Group, types[at].Version, types[at].Resource}
}

// InMember reads what a request asks for in a member cluster of an instance. Where nothing can be read, unread says
// why.
func (s *Service) InMember(ctx context.Context, in object.Name, r listing.Request) (result *listing.Result, unread string, err error) {
	for _, of := range r.Types {
		if err := (Kind{of.Group, of.Version, of.Resource}).Validate(); err != nil {
			return nil, "", err
		}
	}
	joined, err := s.members.Clusters.Joined(ctx)
	if err != nil {
		return nil, "", err
	}
	r.Instances, r.Member = []string{in.Instance}, in.Name
	if !slices.Contains(joined[in.Instance], in.Name) {
		if _, _, err := s.lister.Parse(r); err != nil {
			return nil, "", err
		}
		return nil, fmt.Sprintf("objects of %s are not collected: the inventory has no such cluster in this instance", in.Name), nil
	}
	if err := s.askedOf(ctx, in.Name, r.Types); err != nil {
		return nil, "", err
	}
	result, err = s.lister.ListOne(ctx, r)
	if err != nil {
		return nil, "", err
	}
	for _, of := range r.Types {
		state, err := collection.Kind(ctx, s.members.Watched, in.Name, of.GroupVersionResource())
		if err != nil {
			return nil, "", err
		}
		if state == collection.None && !result.Freshness.Stale {
			result.Freshness = freshness.Freshness{Source: result.Freshness.Source, Stale: true, Message: new(fmt.Sprintf("%s of %s are not collected", of.Resource, in.Name))}
		}
	}
	return result, "", nil
}

// PrefetchInMembers starts reading what ListInMember will be asked for in each of some member clusters.
func (s *Service) PrefetchInMembers(ctx context.Context, members []object.Name, of []index.Type, args page.Args, f *Filter, order *object.Order, count bool, detail index.Detail) {
	s.PrefetchInMember(ctx, members, requestOf(nil, of, args, f, order, count, detail))
}

// PrefetchInMember starts reading what InMember will be asked for in each of some member clusters.
func (s *Service) PrefetchInMember(ctx context.Context, members []object.Name, r listing.Request) {
	joined, err := s.members.Clusters.Joined(ctx)
	if err != nil {
		return
	}
	var parts []index.Part
	for _, in := range members {
		if slices.Contains(joined[in.Instance], in.Name) && s.askedOf(ctx, in.Name, r.Types) == nil {
			parts = append(parts, index.Part{Cluster: in.Name})
		}
	}
	if len(parts) > 0 {
		// A cursor belongs to one member cluster, and cannot be of another one too.
		r.Instances, r.Member = []string{members[0].Instance}, members[0].Name
		s.lister.PrefetchParts(ctx, r, parts, nil)
	}
}

// askedOf refuses a type that is not to be collected of a member cluster.
func (s *Service) askedOf(ctx context.Context, member string, types []index.Type) error {
	asked, err := collection.Asked(ctx, s.members.Watched, member)
	if err != nil {
		return err
	}
	for _, of := range types {
		if !asked.Has(of.GroupVersionResource()) {
			return notCollected(member, of, asked)
		}
	}
	return nil
}

// notCollected is the error of a type that is not to be collected of a member cluster.
func notCollected(member string, of index.Type, asked collection.Kinds) error {
	more := ". An administrator can add it to spec.collect.ofMembers of the Instance"
	if access.IsSecret(of) {
		more = ""
	}
	return apierror.Invalid("resource", "%q of %s is not collected of %s; these are: %s%s", of.Resource, of.GroupVersionResource().GroupVersion(), member, asked, more)
}
