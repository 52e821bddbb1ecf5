package workload

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// These tests check single decisions on constructed facts. TestCaptured checks whole states, as
// real instances show them.

// facts is a workload of generation 2 that is scheduled to the clusters with
// two replicas each, has been applied in all, and reported nothing yet.
func facts(kind Kind, clusters ...string) Facts {
	template := &Object{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 2}}
	template.Spec.Replicas = ptr32(2)
	template.Annotations = map[string]string{
		policyv1alpha1.PropagationPolicyNamespaceAnnotation: "shop",
		policyv1alpha1.PropagationPolicyNameAnnotation:      "web",
	}
	binding := &workv1alpha2.ResourceBinding{}
	binding.Spec.Replicas = 2
	binding.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.Scheduled, Status: metav1.ConditionTrue}}
	in := Facts{Kind: kind, Template: template, Binding: binding, Members: map[string]Member{}, Objects: map[string]*Object{}}
	for _, cluster := range clusters {
		in.Members[cluster] = Member{Ready: metav1.ConditionTrue}
		binding.Spec.Clusters = append(binding.Spec.Clusters, workv1alpha2.TargetCluster{Name: cluster, Replicas: 2})
		binding.Status.AggregatedStatus = append(binding.Status.AggregatedStatus,
			workv1alpha2.AggregatedStatusItem{ClusterName: cluster, Applied: true, Health: workv1alpha2.ResourceUnknown})
	}
	return in
}

// report sets what Karmada aggregated of one cluster.
func (in Facts) report(cluster, status string) Facts {
	for i := range in.Binding.Status.AggregatedStatus {
		if item := &in.Binding.Status.AggregatedStatus[i]; item.ClusterName == cluster {
			item.Status = &runtime.RawExtension{Raw: []byte(status)}
		}
	}
	return in
}

// object sets the object in one cluster, derived from the given generation of the template.
func (in Facts) object(t *testing.T, cluster string, templateGeneration int, specAndStatus string) Facts {
	t.Helper()
	raw := fmt.Sprintf(`{"metadata":{"generation":5,"annotations":{"resourcetemplate.karmada.io/generation":"%d"}},%s}`,
		templateGeneration, specAndStatus)
	object, err := parseObject([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	in.Objects[cluster] = object
	return in
}

const (
	good  = `{"generation":3,"observedGeneration":3,"resourceTemplateGeneration":2,"replicas":2,"readyReplicas":2,"availableReplicas":2,"updatedReplicas":2}`
	early = `{"generation":3,"observedGeneration":3,"resourceTemplateGeneration":1,"replicas":2,"readyReplicas":2,"availableReplicas":2,"updatedReplicas":2}`
)

type ruleCase struct {
	reason  string
	in      func(t *testing.T) Facts
	counts  ReplicaCounts
	health  Health
	message string
	// suspended is the expected Status.Suspended.
	suspended bool
}

func checkRules(t *testing.T, cases []ruleCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.reason, func(t *testing.T) {
			in := tt.in(t)
			got := Evaluate(in)
			if got.Health != tt.health || got.Message != tt.message {
				t.Errorf("health is\n  %s %q, want\n  %s %q", got.Health, got.Message, tt.health, tt.message)
			}
			if got.Suspended != tt.suspended {
				t.Errorf("suspended is %v", got.Suspended)
			}
			if diff := cmp.Diff(tt.counts, got.Replicas); diff != "" {
				t.Errorf("replicas (-want +got):\n%s", diff)
			}
			if health, message := healthOf(in); health != got.Health || message != got.Message {
				t.Errorf("HealthOf says %s %q", health, message)
			}
			if diff := cmp.Diff(got.Replicas, replicasOf(in)); diff != "" {
				t.Errorf("Replicas differs from Evaluate:\n%s", diff)
			}
			if diff := cmp.Diff(got.Placements, placementsOf(in)); diff != "" {
				t.Errorf("Placements differs from Evaluate:\n%s", diff)
			}
		})
	}
}

