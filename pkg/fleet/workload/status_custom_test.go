package workload

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

func TestCustomKinds(t *testing.T) {
	for group, want := range map[string]bool{
		"argoproj.io": true, "flink.apache.org": true, "jobset.x-k8s.io": true, "batch.volcano.sh": true, "mykarmada.io": true,
		"": false, "apps": false, "batch": false, "k8s.io": false, "networking.k8s.io": false, "rbac.authorization.k8s.io": false, "gateway.networking.k8s.io": false,
		"work.karmada.io": false, "karmada.io": false, "kairship.io": false, "clusterpedia.io": false, "-.example.com": false,
	} {
		kind, ok := CustomKind(schema.GroupKind{Group: group, Kind: "Rollout"})
		if ok != want || ok && (kind != Kind("Rollout."+group) || !kind.Valid() || kind.Shown() != KindCustom || kind.GVK().Group != group || kind.GVK().Kind != "Rollout") {
			t.Errorf("%q: got %q, %v", group, kind, ok)
		}
	}
	for name, want := range map[string]bool{"Rollout.argoproj.io": true, "Rollout": false, ".argoproj.io": false, "CUSTOM": false, "Deployment.apps": false, "Ro llout.argoproj.io": false, "": false} {
		if _, ok := ParseCustomKind(name); ok != want {
			t.Errorf("%q: %v", name, ok)
		}
		if !want && Kind(name).Valid() {
			t.Errorf("%q is valid", name)
		}
	}
	if name, kind := Kind("Rollout.argoproj.io").BindingName("web"), KindDeployment.Shown(); name != "web-rollout" || kind != KindDeployment {
		t.Errorf("got %s, %s", name, kind)
	}
}

// The template of a kind that is not collected is what its binding tells.
func TestBoundTemplate(t *testing.T) {
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-rollout",
		Labels:      map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "p", workv1alpha2.ResourceBindingPermanentIDLabel: "b"},
		Annotations: map[string]string{policyv1alpha1.PropagationPolicyNamespaceAnnotation: "shop", policyv1alpha1.PropagationPolicyNameAnnotation: "web", "other": "x"},
	}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7"}
	o := BoundTemplate(b)
	if ref := PolicyRefOf(o); o.Name != "web" || o.UID != "u" || o.ResourceVersion != "7" || len(o.Labels) != 1 || len(o.Annotations) != 2 || ref == nil || ref.Name != "web" || ref.PermanentID != "p" {
		t.Errorf("got %+v", o)
	}
	if kind, ok := BoundKind(b); !ok || kind != "Rollout.argoproj.io" {
		t.Errorf("its kind is %q, %v", kind, ok)
	}
	foreign, builtIn, mine := b.DeepCopy(), b.DeepCopy(), b.DeepCopy()
	foreign.Namespace, builtIn.Spec.Resource.APIVersion, mine.Name = "ops", "apps/v1", "mine"
	for _, other := range []*workv1alpha2.ResourceBinding{foreign, builtIn, mine} {
		if kind, ok := BoundKind(other); ok {
			t.Errorf("%s/%s of %s is the binding of a %s", other.Namespace, other.Name, other.Spec.Resource.APIVersion, kind)
		}
	}
}

