package policies

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

func TestSelects(t *testing.T) {
	web := workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for _, tt := range []struct {
		reason, selectors string
		want              bool
		asked             int
	}{
		{"no selector selects everything", `[]`, true, 0},
		{"the kind", `[{apiVersion: apps/v1, kind: Deployment}]`, true, 0},
		{"another kind", `[{apiVersion: apps/v1, kind: StatefulSet}]`, false, 0},
		{"another version is another kind", `[{apiVersion: apps/v1beta1, kind: Deployment}]`, false, 0},
		{"the namespace", `[{apiVersion: apps/v1, kind: Deployment, namespace: shop}]`, true, 0},
		{"another namespace", `[{apiVersion: apps/v1, kind: Deployment, namespace: ops, name: web}]`, false, 0},
		{"another name", `[{apiVersion: apps/v1, kind: Deployment, name: api}]`, false, 0},
		{"with a name the labels do not matter", `[{apiVersion: apps/v1, kind: Deployment, name: api, labelSelector: {matchLabels: {a: b}}}]`, false, 0},
		{"one of several", `[{apiVersion: v1, kind: Service}, {apiVersion: apps/v1, kind: Deployment, name: web}]`, true, 0},
		{"labels are looked up", `[{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {a: b}}}]`, true, 1},
		{"labels that it does not have", `[{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {a: c}}}]`, false, 1},
		{"labels of another kind are not looked up", `[{apiVersion: v1, kind: Pod, labelSelector: {matchLabels: {a: b}}}]`, false, 0},
	} {
		asked := 0
		got, err := selects(specOf[policyv1alpha1.OverrideSpec](t, "{overriders: {}, resourceSelectors: "+tt.selectors+"}"), &web,
			func(_ *workv1alpha2.ObjectReference, s *metav1.LabelSelector) (bool, error) {
				asked++
				return s.MatchLabels["a"] == "b", nil
			})
		if err != nil || got != tt.want || asked != tt.asked {
			t.Errorf("%s: got %t, %v after %d lookups, want %t after %d", tt.reason, got, err, asked, tt.want, tt.asked)
		}
	}
}

func TestMayChangeIn(t *testing.T) {
	const change = "overriders: {plaintext: [{path: /a, operator: remove}]}"
	for _, tt := range []struct {
		reason, spec string
		want         bool
	}{
		{"a rule for all clusters", "{overriders: {}, overrideRules: [{" + change + "}]}", true},
		{"a rule for this one", "{overriders: {}, overrideRules: [{targetCluster: {clusterNames: [m2, m1]}, " + change + "}]}", true},
		{"a rule for another one", "{overriders: {}, overrideRules: [{targetCluster: {clusterNames: [m2]}, " + change + "}]}", false},
		{"a rule for all but this one", "{overriders: {}, overrideRules: [{targetCluster: {exclude: [m1]}, " + change + "}]}", false},
		{"labels of clusters may fit", "{overriders: {}, overrideRules: [{targetCluster: {labelSelector: {matchLabels: {a: b}}}, " + change + "}]}", true},
		{"a rule that says no change", "{overriders: {}, overrideRules: [{overriders: {}}]}", false},
		{"the second rule", "{overriders: {}, overrideRules: [{targetCluster: {clusterNames: [m2]}, " + change + "}, {" + change + "}]}", true},
		{"the deprecated way", "{targetCluster: {clusterNames: [m1]}, " + change + "}", true},
		{"the deprecated way, elsewhere", "{targetCluster: {clusterNames: [m2]}, " + change + "}", false},
		{"nothing at all", "overriders: {}", false},
	} {
		if got := mayChangeIn(specOf[policyv1alpha1.OverrideSpec](t, tt.spec), "m1"); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.reason, got, tt.want)
		}
	}
}
