package members

import (
	"context"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/propagated"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/index"
)

// MembershipInput is the input of joinCluster and of unjoinCluster.
type MembershipInput struct {
	Instance string
	Cluster  string
	// Force lets a cluster go although workloads are propagated to it.
	Force  bool
	DryRun bool
}

// MembershipPayload is the result of the request.
type MembershipPayload struct {
	// Requested reports whether the inventory requests the membership now. Controllers carry it
	// out.
	Requested bool
	Cluster   *cluster.Cluster
	// Operation is the ID under which the progress is followed; nil for a dry run.
	Operation *string
	// ConsistencyToken is always nil: the inventory is watched, not indexed.
	ConsistencyToken *string
	// leaves is the instance from which the cluster is to be removed; empty where no objects can
	// block that.
	leaves string
}

const clusterArgument = "input.cluster"

// Join requests that a cluster be joined to an instance.
func (s *Service) Join(ctx context.Context, in MembershipInput) (*MembershipPayload, error) {
	return s.request(ctx, in, &in.Instance, func(c *v1alpha1.Cluster) error {
		joined := access.InstanceOfCluster(c)
		if joined == "" || joined == in.Instance {
			return nil
		}
		where := "another instance"
		if _, visible, err := s.Writer.Access.Instance(ctx, joined); err == nil && visible {
			where = "instance " + `"` + joined + `"`
		}
		return conflict("cluster %q is joined to %s: it has to leave that one first", in.Cluster, where)
	})
}

// Unjoin requests that a cluster be removed from an instance.
func (s *Service) Unjoin(ctx context.Context, in MembershipInput) (*MembershipPayload, error) {
	return s.request(ctx, in, nil, func(c *v1alpha1.Cluster) error {
		joined := access.InstanceOfCluster(c)
		// The removal may have begun and be blocked by workloads: the same request with Force ends
		// that.
		leaving := joined == "" && c.Status.Membership != nil && c.Status.Membership.Instance == in.Instance
		if joined == in.Instance || leaving {
			return nil
		}
		return conflict("cluster %q is not joined to instance %q", in.Cluster, in.Instance)
	})
}

// BlockedBy counts the objects that block the removal of a cluster from its instance, as the
// instance itself lists them for the caller; nil when none can.
func (s *Service) BlockedBy(ctx context.Context, p *MembershipPayload) (*propagated.Objects, error) {
	if p.leaves == "" {
		return nil, nil
	}
	site, err := s.Writer.To(ctx, p.leaves)
	if err != nil {
		return nil, err
	}
	found := &propagated.Objects{Instance: p.leaves, Cluster: p.Cluster.Name}
	for _, t := range []index.Type{index.ResourceBindings, index.ClusterResourceBindings} {
		kind := write.Kind{GroupVersionResource: t.GroupVersionResource(), Kind: t.Kind, Namespaced: t == index.ResourceBindings}
		// Both kinds have the same fields.
		more, err := write.Each(ctx, site.Client(), write.Listing{Kind: kind}, func(b *workv1alpha2.ResourceBinding) error {
			found.Add(&b.Spec)
			return nil
		})
		if err != nil {
			return nil, apierror.In(err, p.leaves)
		}
		found.More = found.More || more
	}
	if found.Count == 0 && !found.More {
		return nil, nil
	}
	return found, nil
}

func conflict(format string, args ...any) error {
	return apierror.At(apierror.New(apierror.CodeConflict, format, args...), clusterArgument)
}

// request writes the instance that a cluster is to be joined to, nil for none, if allowed returns
// nil for the stored cluster.
func (s *Service) request(ctx context.Context, in MembershipInput, to *string, allowed func(*v1alpha1.Cluster) error) (*MembershipPayload, error) {
	if err := s.permit(ctx, in.Instance, to != nil); err != nil {
		return nil, err
	}
	if err := write.CheckName(in.Cluster, clusterArgument); err != nil {
		return nil, err
	}
	if err := s.Inventory.permit(ctx, in.Cluster); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		c, err := s.Inventory.get(ctx, in.Cluster)
		switch {
		case err != nil:
			return nil, err
		case c.Spec.Type == v1alpha1.ClusterTypeVirtual:
			return nil, apierror.Invalid(clusterArgument, "cluster %q stands for an instance, and is a member of none", in.Cluster)
		case to != nil && c.DeletionTimestamp != nil:
			return nil, conflict("cluster %q is being removed from the inventory", in.Cluster)
		}
		if err := allowed(c); err != nil {
			return nil, err
		}
		c, err = s.Inventory.join(ctx, c, to, policy(c, to != nil, in.Force), in.DryRun)
		if try < attempts && apierror.Is(err, apierror.CodeConflict) {
			continue // Another client wrote its status, or another instance took it.
		}
		if err != nil {
			return nil, err
		}
		p := &MembershipPayload{Requested: !in.DryRun, Cluster: s.Inventory.shown(c)}
		if to == nil && keepable(c) {
			p.leaves = in.Instance
		}
		if p.Requested {
			p.Operation = s.Operations.Begin(ctx, operation.Operation{Kind: membershipKind(to), Instance: in.Instance, Cluster: in.Cluster, Version: c.ResourceVersion})
		}
		return p, nil
	}
}

// keepable reports whether propagated objects can block the removal of a cluster from its instance.
func keepable(c *v1alpha1.Cluster) bool {
	leaving := c.Status.Membership != nil && c.Status.Membership.LeavingSince != nil
	return c.Spec.RemovalPolicy() != v1alpha1.RemovalForce && !leaving
}

// membershipKind returns the kind of the operation that joins a cluster to an instance, or to none.
func membershipKind(to *string) operation.Kind {
	if to == nil {
		return operation.KindUnjoinCluster
	}
	return operation.KindJoinCluster
}

// policy returns the removal policy to write; nil keeps the stored one. Every join begins with the
// one that protects workloads, whichever the previous removal used.
func policy(c *v1alpha1.Cluster, join, force bool) *v1alpha1.RemovalPolicy {
	wanted := c.Spec.RemovalPolicy()
	switch {
	case join:
		wanted = v1alpha1.RemovalBlock
	case force:
		wanted = v1alpha1.RemovalForce
	}
	if wanted == c.Spec.RemovalPolicy() {
		return nil
	}
	return &wanted
}

// permit returns nil when the caller may change the instance itself, which changing its members
// requires. Inventory checks the permission on the cluster.
func (s *Service) permit(ctx context.Context, name string, join bool) error {
	grant, visible, err := s.Writer.Access.Instance(ctx, name)
	if err != nil {
		return err
	}
	// It takes the path of a missing one when it may not be seen.
	i, err := s.Instances.Get(ctx, name)
	switch {
	case err != nil:
		return err
	case i == nil || !visible:
		return apierror.At(apierror.NotFound("Instance", name), write.InstanceArgument)
	case !grant.Can(authz.VerbUpdateInstance, ""):
		audit.From(ctx).Refuse(name)
		return apierror.In(apierror.New(apierror.CodeForbidden, "your roles do not let you change which clusters are members of instance %q: that is for its admins", name), name)
	case join && i.DeletionTimestamp != nil:
		return apierror.At(apierror.New(apierror.CodeConflict, "instance %q is being deleted: nothing can be joined to it", name), write.InstanceArgument)
	}
	return nil
}
