package policies

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
	"github.com/kairship-io/kairship/pkg/index"
)

// ExpectPropagation sets how the mutations of propagation policies check what they are expected to do.
func (w *Writes) ExpectPropagation(expect specs.Expect[policyv1alpha1.PropagationSpec]) {
	w.Propagation.Expect, w.ClusterPropagation.Expect = expect, expect
}

// ExpectOverride sets the same for the mutations of override policies.
func (w *Writes) ExpectOverride(expect specs.Expect[policyv1alpha1.OverrideSpec]) {
	w.Override.Expect, w.ClusterOverride.Expect = expect, expect
}

// Writes changes the policies of all kinds.
type Writes struct {
	Propagation        *specs.Changes[policy.PropagationPolicy, policyv1alpha1.PropagationSpec]
	ClusterPropagation *specs.Changes[policy.ClusterPropagationPolicy, policyv1alpha1.PropagationSpec]
	Override           *specs.Changes[policy.OverridePolicy, policyv1alpha1.OverrideSpec]
	ClusterOverride    *specs.Changes[policy.ClusterOverridePolicy, policyv1alpha1.OverrideSpec]
}

// NewWrites makes a Writes.
func NewWrites(w *write.Writer) *Writes {
	return &Writes{
		Propagation: &specs.Changes[policy.PropagationPolicy, policyv1alpha1.PropagationSpec]{
			Writer: w, Kind: kindOf(index.PropagationPolicies, true), Make: policy.NewPropagationPolicy, Contradictions: propagationContradictions, Clusters: propagationClusters, Use: propagationUse,
		},
		ClusterPropagation: &specs.Changes[policy.ClusterPropagationPolicy, policyv1alpha1.PropagationSpec]{
			Writer: w, Kind: kindOf(index.ClusterPropagationPolicies, false), Make: policy.NewClusterPropagationPolicy, Contradictions: propagationContradictions, Clusters: propagationClusters, Use: propagationUse,
		},
		Override: &specs.Changes[policy.OverridePolicy, policyv1alpha1.OverrideSpec]{
			Writer: w, Kind: kindOf(index.OverridePolicies, true), Make: policy.NewOverridePolicy, Contradictions: overrideContradictions, Clusters: overrideClusters, Use: overrideUse,
		},
		ClusterOverride: &specs.Changes[policy.ClusterOverridePolicy, policyv1alpha1.OverrideSpec]{
			Writer: w, Kind: kindOf(index.ClusterOverridePolicies, false), Make: policy.NewClusterOverridePolicy, Contradictions: overrideContradictions, Clusters: overrideClusters, Use: overrideUse,
		},
	}
}

func kindOf(t index.Type, namespaced bool) write.Kind {
	return write.Kind{
		GroupVersionResource: schema.GroupVersion(policyv1alpha1.GroupVersion).WithResource(t.Resource), Kind: t.Kind, Namespaced: namespaced,
	}
}
