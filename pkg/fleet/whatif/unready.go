package whatif

import (
	"cmp"
	"slices"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"github.com/karmada-io/karmada/pkg/util"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setUnready has a cluster report that it is not ready.
func setUnready(c *clusterv1alpha1.Cluster) {
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionFalse, Reason: "ClusterNotReachable",
	})
}

// addedTaints are those that the ClusterTaintPolicies add to a cluster for its conditions, as Karmada's
// ClusterTaintPolicyController does.
func (w *World) addedTaints(c *clusterv1alpha1.Cluster) []corev1.Taint {
	policies := slices.Clone(w.TaintPolicies)
	slices.SortFunc(policies, func(a, b *policyv1alpha1.ClusterTaintPolicy) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var out []corev1.Taint
	for _, p := range policies {
		if p.Spec.TargetClusters != nil && !util.ClusterMatches(c, *p.Spec.TargetClusters) {
			continue
		}
		if conditionsHold(c.Status.Conditions, p.Spec.AddOnConditions) {
			for _, t := range p.Spec.Taints {
				taint := corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
				if !slices.ContainsFunc(append(slices.Clone(c.Spec.Taints), out...), func(o corev1.Taint) bool { return o.MatchTaint(&taint) }) {
					out = append(out, taint)
				}
			}
		}
		if conditionsHold(c.Status.Conditions, p.Spec.RemoveOnConditions) {
			out = slices.DeleteFunc(out, func(o corev1.Taint) bool {
				return slices.ContainsFunc(p.Spec.Taints, func(t policyv1alpha1.Taint) bool { return t.Key == o.Key && t.Effect == o.Effect })
			})
		}
	}
	return out
}

// conditionsHold reports whether all of some conditions hold, and there is one (conditionMatches).
func conditionsHold(now []metav1.Condition, want []policyv1alpha1.MatchCondition) bool {
	for _, m := range want {
		found := meta.FindStatusCondition(now, m.ConditionType)
		if found == nil || slices.Contains(m.StatusValues, found.Status) != (m.Operator == policyv1alpha1.MatchConditionOpIn) {
			return false
		}
	}
	return len(want) > 0
}
