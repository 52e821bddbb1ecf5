package moves

import (
	"context"
	"slices"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// undo takes the drain taint away, and has the scheduler decide anew about what was evicted. Sent again, it goes on
// with what it began.
func (s *Service) undo(ctx context.Context, in *DrainInput) (*DrainPayload, error) {
	if in.Expect != nil {
		return nil, unplanned()
	}
	p, err := s.Members.Taint(ctx, in.Instance, in.Name, drainTaint(""), false, in.DryRun)
	if err != nil {
		return nil, err
	}
	out := &DrainPayload{MemberCluster: p.MemberCluster, ConsistencyToken: p.ConsistencyToken}
	site, err := s.Writer.To(ctx, in.Instance)
	if err != nil {
		return nil, err
	}
	var g errgroup.Group
	g.SetLimit(evictAtOnce)
	for _, namespaced := range []bool{true, false} {
		listing := write.Listing{Kind: bindingKind(namespaced), Selector: drainedFrom + "=" + in.Name, MetadataOnly: true}
		_, err := write.Each(instanceproxy.AsKairship(ctx), site.Client(), listing, func(m *metav1.PartialObjectMetadata) error {
			out.Returning++
			if !in.DryRun {
				g.Go(func() error { return bringBack(ctx, site, m.Namespace, m.Name, in.Name, s.Now()) })
			}
			return nil
		})
		if err != nil {
			_ = g.Wait() // The first error is returned.
			return nil, err
		}
	}
	return out, g.Wait()
}

// bringBack has the scheduler decide anew about an object that was evicted.
func bringBack(ctx context.Context, site *write.Site, namespace, name, cluster string, now time.Time) error {
	return changeBinding(ctx, site, namespace, name, func(b *workv1alpha2.ResourceBinding) *bindingChange {
		if b.Labels[drainedFrom] != cluster {
			return nil
		}
		restore(&b.Spec, cluster)
		at := rescheduleAt(now, b.Status.LastScheduledTime)
		return &bindingChange{
			Metadata: bindingMetadata{Labels: map[string]*string{drainedFrom: nil}},
			Spec:     bindingSpec{Clusters: b.Spec.Clusters, Tasks: b.Spec.GracefulEvictionTasks, RescheduleAt: &at},
		}
	})
}

// rescheduleAt is a time that has the scheduler decide anew: one after it last did. Times have whole seconds, and it may have
// decided within this one.
func rescheduleAt(now time.Time, last *metav1.Time) metav1.Time {
	at := metav1.NewTime(now.Truncate(time.Second))
	if last != nil && !at.After(last.Time) {
		at = metav1.NewTime(last.Add(time.Second))
	}
	return at
}

// restore takes an eviction back that is not over: the copy is still in the cluster, and would be removed at once if
// the binding did not name the cluster.
func restore(b *workv1alpha2.ResourceBindingSpec, cluster string) {
	b.GracefulEvictionTasks = slices.DeleteFunc(b.GracefulEvictionTasks, func(t workv1alpha2.GracefulEvictionTask) bool {
		if t.FromCluster != cluster || t.Producer != producer {
			return false
		}
		if !b.TargetContains(cluster) {
			back := workv1alpha2.TargetCluster{Name: cluster}
			if t.Replicas != nil {
				back.Replicas = *t.Replicas
			}
			b.Clusters = append(b.Clusters, back)
		}
		return true
	})
}
