package whatif

import (
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/helper"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LossMode is how member clusters are lost.
type LossMode string

// The modes.
const (
	// Cordon: the taint that keeps new workloads away.
	Cordon LossMode = "CORDON"
	// NoExecuteTaint: taints that evict workloads, if Karmada is set up to.
	NoExecuteTaint LossMode = "NO_EXECUTE_TAINT"
	// Unready: the clusters are not ready for longer than every limited toleration.
	Unready LossMode = "UNREADY"
	// Removal: the clusters leave the instance.
	Removal LossMode = "REMOVAL"
)

// Loss is a loss of member clusters.
type Loss struct {
	// Clusters are their names.
	Clusters []string
	Mode     LossMode
	// Taints are those that the clusters get, beside those that they have; nil for the ones of the mode.
	Taints []corev1.Taint
}

// lossKey is the key of the taint of NoExecuteTaint, where none is given: no policy tolerates it by its key.
const lossKey = "preview.kairship.io/lost"

// taints are those that the mode gives a cluster. A taint without TimeAdded would be tolerated forever.
func (l Loss) taints() []corev1.Taint {
	if l.Taints != nil {
		return l.Taints
	}
	switch l.Mode {
	case Cordon:
		return []corev1.Taint{{Key: clusterv1alpha1.TaintClusterUnscheduler, Effect: corev1.TaintEffectNoSchedule}}
	case NoExecuteTaint:
		return []corev1.Taint{{Key: lossKey, Effect: corev1.TaintEffectNoExecute}}
	case Unready:
		return []corev1.Taint{{Key: clusterv1alpha1.TaintClusterNotReady, Effect: corev1.TaintEffectNoSchedule}}
	case Removal:
	}
	return nil
}

// ClusterLoss computes what a loss of member clusters does to what is in them.
func ClusterLoss(w *World, l Loss) (*Report, error) {
	after := make([]*clusterv1alpha1.Cluster, len(w.Clusters))
	lost := map[string]*clusterv1alpha1.Cluster{}
	for i, c := range w.Clusters {
		after[i] = c
		if slices.Contains(l.Clusters, c.Name) {
			after[i] = l.apply(w, c)
			lost[c.Name] = after[i]
		}
	}
	s, err := newScheduler(after)
	if err != nil {
		return nil, err
	}
	items := []Item{}
	for _, b := range w.Bindings {
		if slices.ContainsFunc(b.Spec.Clusters, func(t workv1alpha2.TargetCluster) bool { return lost[t.Name] != nil }) {
			items = append(items, *s.lossOf(b, lost, l, w.Settings))
		}
	}
	names := slices.Sorted(slices.Values(l.Clusters))
	return newReport(w, []any{l.Mode, names, l.taints()}, items, lossAssumptions(w, l))
}

// apply returns a cluster after its loss.
func (l Loss) apply(w *World, was *clusterv1alpha1.Cluster) *clusterv1alpha1.Cluster {
	c := was.DeepCopy()
	if l.Mode == Removal {
		c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		return c
	}
	var add []*corev1.Taint
	for _, t := range l.taints() {
		add = append(add, &t)
	}
	c.Spec.Taints = helper.SetCurrentClusterTaints(add, nil, c)
	if l.Mode == Unready {
		setUnready(c)
		c.Spec.Taints = append(c.Spec.Taints, w.addedTaints(c)...)
	}
	return c
}

// lossOf computes what becomes of a binding with replicas in a lost cluster.
func (s *scheduler) lossOf(was *workv1alpha2.ResourceBinding, lost map[string]*clusterv1alpha1.Cluster, l Loss, settings Settings) *Item {
	r := &was.Spec.Resource
	item := &Item{
		APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
		Before: placements(was.Spec.Clusters), Effect: Unchanged,
	}
	item.PolicyBefore = claimOf(was)
	item.PolicyAfter = item.PolicyBefore
	b := was.DeepCopy()
	var notes []string
	if l.Mode != Removal {
		notes = evict(b, lost, settings)
	}
	after := b.Spec.Clusters
	moves := len(b.Spec.Clusters) != len(was.Spec.Clusters)
	switch {
	case !moves && l.Mode != Removal:
	case !schedulable(b):
		notes = append(notes, "Karmada's scheduler does not look at it, so that nothing replaces what is lost")
	case moves || due(b, s.clusters):
		decided := s.decide(b)
		after, item.Unplaced = decided.clusters, decided.failure != ""
		if decided.failure != "" {
			notes = append(notes, decided.failure)
		}
	}
	item.After = placements(after)
	switch {
	case moves:
		item.Effect = Evicted
	case item.Moved():
		item.Effect = Rescheduled
	}
	if len(notes) == 0 && item.Effect == Unchanged {
		notes = []string{"it stays in the cluster"}
	}
	item.Message = strings.Join(notes, "; ")
	return item
}

// evict evicts a binding from the lost clusters whose NoExecute taints it does not tolerate forever, and
// returns explanations. It follows needEvictionWithCurrentTime and syncBindingEviction.
func evict(b *workv1alpha2.ResourceBinding, lost map[string]*clusterv1alpha1.Cluster, settings Settings) []string {
	var notes []string
	placement, err := helper.GetAppliedPlacement(b.Annotations)
	for _, name := range namesOf(b.Spec.Clusters) {
		c := lost[name]
		if c == nil {
			continue
		}
		taints := helper.GetNoExecuteTaints(c.Spec.Taints)
		switch {
		case len(taints) == 0:
			continue
		case !settings.NoExecuteEviction:
			notes = append(notes, "Karmada does not evict by NoExecute taints")
			return notes
		case err != nil || placement == nil:
			notes = append(notes, "Karmada does not know by which placement it was scheduled, and does not evict it")
			return notes
		}
		tolerated, used := helper.GetMatchingTolerations(taints, placement.ClusterTolerations)
		seconds, limited := shortest(used)
		switch {
		case tolerated && !limited:
			notes = append(notes, fmt.Sprintf("it tolerates the taints of cluster %s", name))
			continue
		case tolerated:
			notes = append(notes, fmt.Sprintf("it is evicted from cluster %s after %d seconds", name, seconds))
		}
		b.Spec.GracefulEvictCluster(name, workv1alpha2.NewTaskOptions(
			workv1alpha2.WithProducer(workv1alpha2.EvictionProducerTaintManager), workv1alpha2.WithReason(workv1alpha2.EvictionReasonTaintUntolerated)))
	}
	return notes
}

// shortest is the shortest toleration that is limited, in seconds.
func shortest(used []corev1.Toleration) (seconds int64, limited bool) {
	for _, t := range used {
		if t.TolerationSeconds != nil && (!limited || *t.TolerationSeconds < seconds) {
			seconds, limited = max(0, *t.TolerationSeconds), true
		}
	}
	return seconds, limited
}

func namesOf(clusters []workv1alpha2.TargetCluster) []string {
	out := make([]string, len(clusters))
	for i, c := range clusters {
		out[i] = c.Name
	}
	slices.Sort(out)
	return out
}
