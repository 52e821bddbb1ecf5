package workload

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/index"
)

// ClusterPods are pods of a workload in a member cluster.
type ClusterPods struct {
	// Cluster is the member cluster's name in the instance.
	Cluster string
	Pods    []pod.Pod
}

// PodsByCluster returns the first pods of a workload in each of some member clusters, or in all for nil,
// and how old that is. Members that have no object of the workload are left out.
func (s *Service) PodsByCluster(ctx context.Context, w *Workload, clusters []string, first int) ([]ClusterPods, freshness.Freshness, error) {
	fresh := w.Fresh
	placements, err := s.Placements(ctx, w)
	if err != nil {
		return nil, fresh, err
	}
	var all []ClusterPods
	for i := range placements {
		p := &placements[i]
		if clusters != nil && !slices.Contains(clusters, p.Cluster) {
			continue
		}
		o, err := s.Object(ctx, p, index.Metadata)
		if err != nil {
			return nil, fresh, err
		}
		if o == nil {
			continue
		}
		fresh = worse(fresh, o.Fresh)
		pods, err := s.Pods(ctx, o, first, index.Whole)
		if err != nil {
			return nil, fresh, err
		}
		all = append(all, ClusterPods{Cluster: p.Cluster, Pods: pods})
	}
	return all, fresh, nil
}

// worse is the freshness of what is known from two sources.
func worse(a, b freshness.Freshness) freshness.Freshness {
	switch {
	case a.Stale, !b.Stale && a.ObservedAt == nil:
		return a
	case b.Stale, b.ObservedAt == nil, b.ObservedAt.Before(*a.ObservedAt):
		return b
	}
	return a
}
