package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Filter says which clusters to list.
type Filter struct {
	Name          []string
	NameContains  *string
	LabelSelector *string
	Type          []v1alpha1.ClusterType
	// Instances they are joined to; "" stands for none.
	Instances     []string
	IncludeHidden bool
	PropertyFilter
}

// Service reads the inventory from the watch on the global cluster.
type Service struct {
	clusters  client.Reader
	freshness *freshness.Tracker
}

// NewService makes a Service that reads from a cache.
func NewService(clusters client.Reader, tracker *freshness.Tracker) *Service {
	return &Service{clusters: clusters, freshness: tracker}
}

// Get returns one cluster; nil when there is none of that name.
func (s *Service) Get(ctx context.Context, name string) (*Cluster, error) {
	var c v1alpha1.Cluster
	err := s.clusters.Get(ctx, client.ObjectKey{Name: name}, &c)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // A missing cluster is null in the API, not an error.
	case err != nil:
		return nil, err
	}
	return New(&c, s.freshness.Live(ctx)), nil
}

// List returns a page of the inventory.
func (s *Service) List(ctx context.Context, args page.Args, f *Filter, order *object.Order, facets listing.Facets) (*Connection, error) {
	all, err := s.All(ctx)
	if err != nil {
		return nil, err
	}
	if f == nil {
		f = &Filter{}
	}
	return listing.Memory(listing.MemoryRequest[*Cluster]{
		Noun:          TypeName,
		Args:          args,
		Filter:        f.listing(),
		Order:         order.Index(index.Order{Field: index.OrderByName}),
		Match:         f.matches,
		MatchIdentity: f,
		Facets:        facets,
		Values: func(c *Cluster, field projection.FacetField) []string {
			return c.properties().Values(FacetField(field))
		},
		Items:     all,
		Now:       s.freshness.Now(),
		Freshness: s.freshness.Live(ctx),
	})
}

// Joined are the names of the physical clusters that are joined to instances, by the name of the
// instance. They are also the names of their rows in the index and, because Kairship joins
// them so, those of the instance's member clusters.
func (s *Service) Joined(ctx context.Context) (map[string][]string, error) {
	all, err := s.All(ctx)
	if err != nil {
		return nil, err
	}
	joined := map[string][]string{}
	for _, c := range all {
		if instance := c.InstanceName(); instance != "" && c.Type() == v1alpha1.ClusterTypePhysical {
			joined[instance] = append(joined[instance], c.Name)
		}
	}
	return joined, nil
}

// All returns all clusters of the inventory, in no order.
func (s *Service) All(ctx context.Context) ([]*Cluster, error) {
	var list v1alpha1.ClusterList
	if err := s.clusters.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	fresh := s.freshness.Live(ctx)
	items := make([]*Cluster, len(list.Items))
	for i := range list.Items {
		items[i] = New(&list.Items[i], fresh)
	}
	return items, nil
}
