package binding

import (
	"context"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/index"
)

// Service reads bindings.
type Service struct {
	lister *listing.Lister
}

// NewService makes a Service.
func NewService(lister *listing.Lister) *Service { return &Service{lister: lister} }

// Get returns one binding, a ClusterResourceBinding where the namespace is
// empty; nil when there is none of that name.
func (s *Service) Get(ctx context.Context, instance, namespace, name string) (*Binding, error) {
	t := index.ResourceBindings
	if namespace == "" {
		t = index.ClusterResourceBindings
	}
	o, err := s.lister.Reader.Get(ctx, index.Key{Cluster: v1alpha1.VirtualClusterName(instance), Type: t, Namespace: namespace, Name: name}, index.Whole)
	switch {
	case apierror.Is(err, apierror.CodeNotFound):
		return nil, nil //nolint:nilnil // A missing binding is null in the API, not an error.
	case err != nil:
		return nil, apierror.In(err, instance)
	}
	return New(instance, o, s.lister.Freshness.Of(ctx, o.Cluster))
}
