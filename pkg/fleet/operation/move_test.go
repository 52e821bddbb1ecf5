package operation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/fleet/moving"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

func TestMoved(t *testing.T) {
	op := Operation{Kind: KindMoveWorkload, Leaves: []string{"m2"}, Enters: []string{"m1"}}
	policy := func(marked bool, names ...string) *policyv1alpha1.PropagationPolicy {
		p := &policyv1alpha1.PropagationPolicy{}
		p.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: names}
		if marked {
			p.Annotations = map[string]string{moving.FromAnnotation: "m2", moving.ToAnnotation: "m1", moving.BeforeAnnotation: "m2"}
		}
		return p
	}
	in := func(clusters ...string) *workload.Status {
		s := &workload.Status{Health: workload.HealthHealthy}
		for _, c := range clusters {
			s.Placements = append(s.Placements, workload.PlacementStatus{Cluster: c, Applied: true, Health: workload.HealthHealthy})
		}
		return s
	}
	starting := in("m2", "m1")
	starting.Placements[1].Health = workload.HealthProgressing
	for _, tt := range []struct {
		reason  string
		policy  *policyv1alpha1.PropagationPolicy
		gone    bool
		status  *workload.Status
		want    map[StepName]StepState
		trouble string
		due     bool
	}{
		{"it begins", policy(true, "m2", "m1"), false, in("m2"), map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepRunning, StepHealthy: StepPending, StepRemoved: StepPending}, "", false},
		{"the new copy is not ready", policy(true, "m2", "m1"), false, starting, map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepHealthy: StepRunning, StepRemoved: StepPending}, "", false},
		{"the old one can go", policy(true, "m2", "m1"), false, in("m2", "m1"), map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepHealthy: StepDone, StepRemoved: StepRunning}, "", true},
		{"the old one is going", policy(false, "m1"), false, in("m2", "m1"), map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepHealthy: StepDone, StepRemoved: StepRunning}, "", false},
		{"done", policy(false, "m1"), false, in("m1"), map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepHealthy: StepDone, StepRemoved: StepDone}, "", false},
		{"cancelled", policy(false, "m2"), false, in("m2"), nil, ReasonWithdrawn, false},
		{"another client named both", policy(false, "m2", "m1"), false, in("m2", "m1"), nil, ReasonWithdrawn, false},
		{"the policy was deleted", nil, false, in("m2"), nil, ReasonDeleted, false},
		{"the workload was deleted", policy(true, "m2", "m1"), true, nil, nil, ReasonDeleted, false},
	} {
		f := moved(op, tt.policy, tt.gone, tt.status)
		if diff := cmp.Diff(tt.want, states(f.steps)); diff != "" && tt.want != nil {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if got := f.trouble; (got == nil) != (tt.trouble == "") || got != nil && (got.reason != tt.trouble || !got.final) {
			t.Errorf("%s: the trouble is %+v, want %q", tt.reason, got, tt.trouble)
		}
		due := false
		if tt.policy != nil {
			_, due = moving.After(tt.policy, tt.status)
		}
		if due != tt.due {
			t.Errorf("%s: the next step is due: %v", tt.reason, due)
		}
	}
}

func TestDrained(t *testing.T) {
	op := Operation{Kind: KindDrainCluster, Cluster: "m1", Began: time.Unix(100, 0)}
	cluster := func(phase string) *clusterv1alpha1.Cluster {
		return &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{Taints: []corev1.Taint{{Key: moving.DrainTaint, Value: phase, Effect: corev1.TaintEffectNoSchedule}}}}
	}
	stays := &workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}}}
	leaves := &workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: "m2"}}, GracefulEvictionTasks: []workv1alpha2.GracefulEvictionTask{{FromCluster: "m1"}}}
	for _, tt := range []struct {
		reason   string
		cluster  *clusterv1alpha1.Cluster
		bindings []*workv1alpha2.ResourceBindingSpec
		want     map[StepName]StepState
		trouble  string
	}{
		{"it was interrupted", cluster(moving.DrainEvicting), []*workv1alpha2.ResourceBindingSpec{stays, leaves}, map[StepName]StepState{StepWritten: StepDone, StepEvicted: StepRunning, StepRemoved: StepPending}, ""},
		{"the old copies are going", cluster(moving.DrainEvicted), []*workv1alpha2.ResourceBindingSpec{stays, leaves}, map[StepName]StepState{StepWritten: StepDone, StepEvicted: StepDone, StepRemoved: StepRunning}, ""},
		{"what stays does not keep it from being done", cluster(moving.DrainEvicted), []*workv1alpha2.ResourceBindingSpec{stays}, map[StepName]StepState{StepWritten: StepDone, StepEvicted: StepDone, StepRemoved: StepDone}, ""},
		{"undone", &clusterv1alpha1.Cluster{}, nil, nil, ReasonWithdrawn},
		{"removed", nil, nil, nil, ReasonDeleted},
	} {
		f := drained(op, tt.cluster, tt.bindings)
		if diff := cmp.Diff(tt.want, states(f.steps)); diff != "" && tt.want != nil {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if got := f.trouble; (got == nil) != (tt.trouble == "") || got != nil && got.reason != tt.trouble {
			t.Errorf("%s: the trouble is %+v, want %q", tt.reason, got, tt.trouble)
		}
	}
}
