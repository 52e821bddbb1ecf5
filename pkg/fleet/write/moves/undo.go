package moves

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/moving"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// undo takes the drain taint away. The controller workload-moves then has the scheduler decide anew about what was
// evicted.
func (s *Service) undo(ctx context.Context, in *DrainInput) (*DrainPayload, error) {
	if in.Expect != nil {
		return nil, unplanned()
	}
	// It is tried first, for callers who may not; what returns is counted while the taint is there.
	p, err := s.Members.Taint(ctx, in.Instance, in.Name, moving.Taint(""), false, true)
	if err != nil {
		return nil, err
	}
	returning, err := s.drainedFrom(ctx, in.Instance, in.Name)
	if err != nil {
		return nil, err
	}
	if !in.DryRun {
		if p, err = s.Members.Taint(ctx, in.Instance, in.Name, moving.Taint(""), false, false); err != nil {
			return nil, err
		}
	}
	return &DrainPayload{MemberCluster: p.MemberCluster, ConsistencyToken: p.ConsistencyToken, Returning: returning}, nil
}

// drainedFrom counts the objects that were evicted from a member cluster.
func (s *Service) drainedFrom(ctx context.Context, instance, cluster string) (count int, err error) {
	site, err := s.Writer.To(ctx, instance)
	if err != nil {
		return 0, err
	}
	for _, t := range []index.Type{index.ResourceBindings, index.ClusterResourceBindings} {
		k := write.Kind{GroupVersionResource: t.GroupVersionResource(), Kind: t.Kind, Namespaced: t == index.ResourceBindings}
		listing := write.Listing{Kind: k, Selector: moving.DrainedFrom + "=" + cluster, MetadataOnly: true}
		// As Kairship: the users who may drain a cluster need not read all bindings.
		_, err := write.Each(instanceproxy.AsKairship(ctx), site.Client(), listing, func(*metav1.PartialObjectMetadata) error {
			count++
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return count, nil
}
