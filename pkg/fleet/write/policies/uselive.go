package policies

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
	"github.com/kairship-io/kairship/pkg/index"
)

// The uses of a policy are read from the instance itself, as the user who wants to delete it: the
// index lags, and would miss what was claimed a moment ago.

var (
	bindings        = kindOfWork(index.ResourceBindings, true)
	clusterBindings = kindOfWork(index.ClusterResourceBindings, false)
)

func kindOfWork(t index.Type, namespaced bool) write.Kind {
	return write.Kind{
		GroupVersionResource: schema.GroupVersion(workv1alpha2.GroupVersion).WithResource(t.Resource), Kind: t.Kind, Namespaced: namespaced,
	}
}

// propagationUse finds the resources that a policy has claimed, by the bindings
// that Karmada made of them.
func propagationUse(ctx context.Context, site *write.Site, of *unstructured.Unstructured) (*specs.Use, error) {
	use := &specs.Use{}
	label := policyv1alpha1.PropagationPolicyPermanentIDLabel
	if of.GetNamespace() == "" {
		label = policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel
	}
	id := of.GetLabels()[label]
	if id == "" {
		return use, nil // Karmada has not seen it yet.
	}
	return use, eachBinding(ctx, site, of.GetNamespace(), label+"="+id, use, func(b *workv1alpha2.ResourceBinding) error {
		use.Add(userOf(&b.Spec.Resource))
		return nil
	})
}

// overrideUse finds the propagated resources that a policy may change in one of
// their clusters, and the propagation policies that depend on it.
func overrideUse(ctx context.Context, site *write.Site, of *unstructured.Unstructured) (*specs.Use, error) {
	use := &specs.Use{}
	var spec policyv1alpha1.OverrideSpec
	said, _, err := unstructured.NestedMap(of.Object, "spec")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(said, &spec)
	}
	if err != nil {
		return nil, err
	}
	if err := dependents(ctx, site, of, use); err != nil {
		return nil, err
	}
	labelled := labelledResources{ctx: ctx, site: site, found: map[string]map[string]bool{}}
	return use, eachBinding(ctx, site, of.GetNamespace(), "", use, func(b *workv1alpha2.ResourceBinding) error {
		if !slices.ContainsFunc(b.Spec.Clusters, func(c workv1alpha2.TargetCluster) bool { return mayChangeIn(&spec, c.Name) }) {
			return nil
		}
		selected, err := selects(&spec, &b.Spec.Resource, labelled.has)
		if selected {
			use.Add(userOf(&b.Spec.Resource))
		}
		return err
	})
}

// dependents finds the propagation policies that wait for an override policy.
func dependents(ctx context.Context, site *write.Site, of *unstructured.Unstructured, use *specs.Use) error {
	kind := kindOf(index.PropagationPolicies, true)
	if of.GetNamespace() == "" {
		kind = kindOf(index.ClusterPropagationPolicies, false)
	}
	return each(ctx, site, write.Listing{Kind: kind, Namespace: of.GetNamespace()}, use, func(p *policyv1alpha1.PropagationPolicy) error {
		if slices.Contains(p.Spec.DependentOverrides, of.GetName()) {
			use.Add(specs.User{APIVersion: policyv1alpha1.GroupVersion.String(), Kind: kind.Kind, Namespace: p.Namespace, Name: p.Name})
		}
		return nil
	})
}

// selects reports whether a policy selects a resource. Labels are looked up by has,
// and only where they matter, because the binding does not have them.
func selects(spec *policyv1alpha1.OverrideSpec, of *workv1alpha2.ObjectReference,
	has func(of *workv1alpha2.ObjectReference, selector *metav1.LabelSelector) (bool, error),
) (bool, error) {
	if len(spec.ResourceSelectors) == 0 {
		return true, nil
	}
	for _, s := range spec.ResourceSelectors {
		switch {
		case s.APIVersion != of.APIVersion || s.Kind != of.Kind || (s.Namespace != "" && s.Namespace != of.Namespace):
		case s.Name != "":
			if s.Name == of.Name {
				return true, nil
			}
		case s.LabelSelector == nil:
			return true, nil
		default:
			if yes, err := has(of, s.LabelSelector); yes || err != nil {
				return yes, err
			}
		}
	}
	return false, nil
}

// mayChangeIn reports whether a policy may change what is sent to a cluster. It assumes that
// conditions on labels and fields of clusters hold: not every user who may delete the policy may
// read the clusters, and one confirmation too many does no harm.
func mayChangeIn(spec *policyv1alpha1.OverrideSpec, cluster string) bool {
	return slices.ContainsFunc(policy.RulesOf(spec), func(r policyv1alpha1.RuleWithCluster) bool {
		t := r.TargetCluster
		switch {
		case !policy.ChangesAnything(r.Overriders):
			return false
		case t == nil:
			return true
		case slices.Contains(t.ExcludeClusters, cluster):
			return false
		}
		return len(t.ClusterNames) == 0 || slices.Contains(t.ClusterNames, cluster)
	})
}

// labelledResources answers for the labels of resources with one list for each
// kind, namespace and selector.
type labelledResources struct {
	ctx   context.Context //nolint:containedctx // of one search, which it does not outlive
	site  *write.Site
	found map[string]map[string]bool
}

func (l *labelledResources) has(of *workv1alpha2.ObjectReference, by *metav1.LabelSelector) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(by)
	if err != nil || selector.Empty() {
		return err == nil, nil //nolint:nilerr // A selector that Karmada can't read selects nothing.
	}
	key := strings.Join([]string{of.APIVersion, of.Kind, of.Namespace, selector.String()}, "|")
	if names, known := l.found[key]; known {
		return names[of.Name], nil
	}
	names := map[string]bool{}
	l.found[key] = names
	gv, err := schema.ParseGroupVersion(of.APIVersion)
	if err != nil {
		return false, err
	}
	kind, err := l.site.Kind(l.ctx, gv.WithKind(of.Kind))
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var cut specs.Use
	err = each(l.ctx, l.site, write.Listing{Kind: kind, Namespace: of.Namespace, Selector: selector.String(), MetadataOnly: true}, &cut, func(m *metav1.PartialObjectMetadata) error {
		names[m.Name] = true
		return nil
	})
	// Of more than were looked at, any may have the labels.
	return names[of.Name] || cut.More, err
}

func userOf(r *workv1alpha2.ObjectReference) specs.User {
	return specs.User{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// eachBinding calls found with the bindings in a namespace, or with all bindings
// of the instance where it is empty. What is being deleted uses nothing.
func eachBinding(ctx context.Context, site *write.Site, namespace, selector string, use *specs.Use, found func(*workv1alpha2.ResourceBinding) error) error {
	kinds := []write.Kind{bindings}
	if namespace == "" {
		// Both kinds have the same fields.
		kinds = append(kinds, clusterBindings)
	}
	for _, kind := range kinds {
		err := each(ctx, site, write.Listing{Kind: kind, Namespace: namespace, Selector: selector}, use, func(b *workv1alpha2.ResourceBinding) error {
			if b.DeletionTimestamp != nil {
				return nil
			}
			return found(b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls found with the objects of a list, and notes in use when it stopped
// before the end.
func each[T any](ctx context.Context, site *write.Site, l write.Listing, use *specs.Use, found func(*T) error) error {
	l.Paths = specs.Paths("input")
	more, err := write.Each(ctx, site.Client(), l, found)
	use.More = use.More || more
	return err
}
