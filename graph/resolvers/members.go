package resolvers

import (
	"context"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/clusternode"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/index"
)

// nameOf names a member cluster.
func nameOf(m *membercluster.MemberCluster) object.Name {
	return object.Name{Instance: m.Instance, Name: m.Name()}
}

// inMember returns a page of objects of one kind in a member cluster.
func (r *Resolver) inMember(ctx context.Context, in object.Name, of resource.Kind, namespace *string, args page.Args, filter *resource.Filter, order *object.Order) (*resource.Connection, error) {
	filter, err := inNamespace(filter, namespace)
	if err != nil {
		return nil, err
	}
	c, err := r.Fleet.Resources.ListInMember(ctx, in, of, args, filter, order, wantsCount(ctx), itemDetail(ctx))
	return orEmpty(ctx, c, err)
}

// prefetchInMembers starts reading the lists that will be asked of some member clusters, each list for
// all of them at once.
func (r *Resolver) prefetchInMembers(ctx context.Context, members []object.Name, on selection) {
	for _, f := range on.fields {
		if len(members) == 0 {
			continue
		}
		raw, inner := f.ArgumentMap(on.op.Variables), selection{op: on.op, fields: below(on.op, f)}
		switch f.Name {
		case "resources":
			withResources(raw, func(a resourceListArgs) {
				r.Fleet.Resources.PrefetchInMembers(ctx, members, a.of, a.page, a.filter, a.order, inner.has("totalCount"), inner.itemDetail())
			})
		case "clusterNodes":
			var p page.Args
			var order *object.Order
			if !readArg(raw, "first", &p.First) || !readArg(raw, "after", &p.After) || !readArg(raw, "orderBy", &order) {
				continue
			}
			withFilter(raw, func(filter *clusternode.Filter) {
				r.Fleet.ClusterNodes.Prefetch(ctx, members, p, filter, order, inner.has("totalCount"))
				if inner.items().has("allocated") {
					r.Fleet.ClusterNodes.PrefetchAllocated(ctx, members)
				}
			})
		}
	}
}

// prefetchOfMembers returns a function that starts reading the lists of member clusters that were read.
func (r *Resolver) prefetchOfMembers(ctx context.Context, on selection) func([]*index.Object) {
	return func(found []*index.Object) {
		members := make([]object.Name, len(found))
		for i, o := range found {
			members[i] = object.Name{Instance: v1alpha1.InstanceOfVirtualCluster(o.Cluster), Name: o.Meta.Name}
		}
		r.prefetchInMembers(ctx, members, on)
	}
}
