package policies

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

// naming collects the clusters that a spec names.
type naming []specs.NamedCluster

func (n *naming) list(at *field.Path, names []string) {
	for i, name := range names {
		*n = append(*n, specs.NamedCluster{At: at.Index(i).String(), Name: name})
	}
}

func (n *naming) affinity(at *field.Path, a *policyv1alpha1.ClusterAffinity) {
	if a != nil {
		n.list(at.Child("clusterNames"), a.ClusterNames)
		n.list(at.Child("exclude"), a.ExcludeClusters)
	}
}

// propagationClusters are the clusters that the spec of a propagation policy names.
func propagationClusters(spec *policyv1alpha1.PropagationSpec) []specs.NamedCluster {
	var n naming
	at := field.NewPath("spec", "placement")
	p := &spec.Placement
	n.affinity(at.Child("clusterAffinity"), p.ClusterAffinity)
	for i := range p.ClusterAffinities {
		at, term := at.Child("clusterAffinities").Index(i), &p.ClusterAffinities[i]
		n.affinity(at, &term.ClusterAffinity)
		for j := range term.OverflowAffinities {
			n.affinity(at.Child("overflowAffinities").Index(j), &term.OverflowAffinities[j].ClusterAffinity)
		}
	}
	if s := p.ReplicaScheduling; s != nil && s.WeightPreference != nil {
		for i := range s.WeightPreference.StaticWeightList {
			n.affinity(at.Child("replicaScheduling", "weightPreference", "staticWeightList").Index(i).Child("targetCluster"), &s.WeightPreference.StaticWeightList[i].TargetCluster)
		}
	}
	if s := spec.Suspension; s != nil && s.DispatchingOnClusters != nil {
		n.list(field.NewPath("spec", "suspension", "dispatchingOnClusters", "clusterNames"), s.DispatchingOnClusters.ClusterNames)
	}
	return n
}

// overrideClusters are the clusters that the spec of an override policy names.
func overrideClusters(spec *policyv1alpha1.OverrideSpec) []specs.NamedCluster {
	var n naming
	at := field.NewPath("spec")
	n.affinity(at.Child("targetCluster"), spec.TargetCluster) //nolint:staticcheck // deprecated, and still in use
	for i := range spec.OverrideRules {
		n.affinity(at.Child("overrideRules").Index(i).Child("targetCluster"), spec.OverrideRules[i].TargetCluster)
	}
	return n
}
