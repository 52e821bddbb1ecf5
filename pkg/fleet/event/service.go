package event

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// Filter says which events to list.
type Filter struct {
	Namespaces                               []string
	Type, Reason, InvolvedKind, InvolvedName *string
}

// Members reads what is in member clusters; *resource.Service does.
type Members interface {
	InMember(ctx context.Context, in object.Name, r listing.Request) (result *listing.Result, unread string, err error)
	PrefetchInMember(ctx context.Context, members []object.Name, r listing.Request)
}

// Service reads events.
type Service struct {
	// Members reads those of member clusters.
	Members Members

	lister *listing.Lister
}

// NewService makes a Service.
func NewService(lister *listing.Lister) *Service { return &Service{lister: lister} }

// List returns a page of an instance's events.
func (s *Service) List(ctx context.Context, instance string, args page.Args, f *Filter, order *object.Order, count bool) (*Connection, error) {
	r, err := s.lister.ListOne(ctx, request([]string{instance}, args, f, order, count))
	if err != nil {
		return nil, err
	}
	return listing.Decoded(r, New)
}

// ListInMember returns a page of the events of a member cluster, as collected from it.
func (s *Service) ListInMember(ctx context.Context, in object.Name, args page.Args, f *Filter, order *object.Order, count bool) (*Connection, error) {
	r, unread, err := s.Members.InMember(ctx, in, request(nil, args, f, order, count))
	switch {
	case err != nil:
		return nil, err
	case unread != "":
		return page.Unread[*Event](unread), nil
	}
	return listing.Decoded(r, New)
}

// PrefetchInMembers starts reading what ListInMember will be asked for in each of some member clusters.
func (s *Service) PrefetchInMembers(ctx context.Context, members []object.Name, args page.Args, f *Filter, order *object.Order, count bool) {
	s.Members.PrefetchInMember(ctx, members, request(nil, args, f, order, count))
}

// About returns a page of the events about one object. Concurrent calls for several objects share a
// request.
func (s *Service) About(ctx context.Context, instance, uid string, args page.Args, count bool) (*Connection, error) {
	result, err := s.lister.ListOne(ctx, about([]string{instance}, uid, args, count))
	if err != nil {
		return nil, err
	}
	return listing.Decoded(result, New)
}

// Wanted is a page of the events about an object that will be asked for.
type Wanted struct {
	Args  page.Args
	Count bool
}

// PrefetchAbout starts reading what About will be asked for about each of some
// objects of instances.
func (s *Service) PrefetchAbout(ctx context.Context, objects []*index.Object, w Wanted) {
	var instances []string
	parts := make([]index.Part, len(objects))
	for i, o := range objects {
		parts[i] = index.Part{Cluster: o.Cluster, Value: string(o.Meta.UID)}
		if name := v1alpha1.InstanceOfVirtualCluster(o.Cluster); !slices.Contains(instances, name) {
			instances = append(instances, name)
		}
	}
	s.lister.PrefetchParts(ctx, about(instances, "", w.Args, w.Count), parts, nil)
}

// Prefetch starts reading what List will be asked for in each instance.
func (s *Service) Prefetch(ctx context.Context, instances []string, args page.Args, f *Filter, order *object.Order, count bool) {
	s.lister.Prefetch(ctx, request(instances, args, f, order, count), nil)
}

// about makes the list of the events about an object.
func about(instances []string, uid string, args page.Args, count bool) listing.Request {
	r := request(instances, args, nil, nil, count)
	r.Part = &index.FieldEquals{Path: []string{"involvedObject", "uid"}, Value: uid}
	return r
}

func request(instances []string, args page.Args, f *Filter, order *object.Order, count bool) listing.Request {
	r := listing.Request{
		Noun:      "Event",
		Types:     []index.Type{index.Events},
		Instances: instances,
		Args:      args,
		Order:     order.Index(index.Order{Field: index.OrderByCreation, Desc: true}),
		WithCount: count,
	}
	if f == nil {
		return r
	}
	r.Filter.Namespaces = f.Namespaces
	for _, field := range []struct {
		value *string
		path  []string
	}{
		{f.Type, []string{"type"}},
		{f.Reason, []string{"reason"}},
		{f.InvolvedKind, []string{"involvedObject", "kind"}},
		{f.InvolvedName, []string{"involvedObject", "name"}},
	} {
		if field.value != nil {
			r.Fields = append(r.Fields, index.FieldEquals{Path: field.path, Value: *field.value})
		}
	}
	return r
}
