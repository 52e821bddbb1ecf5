package policy

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// Kind is one of the four kinds of policy.
type Kind string

// The kinds of policy, by their Kubernetes names.
const (
	KindPropagationPolicy        Kind = policyv1alpha1.ResourceKindPropagationPolicy
	KindClusterPropagationPolicy Kind = policyv1alpha1.ResourceKindClusterPropagationPolicy
	KindOverridePolicy           Kind = policyv1alpha1.ResourceKindOverridePolicy
	KindClusterOverridePolicy    Kind = policyv1alpha1.ResourceKindClusterOverridePolicy
)

// Kinds lists the kinds of policy, in the order of the schema.
func Kinds() []Kind {
	return []Kind{
		KindPropagationPolicy, KindClusterPropagationPolicy,
		KindOverridePolicy, KindClusterOverridePolicy,
	}
}

// GVR is the resource that holds policies of the kind; empty for no kind.
func (k Kind) GVR() schema.GroupVersionResource {
	var resource string
	switch k {
	case KindPropagationPolicy:
		resource = policyv1alpha1.ResourcePluralPropagationPolicy
	case KindClusterPropagationPolicy:
		resource = policyv1alpha1.ResourcePluralClusterPropagationPolicy
	case KindOverridePolicy:
		resource = policyv1alpha1.ResourcePluralOverridePolicy
	case KindClusterOverridePolicy:
		resource = policyv1alpha1.ResourcePluralClusterOverridePolicy
	default:
		return schema.GroupVersionResource{}
	}
	return policyv1alpha1.SchemeGroupVersion.WithResource(resource)
}

// Namespaced tells whether policies of the kind are in namespaces.
func (k Kind) Namespaced() bool {
	return k == KindPropagationPolicy || k == KindOverridePolicy
}

// PropagationPolicyLike is a PropagationPolicy or a ClusterPropagationPolicy.
type PropagationPolicyLike interface {
	IsNode()
	// Common gives what all policies have.
	Common() *Object
	// PropagationSpec gives what the policy says.
	PropagationSpec() *policyv1alpha1.PropagationSpec
}

// OverridePolicyLike is an OverridePolicy or a ClusterOverridePolicy.
type OverridePolicyLike interface {
	IsNode()
	// Common gives what all policies have.
	Common() *Object
	// OverrideSpec gives what the policy says.
	OverrideSpec() *policyv1alpha1.OverrideSpec
}

// Object is what all policies have.
type Object struct {
	// Kind of the policy.
	Kind Kind
	// InstanceName is the instance that it was read from.
	InstanceName string
	// Meta is the object's metadata.
	Meta metav1.ObjectMeta
	// Raw is the whole object as the index (or the instance) gave it. It holds
	// metadata only when no more was asked for.
	Raw json.RawMessage
	// ObservedAt is when the object is known to have been so.
	ObservedAt time.Time
}

// Common implements PropagationPolicyLike and OverridePolicyLike.
func (o *Object) Common() *Object { return o }

// IsNode marks the policies as objects with a global ID, as GraphQL's Node asks.
func (o *Object) IsNode() {}

// Name of the policy.
func (o *Object) Name() string { return o.Meta.Name }

// Namespace of the policy; nil when it has none.
func (o *Object) Namespace() *string {
	if o.Meta.Namespace == "" {
		return nil
	}
	return &o.Meta.Namespace
}

// CreatedAt is when the instance created the policy.
func (o *Object) CreatedAt() time.Time { return o.Meta.CreationTimestamp.Time }

// ResourceVersion is the version that updates are based on.
func (o *Object) ResourceVersion() string { return o.Meta.ResourceVersion }

// Deleting tells whether its deletion was asked for.
func (o *Object) Deleting() bool { return o.Meta.DeletionTimestamp != nil }

// PropagationPolicy sends resources of its namespace to member clusters.
type PropagationPolicy struct {
	Object

	Spec *policyv1alpha1.PropagationSpec
}

// PropagationSpec implements PropagationPolicyLike.
func (p *PropagationPolicy) PropagationSpec() *policyv1alpha1.PropagationSpec { return p.Spec }

// Namespace of the policy; it always has one.
func (p *PropagationPolicy) Namespace() string { return p.Meta.Namespace }

