package resolvers

import (
	"context"
	"errors"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/karmadaresource"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/uncollected"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// prefetcher makes a function that starts reading what is selected on objects that were read.
type prefetcher func(ctx context.Context, on selection) func([]*index.Object)

// karmadaList lists the objects of one kind of Karmada's own API in an instance. One of an older
// Karmada does not serve all of them: the list is empty then, with an error beside it.
func karmadaList[T any](ctx context.Context, r *Resolver, k *karmadaresource.Kind[T], instanceName string, args page.Args, f *karmadaresource.Filter, order *object.Order, then prefetcher) (*page.Connection[*T], error) {
	s := selected(ctx)
	c, err := k.List(ctx, instanceName, args, f, order, s.has("totalCount"), begin(ctx, then, s.items()))
	if f != nil {
		warnOfNamespaces(ctx, r, c, []string{instanceName}, namespacesArgument, f.Namespaces)
	}
	if errors.Is(err, uncollected.ErrNotServed) {
		return unread[*T](ctx, err), nil
	}
	return orUnanswered(ctx, c, err)
}

// begin is what a prefetcher makes; nil for none.
func begin(ctx context.Context, then prefetcher, on selection) func([]*index.Object) {
	if then == nil {
		return nil
	}
	return then(ctx, on)
}

// prefetchKarmada starts reading a list of objects of Karmada's own API of some instances.
func prefetchKarmada[T any](ctx context.Context, k *karmadaresource.Kind[T], names []string, raw map[string]any, p page.Args, order *object.Order, inner selection, then prefetcher) {
	withFilter(raw, func(filter *karmadaresource.Filter) {
		k.Prefetch(ctx, names, p, filter, order, inner.has("totalCount"), begin(ctx, then, inner.items()))
	})
}

// prefetchScaled starts reading the workloads that FederatedHPAs or CronFederatedHPAs scale.
func (r *Resolver) prefetchScaled(ctx context.Context, on selection) func([]*index.Object) {
	return func(objects []*index.Object) {
		if on.has("workload") {
			r.Fleet.Workloads.PrefetchNamed(ctx, karmadaresource.TargetsOf(objects), on.under("workload").needs())
		}
	}
}

// prefetchServices starts reading the Services that MultiClusterServices expose.
func (r *Resolver) prefetchServices(ctx context.Context, on selection) func([]*index.Object) {
	return func(objects []*index.Object) {
		if on.has("service") && len(objects) > 0 {
			r.Fleet.Resources.PrefetchNamed(ctx, index.Services, karmadaresource.NamesOf(objects), on.under("service").detail(), func(all []*resource.Resource) {
				r.prefetchPlacements(ctx, on.under("service"), all...)
			})
		}
	}
}

// scaled is the workload that an object scales; nil when it scales none.
func (r *Resolver) scaled(ctx context.Context, by interface {
	Target() (workload.Named, bool)
}) (workload.Any, error) {
	w, ok := by.Target()
	if !ok {
		return nil, nil //nolint:nilnil // What scales no workload has null in the API, and no error.
	}
	return r.Fleet.Workloads.Get(ctx, w.Instance, w.Kind, w.Namespace, w.Name, workloadNeeds(ctx))
}

// viewerCanOfQuota returns what the caller may do with a quota. The roles let only admins of the
// whole instance write one, so that editors cannot lift their own limits.
func (r *Resolver) viewerCanOfQuota(ctx context.Context, q *karmadaresource.FederatedResourceQuota) (*authz.ViewerCan, error) {
	can, err := r.viewerCanIn(ctx, q.Base.Instance, q.Namespace())
	if err != nil {
		return nil, err
	}
	whole, err := r.viewerCan(ctx, q.Base.Instance)
	if err != nil {
		return nil, err
	}
	admin := whole.ManageAccess
	can.Create, can.Update, can.Delete = can.Create && admin, can.Update && admin, can.Delete && admin
	return can, nil
}
