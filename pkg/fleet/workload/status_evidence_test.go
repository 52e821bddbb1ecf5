package workload

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// plaintext is an override policy with one plaintext overrider.
func plaintext(path string, operator policyv1alpha1.OverriderOperator, value string) AppliedOverride {
	return AppliedOverride{PolicyName: "o", Overriders: policyv1alpha1.Overriders{Plaintext: []policyv1alpha1.PlaintextOverrider{
		{Path: path, Operator: operator, Value: apiextensionsv1.JSON{Raw: []byte(value)}},
	}}}
}

// policyTo is a policy that sends what it claims to a cluster.
func policyTo(spec policyv1alpha1.PropagationSpec, cluster string) *policyv1alpha1.PropagationPolicy {
	spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{cluster}}
	return &policyv1alpha1.PropagationPolicy{Spec: spec}
}

const (
	replace = policyv1alpha1.OverriderOpReplace
	remove  = policyv1alpha1.OverriderOpRemove
)

// TestEvidence: each step of a change on its way that has not happened yet.
func TestEvidence(t *testing.T) {
	// scaled is a Deployment that runs two replicas and was scaled to four, as its
	// template and its binding say.
	scaled := func(change func(*Facts)) func(*testing.T) Facts {
		return func(*testing.T) Facts {
			in := facts(KindDeployment, "m1").report("m1", good)
			in.Binding.Status.AggregatedStatus[0].Health = workv1alpha2.ResourceHealthy
			in.Template.Spec.Replicas = ptr32(4)
			in.Binding.Spec.Replicas = 4
			in.Binding.Spec.Placement = &policyv1alpha1.Placement{}
			in.Binding.Generation, in.Binding.Status.SchedulerObservedGeneration = 6, 6
			in.Binding.Spec.Clusters[0].Replicas = 4
			change(&in)
			return in
		}
	}
	two := ReplicaCounts{2, 2, 2, 2}
	four := ReplicaCounts{4, 2, 2, 2}
	const grown = `{"generation":4,"observedGeneration":4,"resourceTemplateGeneration":2,"replicas":4,"readyReplicas":4,"availableReplicas":4,"updatedReplicas":4}`
	checkRules(t, []ruleCase{
		{
			reason: "the binding still has the number of before",
			in: scaled(func(in *Facts) {
				in.Binding.Spec.Replicas, in.Binding.Spec.Clusters[0].Replicas = 2, 2
			}),
			counts: four, health: HealthProgressing, message: "Karmada has not taken over the change to 4 replicas yet",
		},
		{
			reason: "the binding is that of an object of this name that was deleted",
			in: scaled(func(in *Facts) {
				*in = in.report("m1", grown)
				in.Template.UID, in.Binding.Spec.Resource.UID = "new", "old"
			}),
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthProgressing,
			message: "Karmada's binding is still that of an earlier object of this name",
		},
		{
			reason: "the policy was changed, and the binding has the placement of before",
			in: scaled(func(in *Facts) {
				*in = in.report("m1", grown)
				in.Policy = policyTo(policyv1alpha1.PropagationSpec{}, "m2")
			}),
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthProgressing,
			message: "Karmada has not taken over the change of its policy yet",
		},
		{
			reason: "a lazy policy was changed, which holds from the next change of the template on",
			in: scaled(func(in *Facts) {
				*in = in.report("m1", grown)
				in.Policy = policyTo(policyv1alpha1.PropagationSpec{ActivationPreference: policyv1alpha1.LazyActivation}, "m2")
			}),
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthHealthy,
		},
		{
			reason: "the policy is being deleted, and Karmada has not removed its claim yet",
			in: scaled(func(in *Facts) {
				*in = in.report("m1", grown)
				in.Policy = &policyv1alpha1.PropagationPolicy{}
				in.Policy.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}),
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthProgressing, message: "the propagation policy that claims it is being deleted",
		},
		{
			reason: "the scheduler has not assigned the new number",
			in: scaled(func(in *Facts) {
				in.Binding.Spec.Clusters[0].Replicas = 2
				in.Binding.Status.SchedulerObservedGeneration = 5
			}),
			counts: four, health: HealthProgressing, message: "Karmada's scheduler has not decided about the latest change yet",
		},
		{
			reason: "assigned, and the status is of before, although derived from the latest template",
			in:     scaled(func(*Facts) {}),
			counts: four, health: HealthProgressing, message: "m1: 2 of 4 replicas updated",
		},
		{
			reason: "it runs",
			in:     scaled(func(in *Facts) { *in = in.report("m1", grown) }),
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthHealthy,
		},
		{
			reason: "scaled down, and the surplus still runs",
			in: scaled(func(in *Facts) {
				in.Template.Spec.Replicas, in.Binding.Spec.Replicas, in.Binding.Spec.Clusters[0].Replicas = ptr32(1), 1, 1
			}),
			counts: ReplicaCounts{1, 2, 2, 2}, health: HealthProgressing, message: "m1: 1 surplus replicas are still to go",
		},
		{
			reason: "an override policy keeps two replicas in this cluster",
			in: scaled(func(in *Facts) {
				in.Overrides = map[string][]AppliedOverride{"m1": {plaintext("/spec/replicas", replace, "2")}}
			}),
			counts: two, health: HealthHealthy,
		},
		{
			reason: "an override policy was changed to three, and the status is of before",
			in: scaled(func(in *Facts) {
				in.Overrides = map[string][]AppliedOverride{"m1": {plaintext("/spec/replicas", replace, "3")}}
			}),
			counts: ReplicaCounts{3, 2, 2, 2}, health: HealthProgressing, message: "m1: 2 of 3 replicas updated",
		},
		{
			reason: "an override policy of another cluster says nothing of this one",
			in: scaled(func(in *Facts) {
				in.Overrides = map[string][]AppliedOverride{"m2": {plaintext("/spec/replicas", replace, "2")}}
			}),
			counts: four, health: HealthProgressing, message: "m1: 2 of 4 replicas updated",
		},
		{
			reason: "an override policy lets the member keep its own number",
			in: scaled(func(in *Facts) {
				in.Overrides = map[string][]AppliedOverride{"m1": {{Overriders: policyv1alpha1.Overriders{
					LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{Operator: "add", Value: map[string]string{retainReplicasLabel: "true"}}},
				}}}}
			}),
			counts: two, health: HealthHealthy,
		},
		{
			reason: "scheduling is suspended: no decision will follow, and what was decided runs",
			in: scaled(func(in *Facts) {
				in.Binding.Spec.Clusters[0].Replicas = 2
				in.Binding.Status.SchedulerObservedGeneration = 5
				in.Binding.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
			}),
			counts: two, health: HealthHealthy, suspended: true,
		},
		{
			reason: "the change could not be scheduled, which is worse than pending",
			in: scaled(func(in *Facts) {
				in.Binding.Spec.Clusters[0].Replicas = 2
				in.Binding.Status.SchedulerObservedGeneration = 5
				in.Binding.Status.Conditions[0].Status = metav1.ConditionFalse
				in.Binding.Status.Conditions[0].Reason = "Unschedulable"
			}),
			counts: two, health: HealthDegraded, message: "the latest change could not be scheduled: Unschedulable",
		},
	})
}

