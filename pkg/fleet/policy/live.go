package policy

import (
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// Kind is a kind of policy.
type Kind string

// The kinds.
const (
	KindPropagationPolicy        Kind = "PROPAGATION_POLICY"
	KindClusterPropagationPolicy Kind = "CLUSTER_PROPAGATION_POLICY"
	KindOverridePolicy           Kind = "OVERRIDE_POLICY"
	KindClusterOverridePolicy    Kind = "CLUSTER_OVERRIDE_POLICY"
)

var kindTypes = []struct {
	kind Kind
	of   index.Type
}{
	{KindPropagationPolicy, index.PropagationPolicies},
	{KindClusterPropagationPolicy, index.ClusterPropagationPolicies},
	{KindOverridePolicy, index.OverridePolicies},
	{KindClusterOverridePolicy, index.ClusterOverridePolicies},
}

// Any is a policy of any kind.
type Any interface {
	IsNode()
	// IsPolicy marks the types of the interface in the schema.
	IsPolicy()
	// Common gives what all policies have.
	Common() *Policy
}

// IsPolicy marks it as a policy of some kind.
func (*Policy) IsPolicy() {}

// Change is an event of a subscription to policies.
type Change = changes.Event[Any]

// ChangeFilter says which policies to follow.
type ChangeFilter struct {
	Instances     []string
	Kinds         []Kind
	Namespaces    []string
	Name          []string
	NameContains  *string
	LabelSelector *string
}

// Types returns the types that the filter selects.
func (f *ChangeFilter) Types() []index.Type {
	var types []index.Type
	for _, k := range kindTypes {
		if f == nil || f.Kinds == nil || slices.Contains(f.Kinds, k.kind) {
			types = append(types, k.of)
		}
	}
	return types
}

// Listing is the part of the filter that all nouns have.
func (f *ChangeFilter) Listing() listing.Filter {
	if f == nil {
		return listing.Filter{}
	}
	return listing.Filter{Namespaces: f.Namespaces, Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector}
}

// Of are the instances of the filter; nil for all.
func (f *ChangeFilter) Of() []string {
	if f == nil {
		return nil
	}
	return f.Instances
}

// New makes the policy of an object of any kind of policy.
func New(instance string, o *index.Object, fresh freshness.Freshness) (Any, error) {
	switch o.Kind {
	case index.PropagationPolicies.Kind:
		return NewPropagationPolicy(instance, o, fresh)
	case index.ClusterPropagationPolicies.Kind:
		return NewClusterPropagationPolicy(instance, o, fresh)
	case index.OverridePolicies.Kind:
		return NewOverridePolicy(instance, o, fresh)
	}
	return NewClusterOverridePolicy(instance, o, fresh)
}

// Fields are the fields of a policy that can change.
func Fields() []changes.Field[Any] {
	return append(changes.ObjectFields(func(p Any) *object.Object { return &p.Common().Object }), []changes.Field[Any]{
		{Name: "deleting", Of: func(p Any) any { return p.Common().Deleting() }},
		{Name: "spec", Of: shownSpec},
	}...)
}

func shownSpec(p Any) any {
	switch p := p.(type) {
	case PropagationPolicyLike:
		return p.PropagationSpec()
	case OverridePolicyLike:
		return p.OverrideSpec()
	}
	return nil
}
