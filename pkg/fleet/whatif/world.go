package whatif

import (
	"strings"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util"
	"github.com/karmada-io/karmada/pkg/util/names"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// World is what is observed of an instance at one time. Nothing in it is changed.
type World struct {
	Clusters []*clusterv1alpha1.Cluster
	// Policies are the propagation policies of both kinds.
	Policies []*Policy
	// Overrides are the OverridePolicies and ClusterOverridePolicies; only their names matter.
	Overrides []client.Object
	// Templates are those that a change of a policy may concern.
	Templates []*unstructured.Unstructured
	// Bindings are ResourceBindings, and ClusterResourceBindings as ResourceBindings without namespace.
	Bindings []*workv1alpha2.ResourceBinding
	// TaintPolicies are the ClusterTaintPolicies.
	TaintPolicies []*policyv1alpha1.ClusterTaintPolicy
	Settings      Settings
}

// Settings are flags of Karmada's components that decide what it does and cannot be read from the
// instance. The zero value has Karmada's defaults.
type Settings struct {
	// PolicyPreemption is the feature gate of karmada-controller-manager.
	PolicyPreemption bool
	// NoExecuteEviction is whether karmada-controller-manager evicts by NoExecute taints: the feature
	// gate Failover and the flag --enable-no-execute-taint-eviction.
	NoExecuteEviction bool
}

// Policy is a PropagationPolicy, or a ClusterPropagationPolicy where it has no namespace.
type Policy struct {
	metav1.ObjectMeta
	Spec policyv1alpha1.PropagationSpec
}

// PolicyRef names a policy; one without namespace is a ClusterPropagationPolicy.
type PolicyRef struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns the policy's kind and name for a person.
func (r PolicyRef) String() string {
	if r.Namespace == "" {
		return "ClusterPropagationPolicy " + r.Name
	}
	return "PropagationPolicy " + r.Namespace + "/" + r.Name
}

// Ref returns the policy's name.
func (p *Policy) Ref() PolicyRef { return PolicyRef{p.Namespace, p.Name} }

// id is the permanent ID by which templates and bindings know the policy that claims them.
func (p *Policy) id() string { return p.Labels[idLabel(p.Namespace)] }

// idLabel is the label of permanent IDs of the policies with or without namespace.
func idLabel(namespace string) string {
	if namespace == "" {
		return policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel
	}
	return policyv1alpha1.PropagationPolicyPermanentIDLabel
}

func (p *Policy) priority() int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

func (p *Policy) preempts() bool { return p.Spec.Preemption == policyv1alpha1.PreemptAlways }

func (p *Policy) lazy() bool { return p.Spec.ActivationPreference == policyv1alpha1.LazyActivation }

// object is the policy as Karmada's type.
func (p *Policy) object() client.Object {
	if p.Namespace == "" {
		return &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: p.ObjectMeta, Spec: p.Spec}
	}
	return &policyv1alpha1.PropagationPolicy{ObjectMeta: p.ObjectMeta, Spec: p.Spec}
}

// named reports whether a selector of the policy names an object. Karmada takes over from other policies
// nothing else (fetchResourceTemplate of its detector).
func (p *Policy) named(t *unstructured.Unstructured) bool {
	for i := range p.Spec.ResourceSelectors {
		s := &p.Spec.ResourceSelectors[i]
		if s.Name != "" && s.Name == t.GetName() && s.APIVersion == t.GetAPIVersion() && s.Kind == t.GetKind() && s.Namespace == t.GetNamespace() {
			return true
		}
	}
	return false
}

// claimOf returns the policy that a template or a binding belongs to; nil for none.
func claimOf(o metav1.Object) *PolicyRef {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	if id := labels[policyv1alpha1.PropagationPolicyPermanentIDLabel]; id != "" {
		ref := PolicyRef{annotations[policyv1alpha1.PropagationPolicyNamespaceAnnotation], annotations[policyv1alpha1.PropagationPolicyNameAnnotation]}
		if ref.Namespace != "" && ref.Name != "" {
			return &ref
		}
	}
	if id := labels[policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel]; id != "" {
		if name := annotations[policyv1alpha1.ClusterPropagationPolicyAnnotation]; name != "" {
			return &PolicyRef{Name: name}
		}
	}
	return nil
}

// claimed reports whether a scheduler looks at a binding, as resourceBindingEventFilter of Karmada's
// scheduler does.
func claimed(b *workv1alpha2.ResourceBinding) bool {
	return b.Labels[policyv1alpha1.PropagationPolicyPermanentIDLabel] != "" || b.Labels[policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel] != "" ||
		b.Labels[workv1alpha2.BindingManagedByLabel] != ""
}

// bindings finds the bindings of templates by namespace and name.
type bindings map[types.NamespacedName]*workv1alpha2.ResourceBinding

func bindingsOf(all []*workv1alpha2.ResourceBinding) bindings {
	found := make(bindings, len(all))
	for _, b := range all {
		found[types.NamespacedName{Namespace: b.Namespace, Name: b.Name}] = b
	}
	return found
}

// of returns the binding of a template; nil when it has none.
func (bs bindings) of(t *unstructured.Unstructured) *workv1alpha2.ResourceBinding {
	b := bs[types.NamespacedName{Namespace: t.GetNamespace(), Name: names.GenerateBindingName(t.GetKind(), t.GetName())}]
	if b == nil || b.Spec.Resource.Name != t.GetName() || !strings.EqualFold(b.Spec.Resource.Kind, t.GetKind()) {
		return nil
	}
	return b
}

// Selects reports whether the policy selects an object, with Karmada's own matching.
func (p *Policy) Selects(t *unstructured.Unstructured) bool {
	return util.ResourceMatchSelectors(t, p.Spec.ResourceSelectors...)
}

// Claims reports whether an object has the claim of the policy.
func (p *Policy) Claims(t *unstructured.Unstructured) bool {
	return p.id() != "" && t.GetLabels()[idLabel(p.Namespace)] == p.id()
}

// NamespaceOrNil is the policy's namespace; nil for a ClusterPropagationPolicy.
func (r PolicyRef) NamespaceOrNil() *string {
	if r.Namespace == "" {
		return nil
	}
	return &r.Namespace
}
