package instancestatistics

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// old is the summary of an instance that is not followed since a moment; nil when there
// was none. Its members report to the instance alone, so each of them is lost by then
// too, and counts like any other that is. They are those that were seen last, and, after
// a change of the leader, those Clusters that have figures.
func old(stored *v1alpha1.InstanceSummary, seen []string, inventory []v1alpha1.Cluster, since time.Time) *v1alpha1.InstanceSummary {
	summary := stored.DeepCopy()
	if summary == nil {
		return nil
	}
	if summary.StaleSince == nil {
		at := metav1.NewTime(since).Rfc3339Copy()
		summary.StaleSince = &at
	}
	lost := map[string]metav1.Time{}
	lose := func(name string, since *metav1.Time) {
		if before, known := lost[name]; !known || since.Before(&before) {
			lost[name] = *since
		}
	}
	for _, name := range seen {
		lose(name, summary.StaleSince)
	}
	for i := range inventory {
		if figures := inventory[i].Status.Summary; figures != nil {
			lose(inventory[i].Name, summary.StaleSince)
			if figures.StaleSince != nil {
				lose(inventory[i].Name, figures.StaleSince)
			}
		}
	}
	for i := range summary.StaleClusters {
		lose(summary.StaleClusters[i].Name, &summary.StaleClusters[i].Since)
	}
	summary.StaleClusters = nil
	for name, since := range lost {
		summary.StaleClusters = append(summary.StaleClusters, v1alpha1.StaleCluster{Name: name, Since: since})
	}
	slices.SortFunc(summary.StaleClusters, func(a, b v1alpha1.StaleCluster) int { return cmp.Compare(a.Name, b.Name) })
	summary.Clusters.Ready, summary.Nodes.Ready = 0, 0
	return summary
}

// oldMember is the state of a Cluster of such an instance, as it is in the instance's
// summary.
func oldMember(cluster *v1alpha1.Cluster, instance *v1alpha1.InstanceSummary) *v1alpha1.ClusterSummary {
	summary := cluster.Status.Summary.DeepCopy()
	if summary == nil {
		return nil
	}
	for i := range instance.StaleClusters {
		if instance.StaleClusters[i].Name == cluster.Name {
			summary.StaleSince = instance.StaleClusters[i].Since.DeepCopy()
		}
	}
	summary.Nodes.Ready = 0
	return summary
}
