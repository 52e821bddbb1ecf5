package moving

import (
	"fmt"
	"slices"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/whatif"
)

// DrainTaint is the key of the taint of a member cluster that is drained. Its value is one of the phases.
const DrainTaint = "kairship.io/drain"

// The phases of a drain.
const (
	// DrainEvicting: what can move is being told to.
	DrainEvicting = "evicting"
	// DrainEvicted: all that could move was told to.
	DrainEvicted = "evicted"
)

// DrainedFrom is the label of a binding that was evicted: the member cluster. What has it is brought back once the cluster
// has no drain taint any more.
const DrainedFrom = "kairship.io/drained-from"

// producer names Kairship in the eviction tasks of bindings.
const producer = "Kairship"

// Taint is the drain taint in a phase.
func Taint(phase string) corev1.Taint {
	return corev1.Taint{Key: DrainTaint, Value: phase, Effect: corev1.TaintEffectNoSchedule}
}

// Draining is the drain taint of a member cluster; nil for none.
func Draining(c *clusterv1alpha1.Cluster) *corev1.Taint {
	for i := range c.Spec.Taints {
		if t := &c.Spec.Taints[i]; t.Key == DrainTaint && t.Effect == corev1.TaintEffectNoSchedule {
			return t
		}
	}
	return nil
}

// Loss is what a drain takes a member cluster for: one that Karmada evicts from.
func Loss(cluster string) whatif.Loss {
	return whatif.Loss{Clusters: []string{cluster}, Mode: whatif.NoExecuteTaint, Taints: []corev1.Taint{{Key: DrainTaint, Effect: corev1.TaintEffectNoExecute}}}
}

// Movable reports whether a drain moves an object: Karmada finds other clusters for all of it.
func Movable(i *whatif.Item) bool {
	return i.Effect == whatif.Evicted && !i.Unplaced && len(i.After) > 0
}

// Evictions returns the objects that a drain moves out of a member cluster.
func Evictions(clusters []*clusterv1alpha1.Cluster, bindings []*workv1alpha2.ResourceBinding, cluster string) ([]whatif.Item, error) {
	report, err := whatif.ClusterLoss(&whatif.World{Clusters: clusters, Bindings: bindings, Settings: whatif.Settings{NoExecuteEviction: true}}, Loss(cluster))
	if err != nil {
		return nil, fmt.Errorf("plan the drain of %s: %w", cluster, err)
	}
	return slices.DeleteFunc(report.Items, func(i whatif.Item) bool { return !Movable(&i) }), nil
}

// Evict has Karmada move an object away from a cluster, as its own taint manager does: the binding loses the cluster,
// and a task keeps the copy there until the others are healthy. It is false where nothing is to be changed.
func Evict(b *workv1alpha2.ResourceBinding, cluster string) bool {
	if !b.Spec.TargetContains(cluster) {
		return false
	}
	b.Spec.GracefulEvictCluster(cluster, workv1alpha2.NewTaskOptions(
		workv1alpha2.WithPurgeMode(policyv1alpha1.PurgeModeGracefully), workv1alpha2.WithProducer(producer), workv1alpha2.WithReason(workv1alpha2.EvictionReasonTaintUntolerated)))
	if b.Labels == nil {
		b.Labels = map[string]string{}
	}
	b.Labels[DrainedFrom] = cluster
	return true
}

// BringBack has the scheduler decide anew about an object that was evicted from a cluster.
func BringBack(b *workv1alpha2.ResourceBinding, now time.Time) {
	restore(&b.Spec, b.Labels[DrainedFrom])
	delete(b.Labels, DrainedFrom)
	at := rescheduleAt(now, b.Status.LastScheduledTime)
	b.Spec.RescheduleTriggeredAt = &at
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
