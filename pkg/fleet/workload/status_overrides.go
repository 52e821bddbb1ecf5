package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// PendingOverrides says which override policies ask for something else in a cluster than
// the cluster's Work records; empty when none does, and where that is not certain.
func (in Facts) PendingOverrides(cluster string) string {
	recorded, sent := in.Overrides[cluster]
	asked, known := in.askedOverrides(cluster)
	if !known || !sent {
		return ""
	}
	return joinNotes(append(differences(asked, recorded, true), differences(asked, recorded, false)...)...)
}

// overridesOf are the overrides that hold in a cluster, in the order in which Karmada applies
// them: those that the override policies ask for, or where these are not known, those that
// the cluster's Work records.
func (in Facts) overridesOf(cluster string) []AppliedOverride {
	if asked, known := in.askedOverrides(cluster); known {
		return asked
	}
	return in.Overrides[cluster]
}

// askedOverrides are those that the override policies ask for in a cluster, in the order in
// which Karmada applies them; false when the policies or the cluster are not known. Where
// they depend on what other policies change, those are taken that the Work records.
func (in Facts) askedOverrides(cluster string) (asked []AppliedOverride, known bool) {
	member := in.Members[cluster].Cluster
	if in.OverridePolicies == nil || member == nil {
		return nil, false
	}
	asked = in.overriding("", member)
	if !in.relabelled(asked) {
		return append(asked, in.overriding(in.Template.Namespace, member)...), true
	}
	for _, o := range in.Overrides[cluster] {
		if !o.ClusterScoped {
			asked = append(asked, o)
		}
	}
	return asked, true
}

// overriding lists what the override policies of a namespace ask for in a cluster; the empty
// namespace stands for the ClusterOverridePolicies. Karmada applies a policy until it is
// removed, also while it is being deleted.
func (in Facts) overriding(namespace string, cluster *clusterv1alpha1.Cluster) []AppliedOverride {
	type selecting struct {
		*policyv1alpha1.OverridePolicy
		priority int
	}
	var policies []selecting
	for _, p := range in.OverridePolicies {
		if priority := in.selectedBy(p.Spec.ResourceSelectors); p.Namespace == namespace && priority > notSelected {
			policies = append(policies, selecting{p, priority})
		}
	}
	slices.SortStableFunc(policies, func(a, b selecting) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.Name, b.Name))
	})
	var all []AppliedOverride
	for _, p := range policies {
		rules := p.Spec.OverrideRules
		if len(rules) == 0 {
			rules = []policyv1alpha1.RuleWithCluster{{TargetCluster: p.Spec.TargetCluster, Overriders: p.Spec.Overriders}} //nolint:staticcheck // Karmada still applies them.
		}
		for i := range rules {
			if targets(rules[i].TargetCluster, cluster) {
				all = append(all, AppliedOverride{ClusterScoped: namespace == "", PolicyName: p.Name, Overriders: rules[i].Overriders})
			}
		}
	}
	return all
}

// How well selectors select a workload: Karmada applies policies that select more exactly
// later.
const (
	notSelected = iota
	selectedAsAny
	selectedByLabels
	selectedByName
)

// selectedBy reports how well some selectors select the workload. None select everything.
func (in Facts) selectedBy(selectors []policyv1alpha1.ResourceSelector) int {
	if len(selectors) == 0 {
		return selectedAsAny
	}
	apiVersion, kind := in.Kind.GVK().ToAPIVersionAndKind()
	if in.Kind.Custom() {
		apiVersion = in.Template.APIVersion // A custom kind may have several versions.
	}
	best := notSelected
	for i := range selectors {
		s := &selectors[i]
		if s.APIVersion != apiVersion || s.Kind != kind || (s.Namespace != "" && s.Namespace != in.Template.Namespace) {
			continue
		}
		switch {
		case s.Name != "":
			if s.Name == in.Template.Name {
				best = max(best, selectedByName)
			}
		case s.LabelSelector == nil:
			best = max(best, selectedAsAny)
		default:
			selector, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
			if err == nil && selector.Matches(labels.Set(in.Template.Labels)) {
				best = max(best, selectedByLabels)
			}
		}
	}
	return best
}