func TestWhole(t *testing.T) {
	deleted := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	unscheduled := func(reason, message string, status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: workv1alpha2.Scheduled, Status: status, Reason: reason, Message: message}}
	}
	checkRules(t, []ruleCase{
		{
			reason: "nothing selects it",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment)
				in.Template.Annotations = nil
				in.Binding = nil
				return in
			},
			health: HealthUnpropagated, message: "no propagation policy selects it",
		},
		{
			reason: "claimed a moment ago",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment)
				in.Binding = nil
				in.Template.Annotations = map[string]string{"clusterpropagationpolicy.karmada.io/name": "all"}
				return in
			},
			health: HealthProgressing, message: "ClusterPropagationPolicy all claimed it; Karmada has not made its binding yet",
		},
		{
			reason: "the template was not read",
			in:     func(*testing.T) Facts { return Facts{Kind: KindDeployment} },
			health: HealthUnknown, message: "its object in the instance is not known",
		},
		{
			reason: "deletion comes before all else, and says what it waits for",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1").report("m1", good)
				in.Template.DeletionTimestamp = &deleted
				in.Template.Finalizers = []string{"example.com/a", "example.com/b"}
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2},
			health: HealthProgressing, message: "is being deleted since 2026-01-02T03:04:05Z, waiting for the finalizers example.com/a, example.com/b",
		},
		{
			reason: "the scheduler has not looked",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment)
				in.Binding.Status.Conditions = nil
				return in
			},
			health: HealthProgressing, message: "waiting for Karmada's scheduler",
		},
		{
			reason: "the scheduler found no cluster, and says why",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment)
				in.Binding.Status.Conditions = unscheduled("NoClusterFit", "0/2 clusters are available", metav1.ConditionFalse)
				return in
			},
			health: HealthUnscheduled, message: "NoClusterFit: 0/2 clusters are available",
		},
		{
			reason: "the scheduler was content with no cluster at all",
			in:     func(*testing.T) Facts { return facts(KindDeployment) },
			health: HealthUnscheduled, message: "the scheduler chose no cluster",
		},
		{
			reason: "scheduling itself is suspended",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment)
				yes := true
				in.Binding.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: &yes}
				return in
			},
			suspended: true,
			health:    HealthUnscheduled, message: "its scheduling is suspended",
		},
		{
			reason: "a change that can't be scheduled is missing, although the clusters of the last one run well",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1").report("m1", good)
				in.Binding.Status.Conditions = unscheduled("Unschedulable", "not enough resources", metav1.ConditionFalse)
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2},
			health: HealthDegraded, message: "the latest change could not be scheduled: Unschedulable: not enough resources",
		},
	})
}

