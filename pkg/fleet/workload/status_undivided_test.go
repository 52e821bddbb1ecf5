package workload

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// The total number of replicas is known before the scheduler has divided it.
func TestUndivided(t *testing.T) {
	divided := &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}}
	const none = -1
	for _, tt := range []struct {
		reason string
		change func(*Facts)
		want   int32
	}{
		{"the binding has the number of before", func(in *Facts) { in.Binding.Spec.Replicas = 4 }, 6},
		{"the scheduler has not decided yet", func(in *Facts) { in.Binding.Generation = 7 }, 6},
		{"it has decided", func(*Facts) {}, none},
		{"each cluster gets all", func(in *Facts) {
			in.Binding.Spec.Replicas, in.Binding.Spec.Placement = 4, &policyv1alpha1.Placement{}
		}, 12},
		{"the scheduler has refused", func(in *Facts) {
			in.Binding.Generation = 7
			in.Binding.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.Scheduled, Status: metav1.ConditionFalse}}
		}, none},
		{"an override sets the number in a cluster", func(in *Facts) {
			in.Binding.Spec.Replicas = 4
			in.Overrides = map[string][]AppliedOverride{"m1": {plaintext("/spec/replicas", replace, "9")}}
		}, none},
		{"the members decide", func(in *Facts) {
			in.Binding.Spec.Replicas = 4
			in.Template.Labels = map[string]string{retainReplicasLabel: "true"}
		}, none},
		{"scheduling is suspended", func(in *Facts) {
			in.Binding.Spec.Replicas, in.Binding.Spec.Suspension = 4, &workv1alpha2.Suspension{Scheduling: new(true)}
		}, none},
		{"only the metadata of the template is known", func(in *Facts) { in.Template.Spec.Replicas = nil }, none},
		{"a DaemonSet has no replicas", func(in *Facts) { in.Kind, in.Binding.Spec.Replicas = KindDaemonSet, 4 }, none},
	} {
		in := facts(KindDeployment, "m1", "m2")
		in.Template.Spec.Replicas, in.Binding.Spec.Replicas, in.Binding.Spec.Placement = ptr32(6), 6, divided
		in.Binding.Generation, in.Binding.Status.SchedulerObservedGeneration = 6, 6
		tt.change(&in)
		got := int32(none)
		if n := undivided(in); n != nil {
			got = *n
		}
		if got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.reason, got, tt.want)
		}
	}
}
