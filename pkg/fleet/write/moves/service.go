// Package moves implements the mutations that move workloads between member clusters, and empty a member
// cluster. What they have begun is stored in the objects of the instance, so that any replica can go on with
// it: the same mutation sent again does, and so does the subscription operationProgress.
package moves

import (
	"context"
	"time"

	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/preview"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/members"
)

// Service moves workloads.
type Service struct {
	Writer    *write.Writer
	Workloads *workload.Service
	Members   *members.Service
	Previews  *preview.Service
	// Operations makes the IDs under which moves are followed; nil for none.
	Operations *operation.Service
	Now        func() time.Time
}

// Continue takes the next step of a move or a drain, as the user of the context. It does nothing where none is
// due.
func (s *Service) Continue(ctx context.Context, op operation.Operation) error {
	switch op.Kind {
	case operation.KindMoveWorkload:
		site, err := s.Writer.To(ctx, op.Instance)
		if err != nil {
			return err
		}
		_, err = s.finish(ctx, site, op)
		return err
	case operation.KindDrainCluster:
		_, err := s.evictAll(ctx, op.Instance, op.Cluster)
		return err
	case operation.KindApplyManifests, operation.KindDeployApplication, operation.KindPromoteResource, operation.KindJoinCluster,
		operation.KindUnjoinCluster, operation.KindCreateInstance, operation.KindMoveCluster:
	}
	return nil
}
