package moves

import (
	"context"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/moving"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/preview"
	"github.com/kairship-io/kairship/pkg/fleet/write/members"
)

// DrainInput is the input of drainMemberCluster.
type DrainInput struct {
	Instance, Name string
	// Undo lets workloads be scheduled to the cluster again.
	Undo bool
	// Expect is the fingerprint of the plan; nil for none.
	Expect *string
	DryRun bool
}

// DrainPayload is a member cluster that is drained.
type DrainPayload struct {
	MemberCluster *membercluster.MemberCluster
	// Plan is what moves and what stays; nil for an undo.
	Plan *preview.Preview
	// Evicted is how many objects leave the cluster by the plan, Staying how many do not.
	Evicted, Staying int
	// Returning is how many objects an undo has the scheduler decide about anew.
	Returning        int
	Operation        *string
	ConsistencyToken *string
}

// Drain taints a member cluster, so that nothing is scheduled to it any more. The controller workload-moves then has
// Karmada move what the scheduler finds another cluster for: the old copies stay until the new ones are healthy. What
// has nowhere to go stays. Sent again, it is planned anew.
func (s *Service) Drain(ctx context.Context, in DrainInput) (*DrainPayload, error) {
	if in.Undo {
		return s.undo(ctx, &in)
	}
	// The taint is tried first, for callers who may not set it.
	p, err := s.Members.Taint(ctx, in.Instance, in.Name, moving.Taint(moving.DrainEvicting), true, true)
	if err != nil {
		return nil, err
	}
	plan, err := s.drainPlan(ctx, in.Instance, in.Name)
	if err != nil {
		return nil, err
	}
	out := &DrainPayload{MemberCluster: p.MemberCluster, Plan: plan}
	for _, i := range plan.All() {
		if moving.Movable(&i.Item) {
			out.Evicted++
		} else {
			out.Staying++
		}
	}
	if in.Expect != nil && *in.Expect != plan.Fingerprint {
		return nil, apierror.In(apierror.At(apierror.New(apierror.CodeConflict,
			"the drain would not do any more what was planned: send it with dryRun again, and repeat it with the fingerprint of that plan"), "input.expect"), in.Instance)
	}
	if in.DryRun {
		return out, nil
	}
	begun, err := s.Members.Taint(ctx, in.Instance, in.Name, moving.Taint(moving.DrainEvicting), true, false)
	if err != nil {
		return nil, err
	}
	op := operation.Operation{Kind: operation.KindDrainCluster, Instance: in.Instance, Cluster: in.Name, Version: begun.MemberCluster.ResourceVersion()}
	out.Operation = s.Operations.Begin(ctx, op)
	out.MemberCluster, out.ConsistencyToken = begun.MemberCluster, begun.ConsistencyToken
	return out, nil
}

func unplanned() error {
	return apierror.Invalid("input.expect", "an undo has no plan: leave this out")
}

// drainPlan is what a drain moves: what Karmada would evict by a taint that it evicts by.
func (s *Service) drainPlan(ctx context.Context, instance, cluster string) (*preview.Preview, error) {
	yes, loss := true, moving.Loss(cluster)
	p, err := s.Previews.Loss(ctx, instance, preview.LossInput{
		Clusters: loss.Clusters, Mode: loss.Mode, Taints: []members.TaintInput{{Key: loss.Taints[0].Key, Effect: string(loss.Taints[0].Effect)}},
		Assume: &preview.Assumptions{NoExecuteEviction: &yes},
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}
