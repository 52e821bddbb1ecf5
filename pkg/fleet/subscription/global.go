package subscription

import (
	"context"
	"sync/atomic"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/live"
)

// visibility is what a user may see in the global cluster.
type visibility struct {
	service *Service
	now     atomic.Pointer[authz.Visibility]
}

// look finds out what the user may see now. It names all instances that there are,
// for a global cluster that decides about each separately.
func (s *visibility) look(ctx context.Context) error {
	names, err := s.service.Instances.Names(ctx)
	if err != nil {
		return err
	}
	v, err := s.service.Access.Visibility(ctx, names...)
	if err != nil {
		return err
	}
	s.now.Store(v)
	return nil
}

// interest is the one source of a noun of the global cluster. It stays the same, and
// what may be seen is looked at again when instances come.
func (s *visibility) interest(source live.Source, match func(*live.Object) bool) func(context.Context) ([]live.Interest, error) {
	return func(ctx context.Context) ([]live.Interest, error) {
		if err := s.look(ctx); err != nil {
			return nil, err
		}
		return []live.Interest{{Source: source, Filter: live.Filter{Match: match}, Scope: s.now.Load().ReadingKey()}}, nil
	}
}

// InstancesChanged follows instances.
func (s *Service) InstancesChanged(ctx context.Context, f *instance.Filter, after *string, selection changes.Selection) (<-chan *instance.Change, error) {
	matches, err := f.Matcher()
	if err != nil {
		return nil, err
	}
	sees := &visibility{service: s}
	bare := func(o *live.Object) (*instance.Instance, error) {
		i, err := live.Decoded[v1alpha1.Instance](o)
		if err != nil {
			return nil, err
		}
		return instance.New(i, s.fresh()), nil
	}
	match := func(o *live.Object) bool {
		i, err := bare(o)
		return err == nil && sees.now.Load().Sees(i.Name) && matches(i)
	}
	return begin(ctx, s, &changes.Feed[*instance.Instance]{
		Selection: selection, Fields: instance.Fields(), Bare: bare,
		Show: func(o *live.Object) (*instance.Instance, error) {
			i, err := bare(o)
			if err != nil {
				return nil, err
			}
			if g, _ := sees.now.Load().Instance(i.Name); !g.CanRead("") && i.Status.Summary != nil {
				narrowed := *i.Instance
				narrowed.Status.Summary = nil
				return instance.New(&narrowed, s.fresh()), nil
			}
			return i, nil
		},
		Hide: func(o *live.Object) []string {
			if g, _ := sees.now.Load().Instance(o.Meta.Name); !g.CanRead("") {
				return []string{"summary"}
			}
			return nil
		},
		Whole: func(o *live.Object) bool {
			g, _ := sees.now.Load().Instance(o.Meta.Name)
			return g.CanRead("")
		},
		KindOf:    noKind,
		Interests: sees.interest(live.Source{Resource: v1alpha1.InstanceResource}, match),
	}, after, "instanceChanged", f)
}

// ClustersChanged follows the inventory.
func (s *Service) ClustersChanged(ctx context.Context, f *cluster.Filter, after *string, selection changes.Selection) (<-chan *cluster.Change, error) {
	matches, err := f.Matcher()
	if err != nil {
		return nil, err
	}
	sees := &visibility{service: s}
	bare := func(o *live.Object) (*cluster.Cluster, error) {
		c, err := live.Decoded[v1alpha1.Cluster](o)
		if err != nil {
			return nil, err
		}
		return cluster.New(c, s.fresh()), nil
	}
	match := func(o *live.Object) bool {
		c, err := bare(o)
		if err != nil || !matches(c) {
			return false
		}
		v := sees.now.Load()
		if of := access.InstanceOfCluster(c.Cluster); of != "" {
			return v.Sees(of)
		}
		return v.All()
	}
	figures := func(o *live.Object) bool {
		c, err := bare(o)
		return err == nil && access.Figures(sees.now.Load(), c.Cluster)
	}
	return begin(ctx, s, &changes.Feed[*cluster.Cluster]{
		Selection: selection, Fields: cluster.Fields(), Bare: bare,
		Show: func(o *live.Object) (*cluster.Cluster, error) {
			c, err := bare(o)
			if err != nil || c.Status.Summary == nil || access.Figures(sees.now.Load(), c.Cluster) {
				return c, err
			}
			narrowed := *c.Cluster
			narrowed.Status.Summary = nil
			return cluster.New(&narrowed, s.fresh()), nil
		},
		Hide: func(o *live.Object) []string {
			if !figures(o) {
				return []string{"summary"}
			}
			return nil
		},
		Whole:     figures,
		KindOf:    noKind,
		Interests: sees.interest(live.Source{Resource: v1alpha1.ClusterResource}, match),
	}, after, "clusterChanged", f)
}

func noKind(live.Source) string { return "" }

// always is for nouns of which everybody sees all or nothing.
func always(*live.Object) bool { return true }