func TestRollUp(t *testing.T) {
	down := Member{Ready: metav1.ConditionFalse, Message: "ClusterNotReachable: cluster is not reachable"}
	const notReady = "the member cluster is not ready: ClusterNotReachable: cluster is not reachable; the counts are the last known"
	checkRules(t, []ruleCase{
		{
			reason: "all is well",
			in: func(*testing.T) Facts {
				return facts(KindDeployment, "m1", "m2").report("m1", good).report("m2", good)
			},
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthHealthy,
		},
		{
			reason: "one of two clusters is out of sight: a part is missing",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1", "m2").report("m1", good).report("m2", good)
				in.Members["m2"] = down
				return in
			},
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthDegraded, message: "m2: " + notReady,
		},
		{
			reason: "no cluster is in sight: nothing can be said, and clusters that say the same are named together",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1", "m2").report("m1", good).report("m2", good)
				in.Members["m1"], in.Members["m2"] = down, down
				return in
			},
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthUnknown, message: "m1, m2: " + notReady,
		},
		{
			reason: "a cluster that was unjoined can't be observed either",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1")
				delete(in.Members, "m1")
				return in
			},
			counts: ReplicaCounts{Desired: 2}, health: HealthUnknown, message: "m1: the instance has no such member cluster any more",
		},
		{
			reason: "a cluster that was just joined has no Ready condition",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1")
				in.Members["m1"] = Member{}
				return in
			},
			counts: ReplicaCounts{Desired: 2}, health: HealthUnknown, message: "m1: Karmada has not yet looked at the member cluster",
		},
		{
			reason: "a caller that did not read the members takes them for ready",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1").report("m1", good)
				in.Members = nil
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthHealthy,
		},
		{
			reason: "a failure outweighs progress",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1", "m2").report("m1", good)
				in.Binding.Status.AggregatedStatus[1].Applied = false
				in.Binding.Status.AggregatedStatus[1].AppliedMessage = "quota exceeded"
				return in
			},
			counts: ReplicaCounts{4, 2, 2, 2}, health: HealthDegraded,
			message: "m2: the latest manifest could not be applied: quota exceeded",
		},
		{
			reason: "scheduled, and Karmada has not come to it",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1")
				in.Binding.Status.AggregatedStatus = nil
				return in
			},
			counts: ReplicaCounts{Desired: 2}, health: HealthProgressing, message: "m1: waiting to be applied in this cluster",
		},
		{
			reason: "applied, and the cluster has not reported",
			in:     func(*testing.T) Facts { return facts(KindDeployment, "m1") },
			counts: ReplicaCounts{Desired: 2}, health: HealthProgressing, message: "m1: applied; the cluster has not reported a status yet",
		},
		{
			reason: "the object is there, and its new manifest is not applied yet",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1").report("m1", good)
				in.Binding.Status.AggregatedStatus[0].Applied = false
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthProgressing,
			message: "m1: waiting for the latest manifest to be applied in this cluster",
		},
		{
			reason: "a status that no workload has is as good as none",
			in:     func(*testing.T) Facts { return facts(KindDeployment, "m1").report("m1", `"fine"`) },
			counts: ReplicaCounts{Desired: 2}, health: HealthProgressing, message: "m1: applied; the cluster has not reported a status yet",
		},
		{
			reason: "what Karmada reports for an earlier template proves nothing",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1").report("m1", early)
				in.Binding.Status.AggregatedStatus[0].Health = workv1alpha2.ResourceHealthy
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthProgressing, message: "m1: the latest change has not reached the cluster yet",
		},
		{
			reason: "What Karmada reports counts when the numbers look well",
			in: func(*testing.T) Facts {
				in := facts(KindStatefulSet, "m1").report("m1", good)
				in.Binding.Status.AggregatedStatus[0].Health = workv1alpha2.ResourceUnhealthy
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthProgressing, message: "m1: Karmada does not report it healthy",
		},
	})
}

func TestSuspendedDispatching(t *testing.T) {
	yes := true
	everywhere := &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: &yes}}
	onM2 := &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{
		DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{"m2"}}}}
	const nothing = "dispatching is suspended by the policy; nothing was sent yet"
	checkRules(t, []ruleCase{
		{
			reason: "suspended before it was ever sent: it is in the instance only",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1")
				in.Binding.Spec.Suspension = everywhere
				in.Binding.Status.AggregatedStatus[0].Applied = false
				return in
			},
			suspended: true,
			counts:    ReplicaCounts{Desired: 2}, health: HealthUnpropagated, message: "m1: " + nothing,
		},
		{
			reason: "suspended for one cluster that never had it: not everywhere yet",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1", "m2").report("m1", good)
				in.Binding.Spec.Suspension = onM2
				in.Binding.Status.AggregatedStatus[1].Applied = false
				return in
			},
			suspended: true,
			counts:    ReplicaCounts{4, 2, 2, 2}, health: HealthProgressing, message: "m2: " + nothing,
		},
		{
			reason: "suspended later: what runs is as well as it was, and the message reports that it is an earlier version",
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1").report("m1", early)
				in.Binding.Spec.Suspension = everywhere
				return in
			},
			suspended: true,
			counts:    ReplicaCounts{2, 2, 2, 2}, health: HealthHealthy,
			message: "m1: dispatching is suspended by the policy; an earlier version runs",
		},
		{
			reason: "scaled up while suspended: what runs is judged by what it was told",
			in: func(t *testing.T) Facts {
				in := facts(KindDeployment, "m1").report("m1", early).object(t, "m1", 1,
					`"spec":{"replicas":1},"status":{"observedGeneration":5,"replicas":1,"readyReplicas":1,"availableReplicas":1,"updatedReplicas":1}`)
				in.Binding.Spec.Suspension = everywhere
				return in
			},
			suspended: true,
			counts:    ReplicaCounts{2, 1, 1, 1}, health: HealthHealthy,
			message: "m1: dispatching is suspended by the policy; an earlier version runs",
		},
	})
}