// ClusterPropagationPolicy sends resources of any namespace, and resources without one, to member clusters.
type ClusterPropagationPolicy struct {
	Object

	Spec *policyv1alpha1.PropagationSpec
}

// PropagationSpec implements PropagationPolicyLike.
func (p *ClusterPropagationPolicy) PropagationSpec() *policyv1alpha1.PropagationSpec { return p.Spec }

// OverridePolicy changes resources of its namespace on their way to member clusters.
type OverridePolicy struct {
	Object

	Spec *policyv1alpha1.OverrideSpec
}

// OverrideSpec implements OverridePolicyLike.
func (p *OverridePolicy) OverrideSpec() *policyv1alpha1.OverrideSpec { return p.Spec }

// Namespace of the policy; it always has one.
func (p *OverridePolicy) Namespace() string { return p.Meta.Namespace }

// ClusterOverridePolicy changes resources of any namespace, and resources without one, on their way to member clusters.
type ClusterOverridePolicy struct {
	Object

	Spec *policyv1alpha1.OverrideSpec
}

// OverrideSpec implements OverridePolicyLike.
func (p *ClusterOverridePolicy) OverrideSpec() *policyv1alpha1.OverrideSpec { return p.Spec }

// NewPropagationPolicy reads a PropagationPolicy from its JSON. raw is kept, not copied.
func NewPropagationPolicy(instance string, raw []byte, observedAt time.Time) (*PropagationPolicy, error) {
	object, spec, err := read[policyv1alpha1.PropagationSpec](KindPropagationPolicy, instance, raw, observedAt)
	if err != nil {
		return nil, err
	}
	return &PropagationPolicy{Object: object, Spec: spec}, nil
}

// NewClusterPropagationPolicy reads a ClusterPropagationPolicy from its JSON. raw is kept, not copied.
func NewClusterPropagationPolicy(instance string, raw []byte, observedAt time.Time) (*ClusterPropagationPolicy, error) {
	object, spec, err := read[policyv1alpha1.PropagationSpec](KindClusterPropagationPolicy, instance, raw, observedAt)
	if err != nil {
		return nil, err
	}
	return &ClusterPropagationPolicy{Object: object, Spec: spec}, nil
}

// NewOverridePolicy reads an OverridePolicy from its JSON. raw is kept, not copied.
func NewOverridePolicy(instance string, raw []byte, observedAt time.Time) (*OverridePolicy, error) {
	object, spec, err := read[policyv1alpha1.OverrideSpec](KindOverridePolicy, instance, raw, observedAt)
	if err != nil {
		return nil, err
	}
	return &OverridePolicy{Object: object, Spec: spec}, nil
}

// NewClusterOverridePolicy reads a ClusterOverridePolicy from its JSON. raw is kept, not copied.
func NewClusterOverridePolicy(instance string, raw []byte, observedAt time.Time) (*ClusterOverridePolicy, error) {
	object, spec, err := read[policyv1alpha1.OverrideSpec](KindClusterOverridePolicy, instance, raw, observedAt)
	if err != nil {
		return nil, err
	}
	return &ClusterOverridePolicy{Object: object, Spec: spec}, nil
}

// read decodes metadata and spec. A missing spec (metadata only was asked for)
// gives an empty one; JSON that names another kind is an error.
func read[S any](kind Kind, instance string, raw []byte, observedAt time.Time) (Object, *S, error) {
	var decoded struct {
		Kind     string            `json:"kind"`
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     S                 `json:"spec"`
	}
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return Object{}, nil, fmt.Errorf("reading a %s of instance %s: %w", kind, instance, err)
	}
	// Items of a list often carry no kind of their own.
	if decoded.Kind != "" && decoded.Kind != string(kind) && decoded.Kind != "PartialObjectMetadata" {
		return Object{}, nil, fmt.Errorf("reading a %s of instance %s: the object is a %s", kind, instance, decoded.Kind)
	}
	return Object{
		Kind:         kind,
		InstanceName: instance,
		Meta:         decoded.Metadata,
		Raw:          raw,
		ObservedAt:   observedAt,
	}, &decoded.Spec, nil
}
