package members

import (
	"context"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// MoveInput is the input of moveCluster.
type MoveInput struct {
	// Instance is the one that the cluster leaves, To the one that it joins.
	Instance, To string
	Cluster      string
	// Force lets the cluster go although workloads are propagated to it.
	Force  bool
	DryRun bool
}

const toArgument = "input.to"

// Move requests that a cluster leave an instance and join another one. The inventory names the other one from
// then on, and Kairship carries it out. Until it has left, the move can be taken back by moving it the other way.
func (s *Service) Move(ctx context.Context, in MoveInput) (*MembershipPayload, error) {
	if err := s.permit(ctx, in.Instance, false); err != nil {
		return nil, err
	}
	if err := write.CheckName(in.Cluster, clusterArgument); err != nil {
		return nil, err
	}
	if err := s.Inventory.permit(ctx, in.Cluster); err != nil {
		return nil, err
	}
	if in.To == in.Instance {
		return nil, apierror.Invalid(toArgument, "it is the instance that the cluster leaves: name another one")
	}
	if err := s.permit(ctx, in.To, true); err != nil {
		return nil, apierror.Moved(err, write.InstanceArgument, toArgument)
	}
	if err := s.preflight(ctx, in); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		c, err := s.Inventory.get(ctx, in.Cluster)
		switch {
		case err != nil:
			return nil, err
		case c.Spec.Type == v1alpha1.ClusterTypeVirtual:
			return nil, apierror.Invalid(clusterArgument, "cluster %q stands for an instance, and is a member of none", in.Cluster)
		case c.DeletionTimestamp != nil:
			return nil, conflict("cluster %q is being removed from the inventory", in.Cluster)
		}
		if err := leaves(c, in); err != nil {
			return nil, err
		}
		c, err = s.Inventory.join(ctx, c, &in.To, removal(c, in.Force), in.DryRun)
		if try < attempts && apierror.Is(err, apierror.CodeConflict) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p := &MembershipPayload{Requested: !in.DryRun, Cluster: s.Inventory.shown(c)}
		if keepable(c) {
			p.leaves = in.Instance
		}
		if p.Requested {
			p.Operation = s.Operations.Begin(ctx, operation.Operation{Kind: operation.KindMoveCluster, Instance: in.Instance, To: in.To, Cluster: in.Cluster, Version: c.ResourceVersion})
		}
		return p, nil
	}
}

// leaves refuses the move of a cluster that is not in the instance which it is to leave. One that is on its way may be
// sent there again, with force for example.
func leaves(c *v1alpha1.Cluster, in MoveInput) error {
	joined := access.InstanceOfCluster(c)
	leaving := c.Status.Membership != nil && c.Status.Membership.Instance == in.Instance
	if joined == in.Instance || (joined == in.To && leaving) {
		return nil
	}
	return conflict("cluster %q is not joined to instance %q", in.Cluster, in.Instance)
}

// removal is the removal policy to write; nil keeps the stored one.
func removal(c *v1alpha1.Cluster, force bool) *v1alpha1.RemovalPolicy {
	wanted := v1alpha1.RemovalBlock
	if force {
		wanted = v1alpha1.RemovalForce
	}
	if wanted == c.Spec.RemovalPolicy() {
		return nil
	}
	return &wanted
}

// preflight refuses a move into an instance that does not answer, or that has a member of the name.
func (s *Service) preflight(ctx context.Context, in MoveInput) error {
	site, err := s.Writer.To(ctx, in.To)
	if err != nil {
		return apierror.Moved(err, write.InstanceArgument, toArgument)
	}
	there, err := site.Get(ctx, kind, "", in.Cluster, write.Paths{"": clusterArgument + "!"})
	switch {
	case apierror.Is(err, apierror.CodeNotFound):
		return nil
	case err != nil:
		return err
	case there.GetLabels()[v1alpha1.ClusterLabel] == in.Cluster:
		return nil // It is joining there already.
	}
	return apierror.At(apierror.New(apierror.CodeConflict, "instance %q has a member %q that Kairship did not join: it has to leave first", in.To, in.Cluster), toArgument)
}
