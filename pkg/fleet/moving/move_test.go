package moving

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

func policy(from, to string, names ...string) *policyv1alpha1.PropagationPolicy {
	p := &policyv1alpha1.PropagationPolicy{}
	p.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: names}
	if from != "" {
		p.Annotations = map[string]string{FromAnnotation: from, ToAnnotation: to, BeforeAnnotation: from}
	}
	return p
}

func in(health workload.Health, clusters ...string) *workload.Status {
	s := &workload.Status{}
	for _, c := range clusters {
		s.Placements = append(s.Placements, workload.PlacementStatus{Cluster: c, Health: health})
	}
	return s
}

func TestAfter(t *testing.T) {
	ready := in(workload.HealthHealthy, "m1", "m2")
	for _, tt := range []struct {
		reason string
		policy *policyv1alpha1.PropagationPolicy
		status *workload.Status
		want   []string
	}{
		{"it is ready", policy("m2", "m1", "m2", "m3", "m1"), ready, []string{"m3", "m1"}},
		{"it is not", policy("m2", "m1", "m2", "m1"), in(workload.HealthProgressing, "m1", "m2"), nil},
		{"it is not there", policy("m2", "m1", "m2", "m1"), in(workload.HealthHealthy, "m2"), nil},
		{"nothing is known", policy("m2", "m1", "m2", "m1"), nil, nil},
		{"no move is recorded", policy("", "", "m2", "m1"), ready, nil},
		{"the policy does not name the new cluster, and would be left without any", policy("m2", "m1", "m2"), ready, nil},
		{"a record that leaves what it enters", policy("m1", "m1", "m1"), ready, nil},
	} {
		got, due := After(tt.policy, tt.status)
		if due != (tt.want != nil) || due && !cmp.Equal(tt.want, got) {
			t.Errorf("%s: got %v, %v, want %v", tt.reason, got, due, tt.want)
		}
	}
}

func TestSent(t *testing.T) {
	cart := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "cart"}
	settings := policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "ConfigMap"}
	other, there := cart, cart
	other.Name, there.Namespace = "web", "shop"
	for _, tt := range []struct {
		reason, namespace string
		selectors         []policyv1alpha1.ResourceSelector
		ok                bool
	}{
		{"one workload", "shop", []policyv1alpha1.ResourceSelector{settings, cart}, true},
		{"the same one twice", "shop", []policyv1alpha1.ResourceSelector{cart, there}, true},
		{"two", "shop", []policyv1alpha1.ResourceSelector{cart, other}, false},
		{"all of a kind", "shop", []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "StatefulSet"}}, false},
		{"none", "shop", []policyv1alpha1.ResourceSelector{settings}, false},
		{"one in all namespaces", "", []policyv1alpha1.ResourceSelector{cart}, false},
		{"one of a ClusterPropagationPolicy", "", []policyv1alpha1.ResourceSelector{there}, true},
	} {
		p := &policyv1alpha1.PropagationPolicy{Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: tt.selectors}}
		p.Namespace = tt.namespace
		w, ok := Sent(p)
		if want := (workload.Named{Kind: workload.KindStatefulSet, Namespace: "shop", Name: "cart"}); ok != tt.ok || ok && w != want {
			t.Errorf("%s: got %+v, %v", tt.reason, w, ok)
		}
	}
}

// What Patch records is what Of reads, and what ends it leaves nothing.
func TestPatch(t *testing.T) {
	m := &Move{From: []string{"m2", "m3"}, To: []string{"m1"}, Before: []string{"m3", "m2"}}
	for _, record := range []*Move{m, nil} {
		patch, err := Patch(&policyv1alpha1.PropagationPolicy{}, []string{"m1"}, record)
		if err != nil {
			t.Fatal(err)
		}
		p := &policyv1alpha1.PropagationPolicy{}
		if err := json.Unmarshal(patch, p); err != nil {
			t.Fatal(err)
		}
		want := "true"
		if record == nil {
			want = ""
		}
		if diff := cmp.Diff(record, Of(p)); diff != "" || p.Labels[Label] != want {
			t.Errorf("labels %v, (-want +got):\n%s", p.Labels, diff)
		}
	}
}

func TestEvict(t *testing.T) {
	b := &workv1alpha2.ResourceBinding{}
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1", Replicas: 2}, {Name: "m2"}}
	for range 2 { // Done again, it changes nothing.
		Evict(b, "m1")
		if len(b.Spec.Clusters) != 1 || len(b.Spec.GracefulEvictionTasks) != 1 || b.Labels[DrainedFrom] != "m1" {
			t.Fatalf("%+v", b)
		}
	}
}
