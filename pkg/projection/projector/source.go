package projector

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// source is the Source of one workload.
type source struct {
	loader *loader
	key    projection.WorkloadKey
	// incomplete reports that something was asked for that is not read yet.
	incomplete bool
	// resource is that of the template of a custom workload; empty where the index does not have it.
	resource string
}

// find looks for an object among those that were read; nil when the index has none.
func find[T any](s *source, part projection.Piece, key projection.ResourceKey) (*T, error) {
	d, known := s.loader.objects[key]
	switch {
	case !known:
		s.loader.missing[part][key] = true
		s.incomplete = true
		return nil, nil //nolint:nilnil // It is read, and asked for again.
	case d == nil:
		return nil, nil //nolint:nilnil // The index has none.
	case d.err != nil:
		return nil, d.err
	}
	v, ok := d.value.(*T)
	if !ok {
		return nil, fmt.Errorf("%s %s/%s was read as %T", key.Resource, key.Namespace, key.Name, d.value)
	}
	return v, nil
}

func (s *source) kind() workload.Kind { return workload.Kind(s.key.Kind) }

// virtual is the index's name of the instance.
func (s *source) virtual() string { return v1alpha1.VirtualClusterName(s.key.Instance) }

// in is the key of the workload's own object in a cluster of the index.
func (s *source) in(cluster string) projection.ResourceKey {
	gvr := s.kind().GVR()
	return resource(cluster, index.Type{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource}, s.key.Namespace, s.key.Name)
}

func (s *source) template() (*workload.Object, error) {
	if s.kind().Custom() {
		return s.customTemplate()
	}
	return find[workload.Object](s, projection.Whole, s.in(s.virtual()))
}

// customTemplate is the template of a custom workload; nil when no binding is made for it. It is the one
// of the index where this collects the kind in the version of the binding, else what the binding reports of
// it. Only the plural of the kind is not known: those are tried that a CustomResourceDefinition usually has.
func (s *source) customTemplate() (*workload.Object, error) {
	b, err := s.Binding()
	if err != nil || b == nil {
		return nil, err
	}
	r := &b.Spec.Resource
	if kind, ok := workload.BoundKind(b); !ok || kind != s.kind() || r.Name != s.key.Name {
		return nil, nil //nolint:nilnil // The binding is another object's.
	}
	gvk := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
	plural, singular := meta.UnsafeGuessKindToResource(gvk)
	for _, gvr := range []schema.GroupVersionResource{plural, singular} {
		t := index.Type{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource}
		o, err := find[workload.Object](s, projection.Whole, resource(s.virtual(), t, s.key.Namespace, s.key.Name))
		if err != nil {
			return nil, err
		}
		if o != nil {
			s.resource = gvr.Resource
			return o, nil
		}
	}
	return workload.BoundTemplate(b), nil
}

// Binding implements workload.Source.
func (s *source) Binding() (*workv1alpha2.ResourceBinding, error) {
	return find[workv1alpha2.ResourceBinding](s, projection.Whole, resource(s.virtual(), index.ResourceBindings, s.key.Namespace, s.kind().BindingName(s.key.Name)))
}

// Policy implements workload.Source.
func (s *source) Policy(ref *workload.PolicyRef) (*policyv1alpha1.PropagationPolicy, error) {
	t := index.PropagationPolicies
	if ref.ClusterScoped() {
		t = index.ClusterPropagationPolicies
	}
	return find[policyv1alpha1.PropagationPolicy](s, projection.Whole, resource(s.virtual(), t, ref.Namespace, ref.Name))
}

// Members implements workload.Source.
func (s *source) Members() (map[string]workload.Member, error) {
	return s.loader.membersOf(s.key.Instance)
}

// OverridePolicies implements workload.Source.
func (s *source) OverridePolicies() ([]*policyv1alpha1.OverridePolicy, error) {
	var all []*policyv1alpha1.OverridePolicy
	for _, key := range []projection.ResourceKey{
		resource(s.virtual(), index.ClusterOverridePolicies, "", ""), resource(s.virtual(), index.OverridePolicies, s.key.Namespace, ""),
	} {
		policies, known := s.loader.overrides[key]
		if !known {
			s.loader.missingOverrides[key] = true
			s.incomplete = true
		}
		for _, d := range policies {
			if d.err != nil {
				return nil, d.err
			}
			p, ok := d.value.(*policyv1alpha1.OverridePolicy)
			if !ok {
				return nil, fmt.Errorf("an override policy was read as %T", d.value)
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// Objects implements workload.Source. Nothing is collected from a foreign member.
func (s *source) Objects(clusters []string) (map[string]*workload.Object, error) {
	clusters = slices.DeleteFunc(slices.Clone(clusters), func(cluster string) bool { return s.loader.joined[cluster].Instance != s.key.Instance })
	return findEach[workload.Object](s, projection.Whole, clusters, s.in)
}

// Works implements workload.Source.
func (s *source) Works(clusters []string) (map[string]*metav1.ObjectMeta, error) {
	return findEach[metav1.ObjectMeta](s, projection.Metadata, clusters, func(cluster string) projection.ResourceKey {
		return resource(s.virtual(), index.Works, workload.ExecutionNamespace(cluster), s.kind().WorkName(s.key.Namespace, s.key.Name))
	})
}

// findEach looks for an object of each cluster.
func findEach[T any](s *source, part projection.Piece, clusters []string, key func(cluster string) projection.ResourceKey) (map[string]*T, error) {
	all := make(map[string]*T, len(clusters))
	for _, cluster := range clusters {
		o, err := find[T](s, part, key(cluster))
		if err != nil {
			return nil, err
		}
		if o != nil {
			all[cluster] = o
		}
	}
	return all, nil
}
