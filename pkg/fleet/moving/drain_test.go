package moving

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRestore(t *testing.T) {
	replicas := int32(2)
	ours := workv1alpha2.GracefulEvictionTask{FromCluster: "m1", Producer: producer, Replicas: &replicas}
	karmadas := workv1alpha2.GracefulEvictionTask{FromCluster: "m1", Producer: workv1alpha2.EvictionProducerTaintManager}
	elsewhere := workv1alpha2.GracefulEvictionTask{FromCluster: "m3", Producer: producer}
	in := func(clusters ...workv1alpha2.TargetCluster) []workv1alpha2.TargetCluster { return clusters }
	m1, m2 := workv1alpha2.TargetCluster{Name: "m1", Replicas: 2}, workv1alpha2.TargetCluster{Name: "m2", Replicas: 4}
	for _, tt := range []struct {
		reason   string
		clusters []workv1alpha2.TargetCluster
		tasks    []workv1alpha2.GracefulEvictionTask
		want     workv1alpha2.ResourceBindingSpec
	}{
		{"the copy is still there", in(m2), []workv1alpha2.GracefulEvictionTask{elsewhere, ours}, workv1alpha2.ResourceBindingSpec{Clusters: in(m2, m1), GracefulEvictionTasks: []workv1alpha2.GracefulEvictionTask{elsewhere}}},
		{"the scheduler was faster", in(m2, m1), []workv1alpha2.GracefulEvictionTask{ours}, workv1alpha2.ResourceBindingSpec{Clusters: in(m2, m1), GracefulEvictionTasks: []workv1alpha2.GracefulEvictionTask{}}},
		{"it is gone from there", in(m2), nil, workv1alpha2.ResourceBindingSpec{Clusters: in(m2)}},
		{"Karmada evicted it", in(m2), []workv1alpha2.GracefulEvictionTask{karmadas}, workv1alpha2.ResourceBindingSpec{Clusters: in(m2), GracefulEvictionTasks: []workv1alpha2.GracefulEvictionTask{karmadas}}},
	} {
		b := workv1alpha2.ResourceBindingSpec{Clusters: tt.clusters, GracefulEvictionTasks: tt.tasks}
		restore(&b, "m1")
		if diff := cmp.Diff(tt.want, b); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestRescheduleAt(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	second := now.Truncate(time.Second)
	for name, c := range map[string]struct {
		last *metav1.Time
		want time.Time
	}{
		"never scheduled":          {want: second},
		"scheduled before":         {last: new(metav1.NewTime(second.Add(-time.Second))), want: second},
		"scheduled in this second": {last: new(metav1.NewTime(second)), want: second.Add(time.Second)},
		"by a clock that is ahead": {last: new(metav1.NewTime(second.Add(time.Minute))), want: second.Add(time.Minute + time.Second)},
	} {
		if got := rescheduleAt(now, c.last); !got.Time.Equal(c.want) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
