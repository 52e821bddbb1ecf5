package instancestatistics

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// read is what counts of an object, as an instance sends it.
func read(t *testing.T, kind, object string) entry {
	t.Helper()
	i := &item{}
	if err := json.Unmarshal([]byte(object), i); err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		if s.kind == kind {
			return s.read(i)
		}
	}
	t.Fatalf("%s is not watched", kind)
	return entry{}
}

func TestReadWorkloads(t *testing.T) {
	for _, c := range []struct {
		reason, kind, object string
		ready                bool
	}{
		{"all replicas are ready", "Deployment", `{"metadata":{"generation":2},"spec":{"replicas":4},"status":{"observedGeneration":2,"replicas":4,"readyReplicas":4}}`, true},
		{"some are not", "Deployment", `{"metadata":{"generation":2},"spec":{"replicas":4},"status":{"observedGeneration":2,"replicas":4,"readyReplicas":3}}`, false},
		{"duplicated, there are more of them", "Deployment", `{"metadata":{"generation":1},"spec":{"replicas":2},"status":{"observedGeneration":1,"replicas":4,"readyReplicas":3}}`, false},
		{"the status is about an older spec", "Deployment", `{"metadata":{"generation":3},"spec":{"replicas":4},"status":{"observedGeneration":2,"replicas":4,"readyReplicas":4}}`, false},
		{"without a number it is one", "Deployment", `{"metadata":{"generation":1},"status":{"observedGeneration":1}}`, false},
		{"it is not propagated", "Deployment", `{"metadata":{"generation":1},"spec":{"replicas":0}}`, false},
		{"scaled to nothing, nothing is missing", "Deployment", `{"metadata":{"generation":1},"spec":{"replicas":0},"status":{"observedGeneration":1}}`, true},
		{"of a StatefulSet it is not known what was observed", "StatefulSet", `{"metadata":{"generation":1},"spec":{"replicas":2},"status":{"replicas":4,"readyReplicas":4}}`, true},
		{"a StatefulSet with a replica missing", "StatefulSet", `{"metadata":{"generation":1},"spec":{"replicas":2},"status":{"replicas":4,"readyReplicas":3}}`, false},
		{"a DaemonSet runs wherever it should", "DaemonSet", `{"metadata":{"generation":1},"status":{"observedGeneration":1,"desiredNumberScheduled":6,"numberReady":6}}`, true},
		{"a DaemonSet is missing on a node", "DaemonSet", `{"metadata":{"generation":1},"status":{"observedGeneration":1,"desiredNumberScheduled":6,"numberReady":5}}`, false},
		{"a DaemonSet that is not propagated", "DaemonSet", `{"metadata":{"generation":1}}`, false},
		{"a Job that is done", "Job", `{"status":{"conditions":[{"type":"Complete","status":"True"}]}}`, true},
		{"a Job that is not done", "Job", `{"status":{"active":1}}`, false},
		{"a CronJob's own status does not say it, and its list of jobs does no harm", "CronJob", `{"status":{"active":[{"name":"x"}]}}`, false},
	} {
		if got := read(t, c.kind, c.object); got.ready != c.ready {
			t.Errorf("%s: ready is %v, want %v", c.reason, got.ready, c.ready)
		}
	}
}

const (
	m1 = `{"metadata":{"name":"m1"},"spec":{"id":"1"},"status":{"conditions":[{"type":"Ready","status":"True"}],
		"nodeSummary":{"totalNum":3,"readyNum":2},"resourceSummary":{
		"allocatable":{"cpu":"96","memory":"768Gi","pods":"6k"},"allocated":{"cpu":"1200m","memory":"1Gi","pods":"7"},"allocating":{"cpu":"5"}}}}`
	m2 = `{"metadata":{"name":"m2"},"spec":{"id":"2"},"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2031-01-02T03:04:05Z"}],
		"nodeSummary":{"totalNum":5,"readyNum":5},"resourceSummary":{
		"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"},"allocated":{"cpu":"1","memory":"1Gi","pods":"3"}}}}`
	m3 = `{"metadata":{"name":"m3","creationTimestamp":"2031-02-03T04:05:06Z"}}`
)

func total(allocatable, allocated string) v1alpha1.Capacity {
	return v1alpha1.Capacity{Allocatable: resource.MustParse(allocatable), Allocated: resource.MustParse(allocated)}
}