// TestUnmanaged: Karmada keeps what runs when a policy is deleted, and sends nothing more.
func TestUnmanaged(t *testing.T) {
	const note = "no propagation policy claims it any more: it stays where it was sent, and Karmada sends no further changes"
	free := func(status string) func(*testing.T) Facts {
		return func(*testing.T) Facts {
			in := facts(KindDeployment, "m1").report("m1", status)
			in.Template.Annotations = nil
			return in
		}
	}
	checkRules(t, []ruleCase{
		{
			reason: "what was sent last runs",
			in:     free(good), counts: ReplicaCounts{2, 2, 2, 2}, health: HealthUnmanaged, message: note,
		},
		{
			reason: "the template changed since, which never arrives",
			in:     free(early), counts: ReplicaCounts{2, 2, 2, 2}, health: HealthUnmanaged, message: note,
		},
		{
			reason: "scaled since: what runs is judged by what the cluster was told",
			in: func(t *testing.T) Facts {
				in := free(good)(t)
				in.Template.Spec.Replicas = ptr32(9)
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthUnmanaged, message: note,
		},
		{
			reason: "what runs fails: that comes first",
			in: func(t *testing.T) Facts {
				in := free(good)(t)
				in.Members["m1"] = Member{Ready: metav1.ConditionFalse, Message: "it is down"}
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthUnknown,
			message: note + "; m1: the member cluster is not ready: it is down; the counts are the last known",
		},
		{
			reason: "it never got a cluster",
			in: func(t *testing.T) Facts {
				in := free(good)(t)
				in.Binding.Spec.Clusters = nil
				in.Binding.Status.AggregatedStatus = nil
				return in
			},
			health: HealthUnpropagated, message: "no propagation policy claims it any more",
		},
		{
			reason: "another binding requires it, whose policy manages it",
			in: func(t *testing.T) Facts {
				in := free(good)(t)
				in.Binding.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Name: "a"}}
				return in
			},
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthHealthy,
		},
	})
}

func TestOverriddenReplicas(t *testing.T) {
	for _, tt := range []struct {
		reason    string
		overrides []AppliedOverride
		want      *int32
		found     bool
	}{
		{"none", nil, nil, false},
		{"of something else", []AppliedOverride{plaintext("/spec/template/spec", replace, `{"replicas":3}`)}, nil, false},
		{"the number", []AppliedOverride{plaintext("/spec/replicas", replace, "3")}, new(int32(3)), true},
		{"the last one counts", []AppliedOverride{plaintext("/spec/replicas", replace, "3"), plaintext("/spec/replicas", "add", "5")}, new(int32(5)), true},
		{"removed", []AppliedOverride{plaintext("/spec/replicas", remove, "")}, nil, true},
		{"the whole spec", []AppliedOverride{plaintext("/spec", replace, `{"replicas":3}`)}, new(int32(3)), true},
		{"the whole object", []AppliedOverride{plaintext("", replace, `{"spec":{"replicas":3}}`)}, new(int32(3)), true},
		{"a spec without a number", []AppliedOverride{plaintext("/spec", replace, `{}`)}, nil, true},
		{"no number", []AppliedOverride{plaintext("/spec/replicas", replace, `"many"`)}, nil, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			n, found := overriddenReplicas(tt.overrides)
			if diff := cmp.Diff(tt.want, n); diff != "" || found != tt.found {
				t.Errorf("found %v, want %v (-want +got):\n%s", found, tt.found, diff)
			}
		})
	}
}
