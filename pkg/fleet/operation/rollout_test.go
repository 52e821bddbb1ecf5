package operation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

var (
	web      = Object{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment", Namespace: "shop", Name: "web"}
	settings = Object{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
)

func bound(scheduled metav1.ConditionStatus, message string, clusters ...string) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{}
	if scheduled != "" {
		b.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.Scheduled, Status: scheduled, Message: message}}
	}
	for _, name := range clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
	}
	return b
}

func reporting(b *workv1alpha2.ResourceBinding, cluster string, applied bool, message string, health workv1alpha2.ResourceHealth) *workv1alpha2.ResourceBinding {
	b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{
		ClusterName: cluster, Applied: applied, AppliedMessage: message, Health: health,
	})
	return b
}

// at is an object as an operation wrote it.
func at(o Object, version string) Object {
	o.ResourceVersion = version
	return o
}

// recorded is the binding of a claimed object, made of a version of it.
func recorded(b *workv1alpha2.ResourceBinding, version string) *workv1alpha2.ResourceBinding {
	b.Annotations = map[string]string{"propagationpolicy.karmada.io/namespace": "shop", "propagationpolicy.karmada.io/name": "web"}
	b.Spec.Resource.ResourceVersion = version
	return b
}

func unclaimed(b *workv1alpha2.ResourceBinding) *workv1alpha2.ResourceBinding {
	b.Annotations = nil
	return b
}

func running(health workload.Health, message string, placements ...workload.PlacementStatus) *workload.Status {
	return &workload.Status{Health: health, Message: message, Placements: placements}
}

func states(steps []Step) map[StepName]StepState {
	m := map[StepName]StepState{}
	for _, s := range steps {
		m[s.Name] = s.State
	}
	return m
}