// Fields of other types than a Deployment's are the kind's own affair.
func TestParseCustom(t *testing.T) {
	o, err := ParseCustom([]byte(`{"apiVersion":"x.io/v1","kind":"X","metadata":{"name":"a","labels":{"app":"a"}},
		"spec":{"replicas":"three","schedule":{},"template":{"spec":{"containers":[{"name":"c","image":"i:1"}]}}},"status":{"conditions":"none"}}`))
	if err != nil || o.Kind != "X" || o.Labels["app"] != "a" || o.Spec.Replicas != nil || len(o.Images()) != 1 {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, text := range []string{`{"spec":[]}`, `{"spec":{"replicas":2,"template":"t"}}`, `{}`} {
		if o, err := ParseCustom([]byte(text)); err != nil || len(o.Images()) != 0 {
			t.Errorf("%s: got %+v, %v", text, o, err)
		}
	}
	text, _ := json.Marshal(o)
	if again, err := ParseCustom(text); err != nil || again.Name != "a" || len(again.Images()) != 1 {
		t.Errorf("what is stored is read as %+v, %v", again, err)
	}
}

// TestCustomRules: the state of a custom workload is what Karmada's interpreter makes of it.
func TestCustomRules(t *testing.T) {
	with := func(health workv1alpha2.ResourceHealth, status string) func(*workv1alpha2.AggregatedStatusItem) {
		return func(item *workv1alpha2.AggregatedStatusItem) {
			item.Health, item.Status = health, nil
			if status != "" {
				item.Status = &runtime.RawExtension{Raw: []byte(status)}
			}
		}
	}
	const healthy, unhealthy, unknown = workv1alpha2.ResourceHealthy, workv1alpha2.ResourceUnhealthy, workv1alpha2.ResourceUnknown
	for _, tt := range []struct {
		reason string
		m1, m2 func(*workv1alpha2.AggregatedStatusItem)
		change func(*Facts)
		want   Health
		counts ReplicaCounts
	}{
		{"all are healthy", with(healthy, `{"readyReplicas":2}`), with(healthy, `{"readyReplicas":2,"availableReplicas":1,"updatedReplicas":2}`), nil, HealthHealthy, ReplicaCounts{4, 4, 1, 2}},
		{"a status of another shape", with(healthy, `{"readyReplicas":"two","conditions":7}`), with(healthy, `[]`), nil, HealthHealthy, ReplicaCounts{Desired: 4}},
		{"no replicas of its own", with(healthy, ""), with(healthy, ""), func(in *Facts) { in.Binding.Spec.Replicas = 0 }, HealthHealthy, ReplicaCounts{}},
		{"fewer are ready", with(healthy, `{"readyReplicas":1}`), with(healthy, `{"readyReplicas":2}`), nil, HealthProgressing, ReplicaCounts{4, 3, 0, 0}},
		{"one is unhealthy", with(unhealthy, ""), with(healthy, ""), nil, HealthDegraded, ReplicaCounts{Desired: 4}},
		{"no interpreter", with(unknown, ""), with("", ""), nil, HealthUnknown, ReplicaCounts{Desired: 4}},
		{"one not interpreted yet", with(unknown, ""), with(healthy, ""), nil, HealthUnknown, ReplicaCounts{Desired: 4}},
		{"one not interpreted, one unhealthy", with(unknown, ""), with(unhealthy, ""), nil, HealthDegraded, ReplicaCounts{Desired: 4}},
		{"one not applied yet", with(healthy, ""), func(item *workv1alpha2.AggregatedStatusItem) { item.Applied = false }, nil, HealthProgressing, ReplicaCounts{Desired: 4}},
		{"one was refused", with(healthy, ""), func(item *workv1alpha2.AggregatedStatusItem) {
			item.Applied, item.AppliedMessage = false, "no such kind"
		}, nil, HealthDegraded, ReplicaCounts{Desired: 4}},
		{"a cluster is away", with(healthy, ""), with(healthy, ""), func(in *Facts) { in.Members["m1"] = Member{Ready: metav1.ConditionFalse} }, HealthDegraded, ReplicaCounts{Desired: 4}},
		{"nothing reported", nil, nil, func(in *Facts) { in.Binding.Status.AggregatedStatus = nil }, HealthProgressing, ReplicaCounts{Desired: 4}},
		{"not scheduled", nil, nil, func(in *Facts) {
			in.Binding.Spec.Clusters, in.Binding.Status.AggregatedStatus = nil, nil
			in.Binding.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.Scheduled, Status: metav1.ConditionFalse}}
		}, HealthUnscheduled, ReplicaCounts{}},
		{"dispatching is suspended before it began", nil, nil, func(in *Facts) {
			in.Binding.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(true)}}
			in.Binding.Status.AggregatedStatus = nil
		}, HealthUnpropagated, ReplicaCounts{Desired: 4}},
		{"no policy claims it any more", with(healthy, ""), with(healthy, ""), func(in *Facts) { in.Template.Annotations = nil }, HealthUnmanaged, ReplicaCounts{Desired: 4}},
		{"an override policy sets the replicas", with(healthy, `{"readyReplicas":5}`), with(healthy, `{"readyReplicas":2}`), func(in *Facts) {
			in.Overrides = map[string][]AppliedOverride{"m1": {plaintext("/spec/replicas", replace, "5")}}
		}, HealthHealthy, ReplicaCounts{7, 7, 0, 0}},
	} {
		in := facts("Rollout.argoproj.io", "m1", "m2")
		for i, change := range []func(*workv1alpha2.AggregatedStatusItem){tt.m1, tt.m2} {
			if change != nil {
				change(&in.Binding.Status.AggregatedStatus[i])
			}
		}
		if tt.change != nil {
			tt.change(&in)
		}
		got := Evaluate(in)
		if got.Health != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.reason, got.Health, got.Message, tt.want)
		}
		if diff := cmp.Diff(tt.counts, got.Replicas); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
