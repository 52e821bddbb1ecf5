package resource

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// askedAtOnce limits the instances that are asked at the same time what they serve.
const askedAtOnce = 8

// ListEverywhere returns a page of objects of one kind, of all instances that the caller may see or
// of some of them. lacking are why it has no objects of some that serve the kind: the index does not
// collect it there. An instance that does not serve the kind has none, and of one that does not
// answer, the list is as old as its freshness says. A kind that none of those that answer serves is an error.
func (s *Service) ListEverywhere(ctx context.Context, only []string, of Kind, args page.Args, f *Filter, order *object.Order, count bool, detail index.Detail) (c *Connection, lacking []error, err error) {
	if err := of.Validate(); err != nil {
		return nil, nil, err
	}
	visible, err := s.visible(ctx, only)
	if err != nil {
		return nil, nil, err
	}
	collected, lacking, err := s.collectedBy(ctx, visible, of)
	if err != nil {
		return nil, nil, err
	}
	if len(collected) == 0 && len(lacking) > 0 {
		// What is missing was not observed, so it is not an empty list of now.
		return page.Unread[*Resource](lacking[0].Error()), lacking, nil
	}
	r, err := s.lister.List(ctx, request(collected, of, args, f, order, count, detail))
	if err != nil {
		return nil, nil, err
	}
	return listing.Connection(r, func(o *index.Object) *Resource {
		return New(v1alpha1.InstanceOfVirtualCluster(o.Cluster), of, o, r.Freshness)
	}), lacking, nil
}

// ListInAllMembers is ListEverywhere for what is in the member clusters of the instances, as collected from them.
func (s *Service) ListInAllMembers(ctx context.Context, only []string, of Kind, args page.Args, f *Filter, order *object.Order, count bool, detail index.Detail) (c *Connection, lacking []error, err error) {
	if err := of.Validate(); err != nil {
		return nil, nil, err
	}
	visible, err := s.visible(ctx, only)
	if err != nil {
		return nil, nil, err
	}
	joined, err := s.members.Clusters.Joined(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := request(visible, of, args, f, order, count, detail)
	r.Members, r.InMembers = []string{}, true
	instanceOf := map[string]string{}
	for _, instance := range visible {
		for _, member := range joined[instance] {
			switch why, err := s.uncollectedOf(ctx, member, of); {
			case err != nil:
				return nil, nil, err
			case why != nil:
				lacking = append(lacking, apierror.In(why, instance))
			default:
				r.Members, instanceOf[member] = append(r.Members, member), instance
			}
		}
	}
	if len(r.Members) == 0 && len(lacking) > 0 {
		return nil, nil, lacking[0]
	}
	result, err := s.lister.List(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	return listing.Connection(result, func(o *index.Object) *Resource {
		one := New(instanceOf[o.Cluster], of, o, result.Freshness)
		one.member = o.Cluster
		return one
	}), lacking, nil
}

// uncollectedOf returns why the index does not have a kind of a member cluster; nil where it has.
func (s *Service) uncollectedOf(ctx context.Context, member string, of Kind) (why, err error) {
	if err := s.askedOf(ctx, member, []index.Type{of.Type()}); apierror.Is(err, apierror.CodeInvalid) {
		return err, nil
	} else if err != nil {
		return nil, err
	}
	state, err := collection.Kind(ctx, s.members.Watched, member, of.gvr())
	if err == nil && state == collection.None {
		why = apierror.Invalid("resource", "%s of %s are not collected yet, so they are not in this list: ask again soon", of.Resource, member)
	}
	return why, err
}

// visible are the instances that the caller may see, or those of some names among them.
func (s *Service) visible(ctx context.Context, only []string) ([]string, error) {
	names, err := s.instances.Names(ctx)
	if only != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(only, name) })
	}
	return names, err
}

// collectedBy returns those of some instances of which the index may have a kind.
func (s *Service) collectedBy(ctx context.Context, instances []string, of Kind) (collected []string, lacking []error, err error) {
	has, silent := make([]bool, len(instances)), make([]bool, len(instances))
	unserved, lacks := make([]error, len(instances)), make([]error, len(instances))
	var asking errgroup.Group
	asking.SetLimit(askedAtOnce)
	for i, name := range instances {
		state, err := s.live.Collected(ctx, name, of.gvr())
		if err != nil {
			return nil, nil, err
		}
		has[i] = state != collection.None
		switch state {
		case collection.Whole:
		case collection.Arriving:
			lacks[i] = apierror.In(apierror.Invalid("resource", "%s of instance %q are being collected: the list may lack some of them. Ask again soon", of.Resource, name), name)
		case collection.None:
			asking.Go(func() error {
				err := s.live.Check(ctx, name, of.gvr())
				switch {
				case err == nil:
					lacks[i] = apierror.In(apierror.Invalid("resource",
						"The index does not collect %s of instance %q, so they are not in this list: ask `instance(name: %q) { resources }`, which reads them from the instance, or name the kind in `spec.collect` of the Instance", of.Resource, name, name), name)
				case apierror.Is(err, apierror.CodeInvalid):
					unserved[i] = err
				default:
					has[i], silent[i] = true, true // It may be collected when it answers.
				}
				return nil
			})
		}
	}
	_ = asking.Wait() // What they return is in the slices.
	answered := 0
	for i, name := range instances {
		if has[i] {
			collected = append(collected, name)
		}
		if !silent[i] {
			answered++
		}
	}
	none := func(err error) bool { return err == nil }
	unserved, lacking = slices.DeleteFunc(unserved, none), slices.DeleteFunc(lacks, none)
	if len(unserved) > 0 && len(unserved) == answered {
		return nil, nil, unserved[0]
	}
	return collected, lacking, nil
}
