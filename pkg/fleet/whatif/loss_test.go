package whatif

import (
	"fmt"
	"math/rand/v2"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestClusterLoss checks what becomes of a Deployment with two replicas in m1 and two in m2 when m1 is lost.
func TestClusterLoss(t *testing.T) {
	const divided = `replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}`
	evicting := Settings{NoExecuteEviction: true}
	tolerating := func(more string) string {
		return `clusterTolerations: [{key: preview.kairship.io/lost, operator: Exists, effect: NoExecute` + more + `}], ` + divided
	}
	for _, tt := range []struct {
		reason, placement string
		loss              LossMode
		settings          Settings
		taint             *policyv1alpha1.ClusterTaintPolicy
		want              string
	}{
		{reason: "cordoning moves nothing", placement: divided, loss: Cordon, settings: evicting, want: "UNCHANGED [{m1 2} {m2 2}]"},
		{reason: "by default, Karmada evicts nothing", placement: divided, loss: NoExecuteTaint, want: "UNCHANGED [{m1 2} {m2 2}]"},
		{reason: "divided replicas move", placement: divided, loss: NoExecuteTaint, settings: evicting, want: "EVICTED [{m2 4}]"},
		{reason: "what has a copy everywhere loses one", placement: `clusterAffinity: {clusterNames: [m1, m2]}`, loss: NoExecuteTaint, settings: evicting, want: "EVICTED [{m2 4}]"},
		{reason: "what fits nowhere else is left without cluster", placement: `clusterAffinity: {clusterNames: [m1]}, ` + divided, loss: NoExecuteTaint, settings: evicting, want: "EVICTED [] unplaced"},
		{reason: "what tolerates it forever stays", placement: tolerating(""), loss: NoExecuteTaint, settings: evicting, want: "UNCHANGED [{m1 2} {m2 2}]"},
		{reason: "what tolerates it for a while goes", placement: tolerating(", tolerationSeconds: 300"), loss: NoExecuteTaint, settings: evicting, want: "EVICTED [{m2 4}]"},
		{reason: "a cluster that is not ready keeps what it has", placement: divided, loss: Unready, settings: evicting, want: "UNCHANGED [{m1 2} {m2 2}]"},
		{
			reason: "unless a ClusterTaintPolicy taints it", placement: divided, loss: Unready, settings: evicting, want: "EVICTED [{m2 4}]",
			taint: &policyv1alpha1.ClusterTaintPolicy{Spec: policyv1alpha1.ClusterTaintPolicySpec{
				AddOnConditions: []policyv1alpha1.MatchCondition{{ConditionType: "Ready", Operator: policyv1alpha1.MatchConditionOpNotIn, StatusValues: []metav1.ConditionStatus{metav1.ConditionTrue}}},
				Taints:          []policyv1alpha1.Taint{{Key: "down", Effect: corev1.TaintEffectNoExecute}},
			}},
		},
		{reason: "a cluster that is removed loses everything", placement: divided, loss: Removal, want: "RESCHEDULED [{m2 4}]"},
		{reason: "so does one with copies", placement: ``, loss: Removal, want: "RESCHEDULED [{m2 4} {m3 4}]"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			p := policy(t, "shop", "p", `{resourceSelectors: [{}], placement: {`+tt.placement+`}}`)
			of := deployment("web", 4, p)
			clusters := []*clusterv1alpha1.Cluster{cluster("m1", 10), cluster("m2", 10), cluster("m3", 1)}
			w := &World{Clusters: clusters, Settings: tt.settings, Bindings: []*workv1alpha2.ResourceBinding{binding(t, of, p, map[string]int32{"m1": 2, "m2": 2})}}
			if tt.taint != nil {
				w.TaintPolicies = append(w.TaintPolicies, tt.taint)
			}
			r, err := ClusterLoss(w, Loss{Clusters: []string{"m1"}, Mode: tt.loss})
			if err != nil || len(r.Items) != 1 {
				t.Fatalf("%v, %+v", err, r)
			}
			i := r.Items[0]
			got := fmt.Sprint(i.Effect, " ", i.After)
			if i.Unplaced {
				got += " unplaced"
			}
			if got != tt.want {
				t.Errorf("got %s (%s), want %s", got, i.Message, tt.want)
			}
		})
	}
}

// TestClusterLossConcernsNothingElse checks that what is not in the lost clusters is not in the report.
func TestClusterLossConcernsNothingElse(t *testing.T) {
	p := policy(t, "shop", "p", anyOf)
	w := &World{
		Clusters: []*clusterv1alpha1.Cluster{cluster("m1", 10), cluster("m2", 10)},
		Bindings: []*workv1alpha2.ResourceBinding{binding(t, deployment("web", 4, p), p, map[string]int32{"m2": 4})},
	}
	if r, err := ClusterLoss(w, Loss{Clusters: []string{"m1"}, Mode: Removal}); err != nil || len(r.Items) > 0 {
		t.Errorf("%v, %+v", err, r.Items)
	}
}

// BenchmarkClusterLoss is 100 bindings over 100 clusters: it has to stay under a second.
func BenchmarkClusterLoss(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 0)) //nolint:gosec // Repeatable on purpose.
	w := &World{}
	for i := range 100 {
		w.Clusters = append(w.Clusters, cluster(fmt.Sprintf("m%d", i), 100))
	}
	for i := range 100 {
		one := randomBinding(b, r, i, 100)
		one.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1", Replicas: one.Spec.Replicas}}
		w.Bindings = append(w.Bindings, one)
	}
	for b.Loop() {
		if _, err := ClusterLoss(w, Loss{Clusters: []string{"m1"}, Mode: Removal}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPolicyChange is a change of the policy of 100 objects over 100 clusters: it has to stay under a second.
func BenchmarkPolicyChange(b *testing.B) {
	before, after := policy(b, "shop", "p", anyOf), policy(b, "shop", "p", `{resourceSelectors: [{}], placement: {clusterAffinity: {exclude: [m1]}}}`)
	w := &World{Policies: []*Policy{before}}
	all := map[string]int32{}
	for i := range 100 {
		name := fmt.Sprintf("m%d", i)
		w.Clusters, all[name] = append(w.Clusters, cluster(name, 100)), 2
	}
	for i := range 100 {
		of := deployment(fmt.Sprintf("d%d", i), 2, before)
		w.Templates, w.Bindings = append(w.Templates, of), append(w.Bindings, binding(b, of, before, all))
	}
	for b.Loop() {
		r, err := PolicyChange(w, Change{Before: before, After: after})
		if err != nil || r.Counts().Removed != 100 {
			b.Fatal(err, r.Counts())
		}
	}
}
