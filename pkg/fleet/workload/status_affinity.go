package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// affinityTerm is one thing that a cluster affinity asks of a cluster.
type affinityTerm struct {
	// asks is the term inside a list of terms.
	asks string
	// unmet reports that no member cluster meets the term.
	unmet   string
	matches func(*clusterv1alpha1.Cluster) bool
}

// unmetAffinity says which term of a placement's cluster affinity no member
// cluster meets. It is empty where a cluster meets the affinity, and where the
// member clusters are not known.
func unmetAffinity(placement *policyv1alpha1.Placement, members map[string]Member) string {
	if placement == nil || len(members) == 0 {
		return ""
	}
	clusters := make([]*clusterv1alpha1.Cluster, 0, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if members[name].Cluster == nil {
			return ""
		}
		clusters = append(clusters, members[name].Cluster)
	}
	if placement.ClusterAffinity != nil {
		return unmetBy(placement.ClusterAffinity, clusters)
	}
	var notes []string
	for i := range placement.ClusterAffinities {
		term := &placement.ClusterAffinities[i]
		note := unmetBy(&term.ClusterAffinity, clusters)
		if note == "" {
			return ""
		}
		for j := range term.OverflowAffinities {
			if unmetBy(&term.OverflowAffinities[j].ClusterAffinity, clusters) == "" {
				return ""
			}
		}
		notes = append(notes, fmt.Sprintf("affinity %q: %s", term.AffinityName, note))
	}
	return joinNotes(notes...)
}

// unmetBy says why no cluster meets an affinity; empty when one does. Terms that
// no cluster meets are named; where each is met by some cluster, all are.
func unmetBy(affinity *policyv1alpha1.ClusterAffinity, clusters []*clusterv1alpha1.Cluster) string {
	terms, ok := affinityTerms(affinity)
	if !ok {
		return "the label selector of the cluster affinity is not valid"
	}
	meetsAll := func(c *clusterv1alpha1.Cluster) bool {
		return !slices.ContainsFunc(terms, func(t affinityTerm) bool { return !t.matches(c) })
	}
	if slices.ContainsFunc(clusters, meetsAll) {
		return ""
	}
	var asked, unmet []string
	for _, t := range terms {
		asked = append(asked, t.asks)
		if !slices.ContainsFunc(clusters, t.matches) {
			unmet = append(unmet, t.unmet)
		}
	}
	if len(unmet) > 0 {
		return strings.Join(unmet, ", and ")
	}
	return "no member cluster meets all terms of the cluster affinity: " + strings.Join(asked, ", ")
}

// UnmetTerms lists what an affinity asks of a cluster that does not meet it.
func UnmetTerms(affinity *policyv1alpha1.ClusterAffinity, cluster *clusterv1alpha1.Cluster) []string {
	terms, ok := affinityTerms(affinity)
	if !ok {
		return []string{"a valid label selector"}
	}
	var unmet []string
	for _, t := range terms {
		if !t.matches(cluster) {
			unmet = append(unmet, t.asks)
		}
	}
	return unmet
}

// affinityTerms takes an affinity apart, as Karmada's scheduler evaluates it;
// false when its label selector is not valid.
func affinityTerms(affinity *policyv1alpha1.ClusterAffinity) ([]affinityTerm, bool) {
	var terms []affinityTerm
	if affinity.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(affinity.LabelSelector)
		if err != nil {
			return nil, false
		}
		requirements, _ := selector.Requirements()
		for i := range requirements {
			terms = append(terms, requirementTerm("label", &requirements[i], func(c *clusterv1alpha1.Cluster) labels.Set { return c.Labels }))
		}
	}
	if affinity.FieldSelector != nil {
		for i := range affinity.FieldSelector.MatchExpressions {
			terms = append(terms, fieldTerm(&affinity.FieldSelector.MatchExpressions[i]))
		}
	}
	if names := affinity.ClusterNames; len(names) > 0 {
		list := strings.Join(names, ", ")
		terms = append(terms, affinityTerm{
			"a name out of " + list, "the instance has no member cluster " + strings.Join(names, " or "),
			func(c *clusterv1alpha1.Cluster) bool { return slices.Contains(names, c.Name) },
		})
	}
	if names := affinity.ExcludeClusters; len(names) > 0 {
		list := strings.Join(names, ", ")
		terms = append(terms, affinityTerm{
			"not excluded as " + list, "the policy excludes every member cluster: " + list,
			func(c *clusterv1alpha1.Cluster) bool { return !slices.Contains(names, c.Name) },
		})
	}
	return terms, true
}

// requirementTerm is the term of one requirement about the labels or fields of a cluster.
func requirementTerm(noun string, r *labels.Requirement, of func(*clusterv1alpha1.Cluster) labels.Set) affinityTerm {
	asks := noun + " " + r.String()
	t := affinityTerm{asks, "no member cluster has the " + asks, func(c *clusterv1alpha1.Cluster) bool { return r.Matches(of(c)) }}
	switch r.Operator() {
	case selection.DoesNotExist:
		t.unmet = "every member cluster has the " + noun + " " + r.Key()
	case selection.NotEquals, selection.NotIn:
		t.unmet = "every member cluster has the " + noun + " " + r.Key() + " with one of the excluded values " + strings.Join(r.Values().List(), ", ")
	default:
	}
	return t
}

// fieldTerm is the term of one requirement about a provider, a region or the zones.
func fieldTerm(e *corev1.NodeSelectorRequirement) affinityTerm {
	r, err := labels.NewRequirement(e.Key, fieldOperators[e.Operator], e.Values)
	if err != nil {
		asks := fmt.Sprintf("field %s %s %s", e.Key, e.Operator, strings.Join(e.Values, ", "))
		// Karmada compares zones without looking whether the requirement is valid.
		return affinityTerm{asks, "no member cluster has the " + asks, func(c *clusterv1alpha1.Cluster) bool { return e.Key == "zone" && zonesMatch(e, c.Spec.Zones) }}
	}
	t := requirementTerm("field", r, func(c *clusterv1alpha1.Cluster) labels.Set {
		set := labels.Set{}
		if c.Spec.Provider != "" {
			set["provider"] = c.Spec.Provider
		}
		if c.Spec.Region != "" {
			set["region"] = c.Spec.Region
		}
		return set
	})
	if e.Key == "zone" {
		t.matches = func(c *clusterv1alpha1.Cluster) bool { return zonesMatch(e, c.Spec.Zones) }
	}
	return t
}

var fieldOperators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn:           selection.In,
	corev1.NodeSelectorOpNotIn:        selection.NotIn,
	corev1.NodeSelectorOpExists:       selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt:           selection.GreaterThan,
	corev1.NodeSelectorOpLt:           selection.LessThan,
}

// zonesMatch repeats how Karmada compares the zones of a cluster, of which it may have several.
func zonesMatch(e *corev1.NodeSelectorRequirement, zones []string) bool {
	named := slices.ContainsFunc(zones, func(zone string) bool { return slices.Contains(e.Values, zone) })
	switch e.Operator {
	case corev1.NodeSelectorOpIn:
		return named
	case corev1.NodeSelectorOpNotIn:
		return !named
	case corev1.NodeSelectorOpExists:
		return len(zones) > 0
	case corev1.NodeSelectorOpDoesNotExist:
		return len(zones) == 0
	default:
		return false
	}
}
