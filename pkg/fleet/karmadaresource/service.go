package karmadaresource

import (
	"context"
	"errors"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/uncollected"
	"github.com/kairship-io/kairship/pkg/index"
)

// Filter says which objects to list.
type Filter struct {
	Name          []string
	NameContains  *string
	Namespaces    []string
	LabelSelector *string
}

func (f *Filter) ofResources() *resource.Filter {
	if f == nil {
		return nil
	}
	return &resource.Filter{Namespaces: f.Namespaces, Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector}
}

// Kind reads the objects of one kind.
type Kind[T any] struct {
	resources *resource.Service
	of        index.Type
	make      maker[T]
}

// Service reads the objects of all kinds.
type Service struct {
	FederatedHPAs           *Kind[FederatedHPA]
	CronFederatedHPAs       *Kind[CronFederatedHPA]
	MultiClusterServices    *Kind[MultiClusterService]
	FederatedResourceQuotas *Kind[FederatedResourceQuota]
	WorkloadRebalancers     *Kind[WorkloadRebalancer]
}

// NewService makes a Service, which reads as objects of any kind are read: from the index, or from
// the instance while the index does not have the kind.
func NewService(resources *resource.Service) *Service {
	return &Service{
		FederatedHPAs:           &Kind[FederatedHPA]{resources, index.FederatedHPAs, decoded(newFederatedHPA)},
		CronFederatedHPAs:       &Kind[CronFederatedHPA]{resources, index.CronFederatedHPAs, decoded(newCronFederatedHPA)},
		MultiClusterServices:    &Kind[MultiClusterService]{resources, index.MultiClusterServices, decoded(newMultiClusterService)},
		FederatedResourceQuotas: &Kind[FederatedResourceQuota]{resources, index.FederatedResourceQuotas, decoded(newFederatedResourceQuota)},
		WorkloadRebalancers:     &Kind[WorkloadRebalancer]{resources, index.WorkloadRebalancers, decoded(newWorkloadRebalancer)},
	}
}

// Type returns the kind that is read.
func (k *Kind[T]) Type() index.Type { return k.of }

// Make makes an object of what the index or an instance has.
func (k *Kind[T]) Make(instance string, o *index.Object, fresh freshness.Freshness) (*T, error) {
	return k.make(instance, o, fresh)
}

func (k *Kind[T]) path() resource.Kind {
	return resource.Kind{Group: k.of.Group, Version: k.of.Version, Resource: k.of.Resource}
}

// Get returns one object; nil when there is none of that name. A kind without namespace takes an
// empty one.
func (k *Kind[T]) Get(ctx context.Context, instance, namespace, name string) (*T, error) {
	c, err := k.List(ctx, instance, page.Args{First: new(1)}, &Filter{Name: []string{name}, Namespaces: []string{namespace}}, nil, false, nil)
	if err != nil || len(c.Nodes) == 0 {
		return nil, err
	}
	return c.Nodes[0], nil
}

// Find is Get for the ID of an object: one of a kind that the instance no longer serves no longer exists.
func (k *Kind[T]) Find(ctx context.Context, instance, namespace, name string) (*T, error) {
	one, err := k.Get(ctx, instance, namespace, name)
	if errors.Is(err, uncollected.ErrNotServed) {
		return nil, nil //nolint:nilnil // A missing object is null in the API, not an error.
	}
	return one, err
}

// List returns a page of an instance's objects. It passes them to then, if that is not nil, before it
// returns. An instance that does not serve the kind is an error of uncollected.ErrNotServed.
func (k *Kind[T]) List(ctx context.Context, instance string, args page.Args, f *Filter, order *object.Order, count bool, then func([]*index.Object)) (*page.Connection[*T], error) {
	r, err := k.resources.Result(ctx, instance, k.path(), args, f.ofResources(), order, count, index.Whole)
	if errors.Is(err, uncollected.ErrNotServed) {
		// What is wrong there is an argument that the lists of these kinds do not have.
		return nil, apierror.In(apierror.Wrap(uncollected.ErrNotServed, apierror.CodeInvalid,
			"instance %q does not serve kind %s: its Karmada is of a version without it", instance, k.of.Kind), instance)
	}
	if err != nil {
		return nil, err
	}
	if then != nil {
		then(r.Items)
	}
	return listing.Decoded(r, func(o *index.Object) (*T, error) { return k.make(instance, o, r.Freshness) })
}

// Prefetch starts reading what List will ask for in each instance. When the objects have been read, it
// calls then, if it is not nil, and only afterwards unblocks the callers that wait for them.
func (k *Kind[T]) Prefetch(ctx context.Context, instances []string, args page.Args, f *Filter, order *object.Order, count bool, then func([]*index.Object)) {
	k.resources.Prefetch(ctx, instances, k.path(), args, f.ofResources(), order, count, index.Whole, then)
}
