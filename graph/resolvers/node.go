package resolvers

import (
	"context"
	"errors"

	"github.com/kairship-io/kairship/graph/model"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/namespace"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/uncollected"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// finders read an object by the parts of its ID, for each type of IDs. The
// number of parts is checked before they are called.
var finders = map[string]struct {
	parts int
	find  func(r *Resolver, ctx context.Context, p []string) (model.Node, error)
}{
	instance.TypeName: {1, func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.Instances.Get(ctx, p[0]))
	}},
	cluster.TypeName: {1, func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.Clusters.Get(ctx, p[0]))
	}},
	membercluster.TypeName: {2, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.MemberClusters.Get(ctx, p[0], p[1]))
	})},
	namespace.TypeName: {2, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.Namespaces.Get(ctx, p[0], p[1]))
	})},
	workload.TypeName: {4, func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return r.workloadNode(ctx, p, workloadNeeds(ctx))
	}},
	binding.TypeName: {3, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.Bindings.Get(ctx, p[0], p[1], p[2]))
	})},
	resource.TypeName: {6, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		ns := &p[4]
		if p[4] == "" {
			ns = nil
		}
		of := kindOf(p[1], p[2], p[3])
		if err := of.Validate(); err != nil {
			return nil, err
		}
		one, err := r.Fleet.Resources.Get(ctx, p[0], of, ns, p[5])
		if errors.Is(err, uncollected.ErrNotServed) {
			return nil, nil // Its kind was deleted, and the object with it.
		}
		return found(one, err)
	})},
	resource.InMember: {7, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.Resources.GetInMember(ctx, object.Name{Instance: p[0], Name: p[1]}, kindOf(p[2], p[3], p[4]), p[5], p[6]))
	})},
	"PropagationPolicy": {3, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.Policies.Propagation.Get(ctx, p[0], p[1], p[2]))
	})},
	"ClusterPropagationPolicy": {3, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.Policies.ClusterPropagation.Get(ctx, p[0], p[1], p[2]))
	})},
	"OverridePolicy": {3, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.Policies.Override.Get(ctx, p[0], p[1], p[2]))
	})},
	"ClusterOverridePolicy": {3, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.Policies.ClusterOverride.Get(ctx, p[0], p[1], p[2]))
	})},
	"FederatedHPA": {3, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.KarmadaResources.FederatedHPAs.Find(ctx, p[0], p[1], p[2]))
	})},
	"CronFederatedHPA": {3, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.KarmadaResources.CronFederatedHPAs.Find(ctx, p[0], p[1], p[2]))
	})},
	"MultiClusterService": {3, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.KarmadaResources.MultiClusterServices.Find(ctx, p[0], p[1], p[2]))
	})},
	"FederatedResourceQuota": {3, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.KarmadaResources.FederatedResourceQuotas.Find(ctx, p[0], p[1], p[2]))
	})},
	"WorkloadRebalancer": {3, inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		return found(r.Fleet.KarmadaResources.WorkloadRebalancers.Find(ctx, p[0], p[1], p[2]))
	})},
}

// node reads the object of an ID.
func (r *Resolver) node(ctx context.Context, text string) (model.Node, error) {
	id, err := nodeid.Parse(text)
	if err != nil {
		return nil, err
	}
	f, ok := finders[id.Type]
	if !ok || len(id.Parts) != f.parts {
		return nil, wrongID()
	}
	found, err := f.find(r, ctx, id.Parts)
	if apierror.Is(err, apierror.CodeInvalid) {
		// The finder names an argument of the field for such objects; here all of it is in the ID.
		return nil, wrongID()
	}
	return found, err
}

// workloadNode reads as much of a workload as is needed.
func (r *Resolver) workloadNode(ctx context.Context, p []string, needs workload.Needs) (model.Node, error) {
	return inInstance(func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		kind := workload.Kind(p[1])
		if !kind.Valid() {
			return nil, wrongID()
		}
		w, err := r.Fleet.Workloads.Get(ctx, p[0], kind, p[2], p[3], needs)
		if err != nil || w == nil {
			return nil, err
		}
		return w, nil
	})(r, ctx, p)
}

// inInstance answers null for an object of an instance that there is none of,
// without asking the index.
func inInstance(find func(*Resolver, context.Context, []string) (model.Node, error)) func(*Resolver, context.Context, []string) (model.Node, error) {
	return func(r *Resolver, ctx context.Context, p []string) (model.Node, error) {
		i, err := r.Fleet.Instances.Get(ctx, p[0])
		if err != nil || i == nil {
			return nil, err
		}
		return find(r, ctx, p)
	}
}

// found returns a nil Node for a missing object: a nil pointer in an interface would not be null.
func found[T interface {
	comparable
	model.Node
}](object T, err error) (model.Node, error) {
	var none T
	if err != nil || object == none {
		return nil, err
	}
	return object, nil
}

func wrongID() error {
	return apierror.Invalid("id", "This ID is of no type that node can read")
}
