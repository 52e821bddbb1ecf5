package event

import (
	"context"

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

// Service reads events.
type Service struct {
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

// About returns a page of the events about one object. The events of several
// objects that are asked for at the same time are read together.
func (s *Service) About(ctx context.Context, instance, uid string, args page.Args, count bool) (*Connection, error) {
	r := request([]string{instance}, args, nil, nil, count)
	r.Part = &index.FieldEquals{Path: []string{"involvedObject", "uid"}, Value: uid}
	result, err := s.lister.ListOne(ctx, r)
	if err != nil {
		return nil, err
	}
	return listing.Decoded(result, New)
}

// Prefetch starts reading what List will be asked for in each instance.
func (s *Service) Prefetch(ctx context.Context, instances []string, args page.Args, f *Filter, order *object.Order, count bool) {
	s.lister.Prefetch(ctx, request(instances, args, f, order, count), nil)
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