// TestLeaving checks that clusters from which a workload is being removed are listed, but neither
// counted nor evaluated.
func TestLeaving(t *testing.T) {
	in := facts(KindDeployment, "m1", "m2", "m3").report("m1", good).report("m2", good).report("m3", good)
	in.Binding.Spec.Clusters = in.Binding.Spec.Clusters[:1]
	in.Binding.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{
		{FromCluster: "m2", Reason: "TaintUntolerated", Message: "the cluster is cordoned"},
		{FromCluster: "m1", Reason: "TaintUntolerated"},
	}
	in.Members["m2"] = Member{Ready: metav1.ConditionFalse}
	two := ptr32(2)
	want := Status{
		Replicas: ReplicaCounts{2, 2, 2, 2},
		Health:   HealthHealthy,
		Placements: []PlacementStatus{
			// m1 was evicted once and scheduled to again since: it is in the scheduling result, which wins.
			{Cluster: "m1", Scheduled: true, Applied: true, Desired: two, Ready: two, Available: two, Updated: two, Health: HealthHealthy},
			{
				Cluster: "m2", Evicting: true, Applied: true, Stale: true, Desired: ptr32(0), Ready: two, Available: two, Updated: two,
				Health: HealthUnknown, Message: "being evicted: TaintUntolerated: the cluster is cordoned",
			},
			{
				Cluster: "m3", Applied: true, Desired: ptr32(0), Ready: two, Available: two, Updated: two,
				Health: HealthProgressing, Message: "no longer scheduled to this cluster; its objects there are being removed",
			},
		},
	}
	if diff := cmp.Diff(want, Evaluate(in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"m1", "m2", "m3"}, clustersOf(in.Binding)); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
}

func TestNoBinding(t *testing.T) {
	in := facts(KindDeployment)
	in.Binding = nil
	if got := clustersOf(nil); got != nil {
		t.Errorf("no binding has the clusters %v", got)
	}
	if got := Evaluate(in); got.Suspended || len(got.Placements) != 0 {
		t.Errorf("without a binding it is %+v", got)
	}
}

// TestForeignObject: an object of the same name that Karmada did not make is no replica of a workload.
func TestForeignObject(t *testing.T) {
	in := facts(KindDeployment, "m1").object(t, "m1", 2, `"spec":{"replicas":9},"status":{"readyReplicas":9}`)
	in.Binding.Labels = map[string]string{"resourcebinding.karmada.io/permanent-id": "ours"}
	in.Objects["m1"].Labels = map[string]string{"resourcebinding.karmada.io/permanent-id": "another"}
	if got := replicasOf(in); got != (ReplicaCounts{Desired: 2}) {
		t.Errorf("a foreign object is counted: %+v", got)
	}
	in.Objects["m1"].Labels = in.Binding.Labels
	if got := replicasOf(in); got != (ReplicaCounts{Desired: 2, Ready: 9}) {
		t.Errorf("our own object is not counted: %+v", got)
	}
}

// TestRequiredBy: a workload that others depend on goes to their clusters too, once.
func TestRequiredBy(t *testing.T) {
	in := facts(KindDeployment, "m1").report("m1", good)
	in.Members = nil
	in.Binding.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{
		{Name: "a", Clusters: []workv1alpha2.TargetCluster{{Name: "m1", Replicas: 7}, {Name: "m2", Replicas: 1}}},
		{Name: "b", Clusters: []workv1alpha2.TargetCluster{{Name: "m2", Replicas: 1}}},
	}
	got := map[string]int32{}
	for _, p := range placementsOf(in) {
		got[p.Cluster] += deref(p.Desired)
	}
	if diff := cmp.Diff(map[string]int32{"m1": 2, "m2": 1}, got); diff != "" {
		t.Errorf("desired by cluster (-want +got):\n%s", diff)
	}
	if len(in.Binding.Spec.Clusters) != 1 {
		t.Error("the binding was changed")
	}
}

func replicasOf(in Facts) ReplicaCounts { return Evaluate(in).Replicas }

func healthOf(in Facts) (Health, string) {
	s := Evaluate(in)
	return s.Health, s.Message
}
