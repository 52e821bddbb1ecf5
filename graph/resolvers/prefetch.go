package resolvers

import (
	"context"
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/fleet/event"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/namespace"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// prefetchInstances starts reading the lists that will be asked of every
// instance of a page, each list for all instances at once.
func (r *Resolver) prefetchInstances(ctx context.Context, instances []*instance.Instance) {
	names := make([]string, len(instances))
	for i, one := range instances {
		names[i] = one.Name
	}
	r.prefetch(ctx, names, selected(ctx).items())
}

// prefetch starts reading what will be asked of some instances.
func (r *Resolver) prefetch(ctx context.Context, names []string, on selection) {
	r.prefetchWorkloads(ctx, names, on)
	for _, f := range on.fields {
		r.prefetchList(ctx, names, f, selection{op: on.op, fields: below(on.op, f)})
	}
}

// prefetchWorkloads starts reading the single workloads that are selected on
// some instances, all in one go.
func (r *Resolver) prefetchWorkloads(ctx context.Context, names []string, on selection) {
	var wanted []workload.Wanted
	for _, f := range on.fields {
		if f.Name != "workload" {
			continue
		}
		var w workload.Wanted
		var custom *string
		raw := f.ArgumentMap(on.op.Variables)
		if !readArg(raw, "kind", &w.Kind) || !readArg(raw, "namespace", &w.Namespace) || !readArg(raw, "name", &w.Name) || !readArg(raw, "customKind", &custom) {
			continue
		}
		var err error
		if w.Kind, err = workload.OneKind(w.Kind, custom); err != nil {
			continue // The field says what is wrong.
		}
		w.Needs = selection{op: on.op, fields: below(on.op, f)}.needs()
		wanted = append(wanted, w)
	}
	r.Fleet.Workloads.PrefetchOnes(ctx, names, wanted)
}

// prefetchList starts reading one list of some instances. Arguments that can't
// be read here are left to the field itself, which says what is wrong with them.
func (r *Resolver) prefetchList(ctx context.Context, names []string, f graphql.CollectedField, inner selection) {
	raw := f.ArgumentMap(inner.op.Variables)
	var p page.Args
	var order *object.Order
	if !readArg(raw, "first", &p.First) || !readArg(raw, "after", &p.After) || !readArg(raw, "orderBy", &order) {
		return
	}
	count := inner.has("totalCount")
	switch f.Name {
	case "workloads":
		withFilter(raw, func(filter *workload.Filter) {
			var order *workload.Order
			if !readArg(raw, "orderBy", &order) {
				return
			}
			r.Fleet.Workloads.Prefetch(ctx, names, workload.ListArgs{Args: p, Filter: filter, Order: order}, inner.connectionNeeds())
		})
	case "pods":
		withFilter(raw, func(filter *pod.Filter) {
			var order *pod.Order
			if readArg(raw, "orderBy", &order) {
				r.Fleet.Pods.Prefetch(ctx, names, pod.ListArgs{Args: p, Filter: filter, Order: order}, inner.podNeeds())
			}
		})
	case "memberClusters":
		withFilter(raw, func(filter *membercluster.Filter) {
			r.Fleet.MemberClusters.Prefetch(ctx, names, p, filter, order, inner.listNeeds(), r.prefetchOfMembers(ctx, inner.items()))
		})
	case "namespaces":
		withFilter(raw, func(filter *namespace.Filter) { r.Fleet.Namespaces.Prefetch(ctx, names, p, filter, order, count) })
	case "events":
		withFilter(raw, func(filter *event.Filter) { r.Fleet.Events.Prefetch(ctx, names, p, filter, order, count) })
	case "propagationPolicies":
		withFilter(raw, func(filter *policy.Filter) {
			r.Fleet.Policies.Propagation.Prefetch(ctx, names, p, filter, order, inner.listNeeds(), r.prefetchClaimed(ctx, inner.items()))
		})
	case "clusterPropagationPolicies":
		withFilter(raw, func(filter *policy.Filter) {
			r.Fleet.Policies.ClusterPropagation.Prefetch(ctx, names, p, filter, order, inner.listNeeds(), r.prefetchClaimed(ctx, inner.items()))
		})
	case "overridePolicies":
		withFilter(raw, func(filter *policy.Filter) {
			r.Fleet.Policies.Override.Prefetch(ctx, names, p, filter, order, inner.listNeeds(), nil)
		})
	case "clusterOverridePolicies":
		withFilter(raw, func(filter *policy.Filter) {
			r.Fleet.Policies.ClusterOverride.Prefetch(ctx, names, p, filter, order, inner.listNeeds(), nil)
		})
	case "federatedHPAs":
		prefetchKarmada(ctx, r.Fleet.KarmadaResources.FederatedHPAs, names, raw, p, order, inner, r.prefetchScaled)
	case "cronFederatedHPAs":
		prefetchKarmada(ctx, r.Fleet.KarmadaResources.CronFederatedHPAs, names, raw, p, order, inner, r.prefetchScaled)
	case "multiClusterServices":
		prefetchKarmada(ctx, r.Fleet.KarmadaResources.MultiClusterServices, names, raw, p, order, inner, r.prefetchServices)
	case "federatedResourceQuotas":
		prefetchKarmada(ctx, r.Fleet.KarmadaResources.FederatedResourceQuotas, names, raw, p, order, inner, nil)
	case "workloadRebalancers":
		prefetchKarmada(ctx, r.Fleet.KarmadaResources.WorkloadRebalancers, names, raw, p, order, inner, nil)
	case "resources":
		r.prefetchResources(ctx, names, raw, inner)
	}
}

// prefetchClaimed returns a function that starts reading the workloads which policies have claimed,
// those of all policies in one batch.
func (r *Resolver) prefetchClaimed(ctx context.Context, on selection) func([]*index.Object) {
	return func(policies []*index.Object) {
		for _, f := range on.fields {
			if f.Name != "workloads" {
				continue
			}
			raw := f.ArgumentMap(on.op.Variables)
			a := workload.ListArgs{}
			if readArg(raw, "first", &a.First) && readArg(raw, "after", &a.After) && readArg(raw, "orderBy", &a.Order) && readArg(raw, "filter", &a.Filter) {
				r.Fleet.Workloads.PrefetchClaimed(ctx, policies, a, selection{op: on.op, fields: below(on.op, f)}.connectionNeeds())
			}
		}
	}
}

func (r *Resolver) prefetchResources(ctx context.Context, names []string, raw map[string]any, inner selection) {
	withResources(raw, func(a resourceListArgs) {
		if a.cluster != nil {
			members := make([]object.Name, len(names))
			for i, name := range names {
				members[i] = object.Name{Instance: name, Name: *a.cluster}
			}
			r.Fleet.Resources.PrefetchInMembers(ctx, members, []index.Type{a.of.Type()}, a.page, a.filter, a.order, inner.has("totalCount"), inner.itemDetail())
			return
		}
		r.Fleet.Resources.Prefetch(ctx, names, a.of, a.page, a.filter, a.order, inner.has("totalCount"), inner.itemDetail(), nil)
	})
}

// resourceListArgs are the arguments of a list of objects of any kind.
type resourceListArgs struct {
	of      resource.Kind
	cluster *string
	page    page.Args
	filter  *resource.Filter
	order   *object.Order
}

// withResources reads the arguments of a list of objects of any kind and goes on with them.
func withResources(raw map[string]any, then func(resourceListArgs)) {
	var a resourceListArgs
	var ns *string
	if !readArg(raw, "group", &a.of.Group) || !readArg(raw, "version", &a.of.Version) || !readArg(raw, "resource", &a.of.Resource) ||
		!readArg(raw, "cluster", &a.cluster) || !readArg(raw, "namespace", &ns) || !readArg(raw, "filter", &a.filter) ||
		!readArg(raw, "first", &a.page.First) || !readArg(raw, "after", &a.page.After) || !readArg(raw, "orderBy", &a.order) {
		return
	}
	var err error
	if a.filter, err = inNamespace(a.filter, ns); err == nil {
		then(a)
	}
}

// withFilter reads the argument filter and goes on with it.
func withFilter[F any](raw map[string]any, then func(*F)) {
	var filter *F
	if readArg(raw, "filter", &filter) {
		then(filter)
	}
}

// readArg reads an argument as the field's resolver will get it. The names of
// the inputs' fields are those of the Go fields but for their case, which
// encoding/json overlooks.
func readArg(raw map[string]any, name string, into any) bool {
	v, ok := raw[name]
	if !ok || v == nil {
		return true
	}
	text, err := json.Marshal(withEmptyLists(v))
	return err == nil && json.Unmarshal(text, into) == nil
}

// withEmptyLists makes lists of nothing, which the parser gives as nil, what they
// are to gqlgen: empty, and not missing.
func withEmptyLists(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = withEmptyLists(one)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, one := range v {
			fields[name] = withEmptyLists(one)
		}
		return fields
	}
	return v
}
