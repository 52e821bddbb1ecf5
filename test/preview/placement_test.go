package preview

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// placements makes placements that Karmada's webhooks accept, over some clusters.
type placements struct {
	*rand.Rand

	clusters []string
}

func (r placements) affinity() policyv1alpha1.ClusterAffinity {
	a := policyv1alpha1.ClusterAffinity{}
	switch r.IntN(5) {
	case 0, 1:
		for _, i := range r.Perm(len(r.clusters))[:1+r.IntN(len(r.clusters))] {
			a.ClusterNames = append(a.ClusterNames, r.clusters[i])
		}
	case 2:
		a.ExcludeClusters = []string{r.clusters[r.IntN(len(r.clusters))]}
	case 3:
		a.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{tierLabel: []string{"a", "b", "none"}[r.IntN(3)]}}
	}
	return a
}

// placement is any placement: duplicated, divided by weights of both kinds or aggregated, with affinities,
// groups of affinities and spread constraints.
func (r placements) placement() policyv1alpha1.Placement {
	p := policyv1alpha1.Placement{}
	if r.IntN(3) == 0 {
		for _, name := range []string{"first", "second", "third"}[:1+r.IntN(3)] {
			p.ClusterAffinities = append(p.ClusterAffinities, policyv1alpha1.ClusterAffinityTerm{AffinityName: name, ClusterAffinity: r.affinity()})
		}
	} else {
		p.ClusterAffinity = new(r.affinity())
	}
	if r.IntN(3) == 0 {
		c := policyv1alpha1.SpreadConstraint{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MinGroups: 1 + r.IntN(2)}
		c.MaxGroups = c.MinGroups + r.IntN(2)
		p.SpreadConstraints = []policyv1alpha1.SpreadConstraint{c}
	}
	s := &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted}
	p.ReplicaScheduling = s
	switch r.IntN(5) {
	case 0:
		*s = policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDuplicated}
	case 1:
		s.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceAggregated
	case 2:
		s.WeightPreference = &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas}
	case 3:
		s.WeightPreference = &policyv1alpha1.ClusterPreferences{}
		for _, name := range r.clusters {
			s.WeightPreference.StaticWeightList = append(s.WeightPreference.StaticWeightList, policyv1alpha1.StaticClusterWeight{
				TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{name}}, Weight: int64(1 + r.IntN(3)),
			})
		}
	}
	return p
}

// enums are the fields of a spec whose values GraphQL writes in capitals.
var enums = map[string]bool{
	"replicaSchedulingType": true, "replicaDivisionPreference": true, "dynamicWeight": true, "spreadByField": true,
	"preemption": true, "activationPreference": true, "conflictResolution": true,
}

// input is a spec as an input of the API.
func input(t testing.TB, spec policyv1alpha1.PropagationSpec) map[string]any {
	t.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return inWords(m).(map[string]any)
}

func inWords(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = inWords(v[i])
		}
	case map[string]any:
		for key, value := range v {
			if text, is := value.(string); is && enums[key] {
				v[key] = capitals(text)
			} else if labels, is := value.(map[string]any); is && key == "matchLabels" {
				pairs := []any{}
				for k, l := range labels {
					pairs = append(pairs, map[string]any{"key": k, "value": l})
				}
				v[key] = pairs
			} else {
				v[key] = inWords(value)
			}
		}
	}
	return v
}

func capitals(text string) string {
	var b strings.Builder
	for i, r := range text {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}
