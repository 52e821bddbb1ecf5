package whatif

import (
	"fmt"
	"slices"

	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
)

// The assumptions of every report that schedules.
var scheduling = []string{
	"Nothing else changes meanwhile, and every binding is scheduled as the objects are now.",
	"Karmada's scheduler runs with its default plugins and feature gates.",
	"Capacity is what the clusters report in their resource summaries; each object is compared with all of it. A scheduler estimator or a quota may leave less.",
}

// on names the state of a feature.
func on(enabled bool) string {
	if enabled {
		return "enabled"
	}
	return "disabled"
}

// policyAssumptions are those of a change of a policy.
func policyAssumptions(w *World, c Change, found bindings, claims []claim) []string {
	out := slices.Clone(scheduling)
	out = append(out,
		fmt.Sprintf("The feature gate PolicyPreemption of karmada-controller-manager is %s.", on(w.Settings.PolicyPreemption)),
		"Karmada propagates from every namespace but its own and those that begin with kube-.",
	)
	if c.After != nil && c.After.Spec.PropagateDeps || c.Before != nil && c.Before.Spec.PropagateDeps {
		out = append(out, "What the selected objects refer to is propagated along with them, and is not in the report.")
	}
	var custom []string
	for i := range claims {
		t := claims[i].template
		gvk := t.GroupVersionKind()
		if claims[i].after == nil || found.of(t) != nil || nativeInterpreter.HookEnabled(gvk, configv1alpha1.InterpreterOperationInterpretReplica) {
			continue
		}
		if builtIn(gvk.Group) || slices.Contains(custom, gvk.Kind) {
			continue
		}
		custom = append(custom, gvk.Kind)
	}
	slices.Sort(custom)
	for _, kind := range custom {
		out = append(out, fmt.Sprintf("No customization of the resource interpreter counts the replicas of a %s that Karmada has not propagated yet.", kind))
	}
	return out
}

// builtIn reports whether a group is of Kubernetes itself.
func builtIn(group string) bool {
	return slices.Contains([]string{"", "apps", "batch", "autoscaling", "policy"}, group) || len(group) > 7 && group[len(group)-7:] == ".k8s.io"
}

// lossAssumptions are those of a loss of clusters.
func lossAssumptions(w *World, l Loss) []string {
	out := slices.Clone(scheduling)
	if l.Mode == NoExecuteTaint || l.Mode == Unready {
		out = append(out, fmt.Sprintf("Eviction by NoExecute taints is %s in karmada-controller-manager (feature gate Failover and flag --enable-no-execute-taint-eviction).", on(w.Settings.NoExecuteEviction)))
	}
	if w.Settings.NoExecuteEviction && (l.Mode == NoExecuteTaint || l.Mode == Unready) {
		out = append(out, "What is evicted gracefully stays in its old cluster until it is healthy in the new one, or ten minutes have passed.")
	}
	if len(l.Clusters) > 1 {
		out = append(out, "The clusters are lost at the same time.")
	}
	return out
}