func TestSummarize(t *testing.T) {
	lost := metav1.NewTime(time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC))
	joined := metav1.NewTime(time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC))
	member := func(object string) entry { return read(t, "Cluster", object) }
	binding := func(group, kind string, ready bool) entry {
		return entry{kind: schema.GroupKind{Group: group, Kind: kind}, ready: ready}
	}
	for _, c := range []struct {
		reason  string
		figures figures
		want    v1alpha1.InstanceSummary
	}{
		{
			reason: "members add up", figures: figures{"Cluster": {member(m1), member(m1)}},
			want: v1alpha1.InstanceSummary{
				Clusters: v1alpha1.ReadyCount{Total: 2, Ready: 2}, Nodes: v1alpha1.ReadyCount{Total: 6, Ready: 4},
				CPU: total("192", "2400m"), Memory: total("1536Gi", "2Gi"), Pods: total("12k", "14"),
			},
		},
		{
			reason: "a lost member counts with what it had, has no node that is ready, and the age is told", figures: figures{"Cluster": {member(m2), member(m1)}},
			want: v1alpha1.InstanceSummary{
				StaleClusters: []v1alpha1.StaleCluster{{Name: "m2", Since: lost}},
				Clusters:      v1alpha1.ReadyCount{Total: 2, Ready: 1}, Nodes: v1alpha1.ReadyCount{Total: 8, Ready: 2},
				CPU: total("100", "2200m"), Memory: total("776Gi", "2Gi"), Pods: total("6110", "10"),
			},
		},
		{
			reason: "a member that never reported is not ready since it was joined", figures: figures{"Cluster": {member(m3)}},
			want: v1alpha1.InstanceSummary{
				StaleClusters: []v1alpha1.StaleCluster{{Name: "m3", Since: joined}}, Clusters: v1alpha1.ReadyCount{Total: 1},
				CPU: total("0", "0"), Memory: total("0", "0"), Pods: total("0", "0"),
			},
		},
		{
			reason: "kinds that could not be read are left out, and empty ones are not",
			figures: figures{
				"Cluster": {}, "Deployment": {{ready: true}, {}}, "Job": {}, "PropagationPolicy": {{}}, "ClusterOverridePolicy": {},
				"ResourceBinding": {binding("apps", "Deployment", true), binding("", "ConfigMap", true), binding("apps", "Deployment", false)}, "ClusterResourceBinding": {binding("", "Namespace", true)},
			},
			want: v1alpha1.InstanceSummary{
				CPU: total("0", "0"), Memory: total("0", "0"), Pods: total("0", "0"),
				Workloads: []v1alpha1.WorkloadCount{{Kind: "Deployment", ReadyCount: v1alpha1.ReadyCount{Total: 2, Ready: 1}}, {Kind: "Job"}},
				Policies: []v1alpha1.KindCount{
					{Group: "policy.karmada.io", Kind: "PropagationPolicy", Total: 1}, {Group: "policy.karmada.io", Kind: "ClusterOverridePolicy"},
				},
				Resources: []v1alpha1.KindCount{{Kind: "ConfigMap", Total: 1}, {Kind: "Namespace", Total: 1}, {Group: "apps", Kind: "Deployment", Total: 2}},
			},
		},
		{
			reason:  "a CronJob is ready once it was applied everywhere",
			figures: figures{"CronJob": {{}, {}, {}}, "ResourceBinding": {binding("batch", "CronJob", true), binding("batch", "CronJob", false), binding("example.com", "CronJob", true)}},
			want: v1alpha1.InstanceSummary{
				CPU: total("0", "0"), Memory: total("0", "0"), Pods: total("0", "0"),
				Workloads: []v1alpha1.WorkloadCount{{Kind: "CronJob", ReadyCount: v1alpha1.ReadyCount{Total: 3, Ready: 1}}},
				Resources: []v1alpha1.KindCount{{Group: "batch", Kind: "CronJob", Total: 2}, {Group: "example.com", Kind: "CronJob", Total: 1}},
			},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := summarize(c.figures)
			if !equality.Semantic.DeepEqual(&c.want, got) {
				t.Errorf("summary (-want +got):\n%s", cmp.Diff(&c.want, got))
			}
			for _, entries := range c.figures {
				rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
			}
			if again := summarize(c.figures); !equality.Semantic.DeepEqual(got, again) {
				t.Errorf("another order gives another summary:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func TestBounded(t *testing.T) {
	var all []v1alpha1.KindCount
	for i := range 10 {
		all = append(all, v1alpha1.KindCount{Group: "g", Kind: fmt.Sprintf("K%d", i), Total: int64(i)})
	}
	got := bounded(all, 3)
	want := []v1alpha1.KindCount{{Kind: otherKind, Total: 28}, {Group: "g", Kind: "K8", Total: 8}, {Group: "g", Kind: "K9", Total: 9}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the biggest by name, and the rest (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(all, bounded(all, 10)); diff != "" {
		t.Errorf("as many as fit (-want +got):\n%s", diff)
	}
}

func TestSummarizeMember(t *testing.T) {
	since := metav1.NewTime(time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC))
	for _, c := range []struct {
		reason, object string
		want           *v1alpha1.ClusterSummary
	}{
		{"it reports", m1, &v1alpha1.ClusterSummary{Nodes: v1alpha1.ReadyCount{Total: 3, Ready: 2}, CPU: total("96", "1200m"), Memory: total("768Gi", "1Gi"), Pods: total("6k", "7")}},
		{"it is lost", m2, &v1alpha1.ClusterSummary{StaleSince: &since, Nodes: v1alpha1.ReadyCount{Total: 5}, CPU: total("4", "1"), Memory: total("8Gi", "1Gi"), Pods: total("110", "3")}},
		{"it has never reported", m3, nil},
	} {
		if got := summarizeMember(read(t, "Cluster", c.object).member); !equality.Semantic.DeepEqual(c.want, got) {
			t.Errorf("%s (-want +got):\n%s", c.reason, cmp.Diff(c.want, got))
		}
	}
}

func TestFiguresOf(t *testing.T) {
	members := membersOf(figures{"Cluster": {read(t, "Cluster", m1)}})
	for _, c := range []struct {
		reason, name, id string
		found            bool
	}{
		{"the member of its name", "m1", "1", true},
		{"as long as it is unknown which cluster it is, the name counts", "m1", "", true},
		{"another cluster has its name", "m1", "7", false},
		{"it is not joined", "m2", "1", false},
	} {
		cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Status: v1alpha1.ClusterStatus{KubeSystemID: c.id}}
		if got := figuresOf(cluster, members); (got != nil) != c.found {
			t.Errorf("%s: got %+v", c.reason, got)
		}
	}
}
