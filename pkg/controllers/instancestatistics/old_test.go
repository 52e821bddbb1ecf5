package instancestatistics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// The summary of an instance and the member's Cluster agree about a lost member,
// whether the member or the whole instance was lost.
func TestOldSummariesAgree(t *testing.T) {
	at := func(second int) metav1.Time { return metav1.NewTime(time.Date(2031, 1, 2, 3, 4, second, 0, time.UTC)) }
	pointer := func(t metav1.Time) *metav1.Time { return &t }
	cluster := func(name string, since *metav1.Time) v1alpha1.Cluster {
		c := v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.Status.Summary = &v1alpha1.ClusterSummary{StaleSince: since, Nodes: v1alpha1.ReadyCount{Total: 3, Ready: 3}}
		return c
	}
	empty := v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
	counted := func(ready int64, stale ...v1alpha1.StaleCluster) *v1alpha1.InstanceSummary {
		return &v1alpha1.InstanceSummary{Clusters: v1alpha1.ReadyCount{Total: 2, Ready: ready}, Nodes: v1alpha1.ReadyCount{Total: 6, Ready: 3 * ready}, StaleClusters: stale}
	}
	stale := func(since metav1.Time, clusters ...v1alpha1.StaleCluster) *v1alpha1.InstanceSummary {
		s := counted(0, clusters...)
		s.StaleSince = &since
		return s
	}
	for _, c := range []struct {
		reason    string
		stored    *v1alpha1.InstanceSummary
		seen      []string
		inventory []v1alpha1.Cluster
		want      *v1alpha1.InstanceSummary
	}{
		{reason: "without figures there is nothing that could be old", seen: []string{"m1"}},
		{
			reason: "all members are lost with the instance, those that the inventory does not have too",
			stored: counted(2), seen: []string{"m2", "m1"}, inventory: []v1alpha1.Cluster{cluster("m1", nil)},
			want: stale(at(30), v1alpha1.StaleCluster{Name: "m1", Since: at(30)}, v1alpha1.StaleCluster{Name: "m2", Since: at(30)}),
		},
		{
			reason: "one that was lost before is lost since then",
			stored: counted(1, v1alpha1.StaleCluster{Name: "m2", Since: at(10)}), seen: []string{"m1", "m2"}, inventory: []v1alpha1.Cluster{cluster("m2", pointer(at(10)))},
			want: stale(at(30), v1alpha1.StaleCluster{Name: "m1", Since: at(30)}, v1alpha1.StaleCluster{Name: "m2", Since: at(10)}),
		},
		{
			reason: "a leader that has just begun knows the members by their figures",
			stored: counted(2), inventory: []v1alpha1.Cluster{cluster("m1", nil), cluster("m2", pointer(at(10))), empty},
			want: stale(at(30), v1alpha1.StaleCluster{Name: "m1", Since: at(30)}, v1alpha1.StaleCluster{Name: "m2", Since: at(10)}),
		},
		{
			reason: "what was told stays",
			stored: stale(at(20), v1alpha1.StaleCluster{Name: "m1", Since: at(20)}), inventory: []v1alpha1.Cluster{cluster("m1", pointer(at(20)))},
			want: stale(at(20), v1alpha1.StaleCluster{Name: "m1", Since: at(20)}),
		},
	} {
		got := old(c.stored, c.seen, c.inventory, at(30).Time)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
		if got == nil {
			continue
		}
		said := map[string]metav1.Time{}
		for _, s := range got.StaleClusters {
			said[s.Name] = s.Since
		}
		for i := range c.inventory {
			m := oldMember(&c.inventory[i], got)
			if since, lost := said[c.inventory[i].Name]; lost != (m != nil) || m != nil && (!m.StaleSince.Equal(&since) || m.Nodes.Ready != 0) {
				t.Errorf("%s: the instance says %v of %s, which says %+v", c.reason, since, c.inventory[i].Name, m)
			}
		}
	}
}
