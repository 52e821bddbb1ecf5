package resolvers

import (
	"context"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/explanation"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// instanceOf returns the instance that an object belongs to. It can be missing
// only when it was deleted since the object was read.
func (r *Resolver) instanceOf(ctx context.Context, name string) (*instance.Instance, error) {
	i, err := r.Fleet.Instances.Get(ctx, name)
	if err == nil && i == nil {
		return nil, apierror.NotFound("Instance", name)
	}
	return i, err
}

// inventoryCluster returns the inventory's entry of a member cluster; nil when
// the member was joined outside Kairship. A cluster of the same name that is
// joined to another instance is another cluster.
func (r *Resolver) inventoryCluster(ctx context.Context, m *membercluster.MemberCluster) (*cluster.Cluster, error) {
	c, err := r.Fleet.Clusters.Get(ctx, m.Name())
	if err != nil || c == nil || c.InstanceName() != m.Instance {
		return nil, err
	}
	return c, nil
}

func (r *Resolver) replicas(ctx context.Context, w *workload.Workload) (*workload.ReplicaCounts, error) {
	s, err := r.status(ctx, w)
	return &s.Replicas, err
}

func (r *Resolver) health(ctx context.Context, w *workload.Workload) (workload.Health, error) {
	s, err := r.status(ctx, w)
	return s.Health, err
}

func (r *Resolver) healthMessage(ctx context.Context, w *workload.Workload) (*string, error) {
	s, err := r.status(ctx, w)
	return object.Optional(s.Message), err
}

func (r *Resolver) suspended(ctx context.Context, w *workload.Workload) (bool, error) {
	s, err := r.status(ctx, w)
	return s.Suspended, err
}

// status computes the state of a workload; an unknown one when what it is
// computed from can't be read now.
func (r *Resolver) status(ctx context.Context, w *workload.Workload) (*workload.Status, error) {
	s, err := r.Fleet.Workloads.Status(ctx, w)
	unknown := &workload.Status{Health: workload.HealthUnknown}
	if err != nil {
		s = unknown
	}
	return orElse(ctx, s, err, unknown)
}

// explanation explains where the propagation of a workload stands.
func (r *Resolver) explanation(ctx context.Context, w *workload.Workload) (*explanation.Explanation, error) {
	grant, _, err := r.Fleet.Access.Instance(ctx, w.Instance)
	if err != nil {
		return nil, err
	}
	x, err := r.Fleet.Workloads.Explainable(ctx, w, grant.CanRead(""))
	if err != nil {
		return nil, err
	}
	return explanation.Explain(x), nil //nolint:contextcheck // It is a pure function: the plugins of Karmada that it runs take a context and make nothing of it.
}

// prefetchPlacements starts reading what will be asked of where some objects go, and why.
func (r *Resolver) prefetchPlacements(ctx context.Context, on selection, all ...*resource.Resource) {
	if !on.has("explanation") {
		r.Fleet.Resources.PrefetchPlacements(ctx, on.templateNeeds(), all...)
		return
	}
	var rows []*index.Object
	for _, one := range all {
		if one.Propagates() {
			rows = append(rows, one.Indexed)
		}
	}
	r.Fleet.Workloads.PrefetchOfAnyKind(ctx, rows, on.templateNeeds())
	r.Fleet.Resources.PrefetchPlacements(ctx, on.templateNeeds(), all...)
}

// viewerCan returns what the caller may do with an instance itself. One that they
// may not see is asked about like any other, and permits nothing.
func (r *Resolver) viewerCan(ctx context.Context, instanceName string) (*authz.ViewerCan, error) {
	grant, _, err := r.Fleet.Access.Instance(ctx, instanceName)
	if err != nil {
		return nil, err
	}
	can := grant.ViewerCan()
	return &can, nil
}

// viewerCanIn returns what the caller may do with objects in a namespace of an
// instance, or with those that have none.
func (r *Resolver) viewerCanIn(ctx context.Context, instanceName, namespace string) (*authz.ViewerCan, error) {
	grant, _, err := r.Fleet.Access.Instance(ctx, instanceName)
	if err != nil {
		return nil, err
	}
	can := grant.ViewerCanIn(namespace)
	return &can, nil
}