// targets reports whether a rule is about a cluster.
func targets(affinity *policyv1alpha1.ClusterAffinity, cluster *clusterv1alpha1.Cluster) bool {
	if affinity == nil {
		return true
	}
	terms, ok := affinityTerms(affinity)
	return ok && !slices.ContainsFunc(terms, func(t affinityTerm) bool { return !t.matches(cluster) })
}

// relabelled reports whether ClusterOverridePolicies change the metadata by which an
// OverridePolicy selects: Karmada applies them before it looks at the labels.
func (in Facts) relabelled(wide []AppliedOverride) bool {
	return slices.ContainsFunc(wide, func(o AppliedOverride) bool {
		return len(o.Overriders.LabelsOverrider) > 0 || slices.ContainsFunc(o.Overriders.Plaintext, func(p policyv1alpha1.PlaintextOverrider) bool {
			return strings.Trim(p.Path, "/") == "" || strings.HasPrefix(p.Path, "/metadata")
		})
	}) && slices.ContainsFunc(in.OverridePolicies, func(p *policyv1alpha1.OverridePolicy) bool {
		return p.Namespace != "" && slices.ContainsFunc(p.Spec.ResourceSelectors, func(s policyv1alpha1.ResourceSelector) bool {
			return s.Name == "" && s.LabelSelector != nil
		})
	})
}

// differences describes for a person which policies of a scope request something else than the Work
// records. Where none requests anything, nothing is certain: Karmada leaves the record of the last
// policy on the Work after the policy was deleted. The text does not name a ClusterOverridePolicy:
// not every user who sees the workload may read it.
func differences(asked, recorded []AppliedOverride, clusterScoped bool) []string {
	asked, recorded = ofScope(asked, clusterScoped), ofScope(recorded, clusterScoped)
	if len(asked) == 0 {
		return nil
	}
	// Karmada sorts the record with the same function, which keeps or changes the order of
	// the rules of one policy in the same way.
	sort.Slice(asked, func(i, j int) bool { return asked[i].PolicyName < asked[j].PolicyName })
	now, before := byPolicy(asked), byPolicy(recorded)
	var names []string
	for _, o := range slices.Concat(asked, recorded) {
		if !slices.Contains(names, o.PolicyName) {
			names = append(names, o.PolicyName)
		}
	}
	var notes []string
	for _, name := range names {
		said := fmt.Sprintf("override policy %q", name)
		if clusterScoped {
			said = "a cluster override policy"
		}
		switch {
		case len(now[name]) == 0:
			said += " does not select it any more and is still applied"
		case len(before[name]) == 0:
			said += " has not been applied yet; if it cannot be, the workload's events say so"
		case !sameOverriders(now[name], before[name]):
			said = "a change of " + said + " has not been applied yet; if it cannot be, the workload's events say so"
		default:
			continue
		}
		if !slices.Contains(notes, said) {
			notes = append(notes, said)
		}
	}
	return notes
}

// ofScope are the overrides of a scope.
func ofScope(all []AppliedOverride, clusterScoped bool) []AppliedOverride {
	return slices.DeleteFunc(slices.Clone(all), func(o AppliedOverride) bool { return o.ClusterScoped != clusterScoped })
}

// byPolicy are the overriders of each policy, in their order.
func byPolicy(all []AppliedOverride) map[string][]policyv1alpha1.Overriders {
	found := map[string][]policyv1alpha1.Overriders{}
	for _, o := range all {
		found[o.PolicyName] = append(found[o.PolicyName], o.Overriders)
	}
	return found
}

// sameOverriders compares what overriders say, whatever JSON it is written in. What cannot
// be written as JSON is not known to differ.
func sameOverriders(a, b []policyv1alpha1.Overriders) bool {
	var x, y any
	for of, into := range map[*[]policyv1alpha1.Overriders]*any{&a: &x, &b: &y} {
		text, err := json.Marshal(*of)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			return true
		}
	}
	return reflect.DeepEqual(x, y)
}
