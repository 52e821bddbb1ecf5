package subscription

import (
	"context"

	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/karmadaresource"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/live"
)

// made is a way to make a noun of an object of an instance.
type made[T any] func(instance string, o *index.Object, fresh freshness.Freshness) (T, error)

// objects follows objects of instances that each are a noun alone.
func objects[T any](ctx context.Context, s *Service, sc scope, fields []changes.Field[T], of made[T], after *string, selection changes.Selection, identity ...any) (<-chan *changes.Event[T], error) {
	c, err := s.confine(sc)
	if err != nil {
		return nil, err
	}
	return begin(ctx, s, &changes.Feed[T]{
		Selection: selection, Fields: fields,
		Bare: func(o *live.Object) (T, error) {
			bare, err := indexed(o)
			if err != nil {
				var none T
				return none, err
			}
			return of(o.Source.Instance, bare, s.fresh())
		},
		Show: func(o *live.Object) (T, error) {
			shown, err := c.shown(o)
			if err != nil {
				var none T
				return none, err
			}
			return of(o.Source.Instance, shown, s.fresh())
		},
		Whole: func(o *live.Object) bool {
			return access.ShownWhole(c.grants[o.Source.Instance], c.typeOf(o.Source), &o.Meta)
		},
		KindOf:    func(source live.Source) string { return c.typeOf(source).Kind },
		Interests: c.interests,
	}, after, identity...)
}

// MemberClustersChanged follows member clusters.
func (s *Service) MemberClustersChanged(ctx context.Context, f *membercluster.ChangeFilter, after *string, selection changes.Selection) (<-chan *membercluster.Change, error) {
	sc := scope{instances: f.Of(), types: []index.Type{index.MemberClusters}, filter: f.Listing()}
	return objects(ctx, s, sc, membercluster.Fields(), membercluster.New, after, selection, "memberClusterChanged", f)
}

// PoliciesChanged follows policies.
func (s *Service) PoliciesChanged(ctx context.Context, f *policy.ChangeFilter, after *string, selection changes.Selection) (<-chan *policy.Change, error) {
	sc := scope{instances: f.Of(), types: f.Types(), filter: f.Listing()}
	return objects(ctx, s, sc, policy.Fields(), policy.New, after, selection, "policyChanged", f)
}

// KarmadaResourcesChanged follows objects of Karmada's own API.
func (s *Service) KarmadaResourcesChanged(ctx context.Context, f *karmadaresource.ChangeFilter, after *string, selection changes.Selection) (<-chan *karmadaresource.Change, error) {
	sc := scope{instances: f.Of(), types: f.Types(), filter: f.Listing()}
	return objects(ctx, s, sc, karmadaresource.Fields(), karmadaresource.New, after, selection, "karmadaResourceChanged", f)
}

// ResourcesChanged follows objects of any kind.
func (s *Service) ResourcesChanged(ctx context.Context, of resource.Kind, f *resource.ChangeFilter, after *string, selection changes.Selection) (<-chan *resource.Change, error) {
	if err := of.Validate(); err != nil {
		return nil, err
	}
	sc := scope{instances: f.Of(), types: []index.Type{{Group: of.Group, Version: of.Version, Resource: of.Resource}}, filter: f.Listing()}
	made := func(instance string, o *index.Object, fresh freshness.Freshness) (*resource.Resource, error) {
		return resource.New(instance, of, o, fresh), nil
	}
	return objects(ctx, s, sc, resource.Fields(), made, after, selection, "resourceChanged", of, f)
}
