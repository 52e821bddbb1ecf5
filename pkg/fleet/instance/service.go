package instance

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// Filter says which instances to list.
type Filter struct {
	Name          []string
	NameContains  *string
	LabelSelector *string
	Mode          []v1alpha1.InstanceMode
	State         []v1alpha1.InstanceState
}

// Service reads instances from the watch on the global cluster.
type Service struct {
	instances client.Reader
	freshness *freshness.Tracker
}

// NewService makes a Service that reads from a cache.
func NewService(instances client.Reader, tracker *freshness.Tracker) *Service {
	return &Service{instances: instances, freshness: tracker}
}

// Get returns one instance; nil when there is none of that name.
func (s *Service) Get(ctx context.Context, name string) (*Instance, error) {
	var i v1alpha1.Instance
	err := s.instances.Get(ctx, client.ObjectKey{Name: name}, &i)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // A missing instance is null in the API, not an error.
	case err != nil:
		return nil, err
	}
	return New(&i, s.freshness.Live(ctx)), nil
}

// List returns a page of instances.
func (s *Service) List(ctx context.Context, args page.Args, f *Filter, order *object.Order) (*Connection, error) {
	all, err := s.All(ctx)
	if err != nil {
		return nil, err
	}
	if f == nil {
		f = &Filter{}
	}
	return listing.Memory(listing.MemoryRequest[*Instance]{
		Noun:          TypeName,
		Args:          args,
		Filter:        f.listing(),
		Order:         order.Index(index.Order{Field: index.OrderByName}),
		Match:         f.matches,
		MatchIdentity: f,
		Items:         all,
		Now:           s.freshness.Now(),
		Freshness:     s.freshness.Live(ctx),
	})
}

// Names are the names of all instances, in order.
func (s *Service) Names(ctx context.Context) ([]string, error) {
	all, err := s.All(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Name
	}
	slices.Sort(names)
	return names, nil
}

// All returns all instances, in no order.
func (s *Service) All(ctx context.Context) ([]*Instance, error) {
	var list v1alpha1.InstanceList
	if err := s.instances.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	fresh := s.freshness.Live(ctx)
	items := make([]*Instance, len(list.Items))
	for i := range list.Items {
		items[i] = New(&list.Items[i], fresh)
	}
	return items, nil
}
