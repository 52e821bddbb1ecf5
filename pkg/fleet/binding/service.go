package binding

import (
	"context"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
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
	o, err := index.Find(ctx, s.lister.Reader, index.Key{Cluster: v1alpha1.VirtualClusterName(instance), Type: t, Namespace: namespace, Name: name}, index.Whole)
	if o == nil || err != nil {
		return nil, apierror.In(err, instance)
	}
	return New(instance, o, s.lister.Freshness.Of(ctx, o.Cluster))
}

// Named returns the bindings of some names as Karmada has them, those that exist. Their number does not change
// how many requests are sent.
func (s *Service) Named(ctx context.Context, instance string, names []object.Name) ([]*workv1alpha2.ResourceBinding, error) {
	keys := make([]index.Key, len(names))
	for i, n := range names {
		keys[i] = index.Key{Cluster: v1alpha1.VirtualClusterName(instance), Type: index.ResourceBindings, Namespace: n.Namespace, Name: n.Name}
		if n.Namespace == "" {
			keys[i].Type = index.ClusterResourceBindings
		}
	}
	s.lister.Reader.Prefetch(ctx, keys, index.Whole, nil)
	var out []*workv1alpha2.ResourceBinding
	for _, key := range keys {
		o, err := s.lister.Reader.Get(ctx, key, index.Whole)
		if apierror.Is(err, apierror.CodeNotFound) {
			continue
		}
		if err != nil {
			return nil, apierror.In(err, instance)
		}
		b, err := index.Decode[workv1alpha2.ResourceBinding](o)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}
