package workload

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/index"
)

func TestKindOfAny(t *testing.T) {
	for _, tt := range []struct {
		reason, apiVersion, kind, namespace string
		want                                Kind
		runsNothing, propagates             bool
	}{
		{"a workload", "apps/v1", "Deployment", "shop", KindDeployment, false, true},
		{"a custom workload", "argoproj.io/v1alpha1", "Rollout", "shop", "Rollout.argoproj.io", false, true},
		{"a kind of the core", "v1", "ConfigMap", "shop", "ConfigMap.", true, true},
		{"a kind of Kubernetes", "networking.k8s.io/v1", "Ingress", "shop", "Ingress.networking.k8s.io", true, true},
		{"a kind without namespaces", "rbac.authorization.k8s.io/v1", "ClusterRole", "", "ClusterRole.rbac.authorization.k8s.io", true, true},
		{"Namespaces are propagated without a policy", "v1", "Namespace", "", "Namespace.", true, false},
		{"events", "v1", "Event", "shop", "Event.", true, false},
		{"Karmada's own", "policy.karmada.io/v1alpha1", "PropagationPolicy", "shop", "PropagationPolicy.policy.karmada.io", true, false},
		{"a namespace of Kubernetes", "v1", "ConfigMap", "kube-system", "ConfigMap.", true, false},
		{"a namespace of Karmada", "v1", "Secret", "karmada-cluster", "Secret.", true, false},
	} {
		o := &index.Object{APIVersion: tt.apiVersion, Kind: tt.kind, Meta: metav1.ObjectMeta{Namespace: tt.namespace, Name: "a"}}
		kind := KindOfAny(o)
		if kind != tt.want || kind.runsNothing() != tt.runsNothing || Propagates(o) != tt.propagates {
			t.Errorf("%s: got %s, runs nothing: %v, is propagated: %v", tt.reason, kind, kind.runsNothing(), Propagates(o))
		}
		if gvk := kind.GVK(); gvk.Kind != tt.kind {
			t.Errorf("%s: %s is of kind %s", tt.reason, kind, gvk)
		}
	}
}

// What runs nothing is healthy where it is, unless Karmada's interpreter reports otherwise.
func TestHealthOfWhatRunsNothing(t *testing.T) {
	for _, tt := range []struct {
		reason string
		items  []workv1alpha2.AggregatedStatusItem
		want   Health
	}{
		{"nothing was reported", nil, HealthProgressing},
		{"it was applied", []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Applied: true, Health: workv1alpha2.ResourceUnknown}}, HealthHealthy},
		{"the interpreter knows its health", []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Applied: true, Health: workv1alpha2.ResourceUnhealthy}}, HealthDegraded},
		{"it was refused", []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", AppliedMessage: "no"}}, HealthDegraded},
	} {
		b := &workv1alpha2.ResourceBinding{
			Spec:   workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}}},
			Status: workv1alpha2.ResourceBindingStatus{AggregatedStatus: tt.items},
		}
		got := placementsOf(Facts{Kind: "ConfigMap.", Template: &Object{}, Binding: b})
		if len(got) != 1 || got[0].Health != tt.want {
			t.Errorf("%s: got %+v", tt.reason, got)
		}
	}
}
