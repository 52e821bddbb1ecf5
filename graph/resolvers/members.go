package resolvers

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/clusternode"
	"github.com/kairship-io/kairship/pkg/fleet/event"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// nameOf names a member cluster.
func nameOf(m *membercluster.MemberCluster) object.Name {
	return object.Name{Instance: m.Instance, Name: m.Name()}
}

// memberTypes are the types that the lists of a member cluster under names of their own have; see memberWorkloads for
// workloads.
var memberTypes = map[string][]index.Type{
	"services":   {{Version: "v1", Resource: "services"}},
	"ingresses":  {{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}},
	"namespaces": {{Version: "v1", Resource: "namespaces"}},
}

// memberWorkloads are the types of the workloads of some kinds in a member cluster, of all where kinds is nil.
func memberWorkloads(kinds []workload.Kind) ([]index.Type, error) {
	if slices.Contains(kinds, workload.KindCustom) {
		return nil, apierror.Invalid("kinds", "CUSTOM stands for many kinds: list the objects of one of them by `resources`")
	}
	return workload.TypesOf(kinds), nil
}

// inMember returns a page of objects of some types in a member cluster.
func (r *Resolver) inMember(ctx context.Context, in object.Name, of []index.Type, args page.Args, filter *resource.Filter, order *object.Order) (*resource.Connection, error) {
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
		count := inner.has("totalCount")
		var p page.Args
		var order *object.Order
		if !readArg(raw, "first", &p.First) || !readArg(raw, "after", &p.After) || !readArg(raw, "orderBy", &order) {
			continue
		}
		switch f.Name {
		case "resources":
			withResources(raw, func(a resourceListArgs) {
				r.Fleet.Resources.PrefetchInMembers(ctx, members, []index.Type{a.of.Type()}, a.page, a.filter, a.order, count, inner.itemDetail())
			})
		case "services", "ingresses", "namespaces":
			withFilter(raw, func(filter *resource.Filter) {
				r.Fleet.Resources.PrefetchInMembers(ctx, members, memberTypes[f.Name], p, filter, order, count, inner.itemDetail())
			})
		case "workloads":
			var kinds []workload.Kind
			if !readArg(raw, "kinds", &kinds) {
				continue
			}
			if types, err := memberWorkloads(kinds); err == nil {
				withFilter(raw, func(filter *resource.Filter) {
					r.Fleet.Resources.PrefetchInMembers(ctx, members, types, p, filter, order, count, inner.itemDetail())
				})
			}
		case "events":
			withFilter(raw, func(filter *event.Filter) { r.Fleet.Events.PrefetchInMembers(ctx, members, p, filter, order, count) })
		case "clusterPods":
			withFilter(raw, func(filter *pod.Filter) {
				var order *pod.Order
				if readArg(raw, "orderBy", &order) {
					r.Fleet.Pods.PrefetchInMembers(ctx, members, pod.ListArgs{Args: p, Filter: filter, Order: order}, inner.podNeeds())
				}
			})
		case "clusterNodes":
			withFilter(raw, func(filter *clusternode.Filter) {
				r.Fleet.ClusterNodes.Prefetch(ctx, members, p, filter, order, count)
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
