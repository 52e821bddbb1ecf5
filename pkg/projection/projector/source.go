package projector

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
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
func find[T any](s *source, key projection.ResourceKey) (*T, error) {
	d, known := s.loader.objects[key]
	switch {
	case !known:
		s.loader.missing[key] = true
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
	return find[workload.Object](s, s.in(s.virtual()))
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
		o, err := find[workload.Object](s, resource(s.virtual(), t, s.key.Namespace, s.key.Name))
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
	return find[workv1alpha2.ResourceBinding](s, resource(s.virtual(), index.ResourceBindings, s.key.Namespace, s.kind().BindingName(s.key.Name)))
}

// Policy implements workload.Source.
func (s *source) Policy(ref *workload.PolicyRef) (*policyv1alpha1.PropagationPolicy, error) {
	t := index.PropagationPolicies
	if ref.ClusterScoped() {
		t = index.ClusterPropagationPolicies
	}
	return find[policyv1alpha1.PropagationPolicy](s, resource(s.virtual(), t, ref.Namespace, ref.Name))
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
		policies, err := list[policyv1alpha1.OverridePolicy](s, key)
		if err != nil {
			return nil, err
		}
		all = append(all, policies...)
	}
	return all, nil
}

// list looks for the objects of a namespace among those that were read.
func list[T any](s *source, key projection.ResourceKey) ([]*T, error) {
	found, known := s.loader.lists[key]
	if !known {
		s.loader.missingLists[key] = true
		s.incomplete = true
	}
	all := make([]*T, 0, len(found))
	for _, d := range found {
		if d.err != nil {
			return nil, d.err
		}
		v, ok := d.value.(*T)
		if !ok {
			return nil, fmt.Errorf("%s in namespace %q were read as %T", key.Resource, key.Namespace, d.value)
		}
		all = append(all, v)
	}
	return all, nil
}

// Objects implements workload.Source. Nothing is collected from a foreign member.
func (s *source) Objects(clusters []string) (map[string]*workload.Object, error) {
	clusters = slices.DeleteFunc(slices.Clone(clusters), func(cluster string) bool { return s.loader.joined[cluster].Instance != s.key.Instance })
	return findEach[workload.Object](s, clusters, s.in)
}

// Works implements workload.Source.
func (s *source) Works(clusters []string) (map[string]*metav1.ObjectMeta, error) {
	works, err := findEach[workv1alpha1.Work](s, clusters, s.work)
	if err != nil {
		return nil, err
	}
	all := make(map[string]*metav1.ObjectMeta, len(works))
	for cluster, work := range works {
		all[cluster] = &work.ObjectMeta
	}
	return all, nil
}

// work is the key of the Work that carries the workload to a cluster.
func (s *source) work(cluster string) projection.ResourceKey {
	return resource(s.virtual(), index.Works, workload.ExecutionNamespace(cluster), s.kind().WorkName(s.key.Namespace, s.key.Name))
}

// customizations are those of the instance's resource interpreter.
func (s *source) customizations() ([]*configv1alpha1.ResourceInterpreterCustomization, error) {
	return list[configv1alpha1.ResourceInterpreterCustomization](s, resource(s.virtual(), index.ResourceInterpreterCustomizations, "", ""))
}

// drifted reports whether an object differs from what Karmada sent. An object that cannot be compared is not
// counted as such; Placement.drift then has the error.
func (s *source) drifted(facts *workload.Facts, status *workload.Status) bool {
	if len(facts.Objects) == 0 {
		return false
	}
	customizations, err := s.customizations()
	if err != nil {
		return false
	}
	clusters := slices.Collect(maps.Keys(facts.Objects))
	works, err := findEach[workv1alpha1.Work](s, clusters, s.work)
	if err != nil {
		return false
	}
	objects := make(map[string][]byte, len(clusters))
	for _, cluster := range clusters {
		objects[cluster] = s.loader.objects[s.in(cluster)].text
	}
	drifted, err := status.Drifted(facts, works, objects, customizations)
	return err == nil && drifted
}

// findEach looks for an object of each cluster.
func findEach[T any](s *source, clusters []string, key func(cluster string) projection.ResourceKey) (map[string]*T, error) {
	all := make(map[string]*T, len(clusters))
	for _, cluster := range clusters {
		o, err := find[T](s, key(cluster))
		if err != nil {
			return nil, err
		}
		if o != nil {
			all[cluster] = o
		}
	}
	return all, nil
}