func TestRollout(t *testing.T) {
	type counts = map[StepName][2]int
	for _, tt := range []struct {
		name         string
		objects      []propagated
		mayBeClaimed bool
		steps        map[StepName]StepState
		counts       counts
		clusters     []Cluster
		trouble      string
		final        bool
		waits        string
	}{
		{
			name:    "a workload that no policy has claimed yet",
			objects: []propagated{{object: web}},
			steps:   map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepRunning, StepApplied: StepPending, StepHealthy: StepPending},
			waits:   "no policy has claimed Deployment shop/web yet",
		},
		{
			name:    "a workload that no policy claims",
			objects: []propagated{{object: web, status: running(workload.HealthUnpropagated, "")}},
			steps:   map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepRunning, StepApplied: StepPending, StepHealthy: StepPending},
			trouble: ReasonUnpropagated, waits: "no policy has claimed Deployment shop/web yet",
		},
		{
			name:    "what is no workload and not claimed is there",
			objects: []propagated{{object: settings}},
			steps:   map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepApplied: StepDone, StepHealthy: StepDone},
		},
		{
			name:    "but it may still be claimed",
			objects: []propagated{{object: settings}}, mayBeClaimed: true,
			steps: map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepRunning, StepApplied: StepPending, StepHealthy: StepPending},
			waits: "no policy has claimed ConfigMap shop/settings yet",
		},
		{
			name:    "no cluster fits",
			objects: []propagated{{object: web, binding: bound(metav1.ConditionFalse, "0/2 clusters are available"), status: running(workload.HealthUnscheduled, "")}},
			steps:   map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepRunning, StepApplied: StepPending, StepHealthy: StepPending},
			trouble: ReasonUnscheduled,
		},
		{
			name: "on its way",
			objects: []propagated{
				{
					object: web, binding: reporting(bound(metav1.ConditionTrue, "", "m1", "m2"), "m1", true, "", workv1alpha2.ResourceHealthy),
					status: running(workload.HealthProgressing, "", workload.PlacementStatus{Cluster: "m1", Applied: true, Health: workload.HealthHealthy}, workload.PlacementStatus{Cluster: "m2", Health: workload.HealthProgressing, Message: "0 of 3 are ready"}),
				},
				{object: settings, binding: reporting(bound(metav1.ConditionTrue, "", "m1"), "m1", true, "", workv1alpha2.ResourceUnknown)},
			},
			steps:    map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepApplied: StepRunning, StepHealthy: StepPending},
			counts:   counts{StepScheduled: {2, 2}, StepApplied: {2, 3}, StepHealthy: {1, 2}},
			clusters: []Cluster{{Name: "m1", Objects: 2, Applied: 2, Healthy: 2}, {Name: "m2", Objects: 1, Message: new("0 of 3 are ready")}},
		},
		{
			name: "a member refuses it",
			objects: []propagated{
				{object: settings, binding: reporting(bound(metav1.ConditionTrue, "", "m1"), "m1", false, "is forbidden\nand more", "")},
			},
			steps:    map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepApplied: StepRunning, StepHealthy: StepPending},
			clusters: []Cluster{{Name: "m1", Objects: 1, Message: new("ConfigMap shop/settings: is forbidden")}},
			trouble:  ReasonNotApplied,
		},
		{
			name: "Karmada's record is of the version before: what is applied is not what was written",
			objects: []propagated{
				{object: at(settings, "12"), binding: recorded(reporting(bound(metav1.ConditionTrue, "", "m1"), "m1", true, "", workv1alpha2.ResourceUnknown), "9")},
			},
			steps:    map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepApplied: StepRunning, StepHealthy: StepPending},
			clusters: []Cluster{{Name: "m1", Objects: 1}},
			waits:    "Karmada has not taken over the change of ConfigMap shop/settings yet",
		},
		{
			name: "it is of the version that was written",
			objects: []propagated{
				{object: at(settings, "12"), binding: recorded(reporting(bound(metav1.ConditionTrue, "", "m1"), "m1", true, "", workv1alpha2.ResourceUnknown), "12")},
			},
			steps: map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepApplied: StepDone, StepHealthy: StepDone},
		},
		{
			name: "no policy selects it any more, so that nothing will take the change over",
			objects: []propagated{
				{object: at(settings, "12"), binding: unclaimed(recorded(bound(metav1.ConditionTrue, "", "m1"), "9"))},
			},
			steps:   map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepApplied: StepRunning, StepHealthy: StepPending},
			trouble: ReasonUnmanaged, waits: "Karmada has not taken over the change of ConfigMap shop/settings yet",
		},
		{
			name: "a workload runs where it was, and no policy manages it",
			objects: []propagated{{
				object: web, binding: reporting(bound(metav1.ConditionTrue, "", "m1"), "m1", true, "", workv1alpha2.ResourceHealthy),
				status: running(workload.HealthUnmanaged, "no policy", workload.PlacementStatus{Cluster: "m1", Applied: true, Health: workload.HealthHealthy}),
			}},
			steps:   map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepApplied: StepDone, StepHealthy: StepRunning},
			trouble: ReasonUnmanaged,
		},
		{
			name: "it fails where it runs",
			objects: []propagated{{
				object: web, binding: reporting(bound(metav1.ConditionTrue, "", "m1"), "m1", true, "", workv1alpha2.ResourceUnhealthy),
				status: running(workload.HealthDegraded, "exceeded its deadline", workload.PlacementStatus{Cluster: "m1", Applied: true, Health: workload.HealthDegraded, Message: "exceeded"}),
			}},
			steps:    map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepDone, StepApplied: StepDone, StepHealthy: StepRunning},
			clusters: []Cluster{{Name: "m1", Objects: 1, Applied: 1, Message: new("exceeded")}},
			trouble:  ReasonDegraded,
		},
		{
			name: "one is deleted, whatever the other waits for",
			objects: []propagated{
				{object: settings, binding: bound(metav1.ConditionFalse, "no cluster")}, {object: web, gone: true},
			},
			steps:   map[StepName]StepState{StepWritten: StepDone, StepScheduled: StepRunning, StepApplied: StepPending, StepHealthy: StepPending},
			trouble: ReasonDeleted, final: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := rollout(tt.objects, tt.mayBeClaimed)
			if diff := cmp.Diff(tt.steps, states(f.steps)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			for _, s := range f.steps {
				if want, ok := tt.counts[s.Name]; ok && want != [2]int{s.Done, s.Total} {
					t.Errorf("%s: %d of %d, want %v", s.Name, s.Done, s.Total, want)
				}
			}
			if tt.clusters != nil {
				if diff := cmp.Diff(tt.clusters, f.clusters); diff != "" {
					t.Errorf("clusters (-want +got):\n%s", diff)
				}
			}
			reason, final := "", false
			if f.trouble != nil {
				reason, final = f.trouble.reason, f.trouble.final
			}
			if reason != tt.trouble || final != tt.final || f.waits != tt.waits {
				t.Errorf("trouble %q final %v, waits %q", reason, final, f.waits)
			}
		})
	}
}
