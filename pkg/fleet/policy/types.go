package policy

import (
	"fmt"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// PropagationPolicyLike is a PropagationPolicy or a ClusterPropagationPolicy.
type PropagationPolicyLike interface {
	IsNode()
	// Common gives what all policies have.
	Common() *Policy
	// PropagationSpec gives what the policy says.
	PropagationSpec() *policyv1alpha1.PropagationSpec
}

// OverridePolicyLike is an OverridePolicy or a ClusterOverridePolicy.
type OverridePolicyLike interface {
	IsNode()
	// Common gives what all policies have.
	Common() *Policy
	// OverrideSpec gives what the policy says.
	OverrideSpec() *policyv1alpha1.OverrideSpec
}

// Policy is what all policies have.
type Policy struct {
	object.Object
}

// Common implements PropagationPolicyLike and OverridePolicyLike.
func (p *Policy) Common() *Policy { return p }

// IsNode marks the policies as objects with a global ID, as GraphQL's Node asks.
func (p *Policy) IsNode() {}

// ID is its global ID. The name of a kind of policy is also that of its GraphQL type.
func (p *Policy) ID() string {
	return nodeid.New(p.ObjectKind(), p.Instance, p.Namespace(), p.Name())
}

// NamespaceOrNil is its namespace; nil for the kinds that have none.
func (p *Policy) NamespaceOrNil() *string { return object.Optional(p.Namespace()) }

// PropagationPolicy sends resources of its namespace to member clusters.
type PropagationPolicy struct {
	Policy

	Spec *policyv1alpha1.PropagationSpec
}

// PropagationSpec implements PropagationPolicyLike.
func (p *PropagationPolicy) PropagationSpec() *policyv1alpha1.PropagationSpec { return p.Spec }

// ClusterPropagationPolicy sends resources of any namespace, and resources without one, to member clusters.
type ClusterPropagationPolicy struct {
	Policy

	Spec *policyv1alpha1.PropagationSpec
}

// PropagationSpec implements PropagationPolicyLike.
func (p *ClusterPropagationPolicy) PropagationSpec() *policyv1alpha1.PropagationSpec { return p.Spec }

// OverridePolicy changes resources of its namespace on their way to member clusters.
type OverridePolicy struct {
	Policy

	Spec *policyv1alpha1.OverrideSpec
}

// OverrideSpec implements OverridePolicyLike.
func (p *OverridePolicy) OverrideSpec() *policyv1alpha1.OverrideSpec { return p.Spec }

// ClusterOverridePolicy changes resources of any namespace, and resources without one, on their way to member clusters.
type ClusterOverridePolicy struct {
	Policy

	Spec *policyv1alpha1.OverrideSpec
}

// OverrideSpec implements OverridePolicyLike.
func (p *ClusterOverridePolicy) OverrideSpec() *policyv1alpha1.OverrideSpec { return p.Spec }

// PropagationPolicyConnection is a page of policies of its kind.
type PropagationPolicyConnection = page.Connection[*PropagationPolicy]

// PropagationPolicyEdge is a policy of its kind in a list.
type PropagationPolicyEdge = page.Edge[*PropagationPolicy]

// ClusterPropagationPolicyConnection is a page of policies of its kind.
type ClusterPropagationPolicyConnection = page.Connection[*ClusterPropagationPolicy]

// ClusterPropagationPolicyEdge is a policy of its kind in a list.
type ClusterPropagationPolicyEdge = page.Edge[*ClusterPropagationPolicy]

// OverridePolicyConnection is a page of policies of its kind.
type OverridePolicyConnection = page.Connection[*OverridePolicy]

// OverridePolicyEdge is a policy of its kind in a list.
type OverridePolicyEdge = page.Edge[*OverridePolicy]

// ClusterOverridePolicyConnection is a page of policies of its kind.
type ClusterOverridePolicyConnection = page.Connection[*ClusterOverridePolicy]

// ClusterOverridePolicyEdge is a policy of its kind in a list.
type ClusterOverridePolicyEdge = page.Edge[*ClusterOverridePolicy]

// NewPropagationPolicy makes a PropagationPolicy of its object.
func NewPropagationPolicy(instance string, o *index.Object, fresh freshness.Freshness) (*PropagationPolicy, error) {
	if o.MetadataOnly() {
		return &PropagationPolicy{Policy: common(instance, o, fresh)}, nil
	}
	p, err := index.Decode[policyv1alpha1.PropagationPolicy](o)
	if err != nil {
		return nil, unreadable(instance, o, err)
	}
	return &PropagationPolicy{Policy: common(instance, o, fresh), Spec: &p.Spec}, nil
}

// NewClusterPropagationPolicy makes a ClusterPropagationPolicy of its object.
func NewClusterPropagationPolicy(instance string, o *index.Object, fresh freshness.Freshness) (*ClusterPropagationPolicy, error) {
	if o.MetadataOnly() {
		return &ClusterPropagationPolicy{Policy: common(instance, o, fresh)}, nil
	}
	p, err := index.Decode[policyv1alpha1.ClusterPropagationPolicy](o)
	if err != nil {
		return nil, unreadable(instance, o, err)
	}
	return &ClusterPropagationPolicy{Policy: common(instance, o, fresh), Spec: &p.Spec}, nil
}

// NewOverridePolicy makes an OverridePolicy of its object.
func NewOverridePolicy(instance string, o *index.Object, fresh freshness.Freshness) (*OverridePolicy, error) {
	if o.MetadataOnly() {
		return &OverridePolicy{Policy: common(instance, o, fresh)}, nil
	}
	p, err := index.Decode[policyv1alpha1.OverridePolicy](o)
	if err != nil {
		return nil, unreadable(instance, o, err)
	}
	return &OverridePolicy{Policy: common(instance, o, fresh), Spec: &p.Spec}, nil
}

// NewClusterOverridePolicy makes a ClusterOverridePolicy of its object.
func NewClusterOverridePolicy(instance string, o *index.Object, fresh freshness.Freshness) (*ClusterOverridePolicy, error) {
	if o.MetadataOnly() {
		return &ClusterOverridePolicy{Policy: common(instance, o, fresh)}, nil
	}
	p, err := index.Decode[policyv1alpha1.ClusterOverridePolicy](o)
	if err != nil {
		return nil, unreadable(instance, o, err)
	}
	return &ClusterOverridePolicy{Policy: common(instance, o, fresh), Spec: &p.Spec}, nil
}

// NewPropagation makes the policy of an object that is a PropagationPolicy or a
// ClusterPropagationPolicy.
func NewPropagation(instance string, o *index.Object, fresh freshness.Freshness) (PropagationPolicyLike, error) {
	if o.Kind == policyv1alpha1.ResourceKindClusterPropagationPolicy {
		return NewClusterPropagationPolicy(instance, o, fresh)
	}
	return NewPropagationPolicy(instance, o, fresh)
}

// NewOverride makes the policy of an object that is an OverridePolicy or a
// ClusterOverridePolicy.
func NewOverride(instance string, o *index.Object, fresh freshness.Freshness) (OverridePolicyLike, error) {
	if o.Kind == policyv1alpha1.ResourceKindClusterOverridePolicy {
		return NewClusterOverridePolicy(instance, o, fresh)
	}
	return NewOverridePolicy(instance, o, fresh)
}

func common(instance string, o *index.Object, fresh freshness.Freshness) Policy {
	return Policy{Object: object.New(instance, o, fresh)}
}

func unreadable(instance string, o *index.Object, err error) error {
	return fmt.Errorf("reading %s %s/%s of instance %s: %w", o.Kind, o.Meta.Namespace, o.Meta.Name, instance, err)
}
