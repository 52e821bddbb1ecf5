package policy

import (
	"context"
	"slices"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// Filter says which policies to list.
type Filter struct {
	Name          []string
	NameContains  *string
	Namespaces    []string
	LabelSelector *string
	Selects       *Selects
	Cluster       []string
}

// Selects describes an object that policies may select. What is nil may have any value.
type Selects struct {
	Kind       string
	APIVersion *string
	Namespace  *string
	Name       *string
	Labels     []object.Pair
}

// check refuses what describes no object.
func (f *Filter) check() error {
	if f.Selects != nil && f.Selects.Kind == "" {
		return apierror.Invalid("filter.selects.kind", "Give a kind, for example Deployment")
	}
	return nil
}

// selectOf returns what selects policies by their specs, as a filter says. One list uses it at a time.
func (p *Policies[T]) selectOf(f *Filter) listing.Select {
	members := map[string][]*clusterv1alpha1.Cluster{}
	return func(ctx context.Context, o *index.Object) (bool, error) {
		made, err := p.make(v1alpha1.InstanceOfVirtualCluster(o.Cluster), o, freshness.Freshness{})
		if err != nil {
			return false, err
		}
		policy := any(made).(Any)
		if f.Selects != nil && !f.Selects.selectedBy(policy) {
			return false, nil
		}
		if f.Cluster == nil {
			return true, nil
		}
		clusters, read := members[o.Cluster]
		if !read {
			if clusters, err = p.members(ctx, o.Cluster, f.Cluster); err != nil {
				return false, err
			}
			members[o.Cluster] = clusters
		}
		return slices.ContainsFunc(clusters, func(c *clusterv1alpha1.Cluster) bool { return reaches(policy, c) }), nil
	}
}

// prefetchMembers starts reading the member clusters of the filter in some instances.
func (p *Policies[T]) prefetchMembers(ctx context.Context, instances []string, f *Filter) {
	var keys []index.Key
	for _, instance := range instances {
		for _, name := range f.Cluster {
			keys = append(keys, memberKey(v1alpha1.VirtualClusterName(instance), name))
		}
	}
	if len(keys) > 0 {
		p.lister.Reader.Prefetch(ctx, keys, index.Whole, nil)
	}
}

// members reads some member clusters of an instance. Those that are not joined, or that the caller may
// not read, are missing.
func (p *Policies[T]) members(ctx context.Context, in string, names []string) ([]*clusterv1alpha1.Cluster, error) {
	var found []*clusterv1alpha1.Cluster
	for _, name := range names {
		o, err := p.lister.Reader.Get(ctx, memberKey(in, name), index.Whole)
		if apierror.Is(err, apierror.CodeNotFound) {
			continue
		}
		if err != nil {
			return nil, apierror.In(err, v1alpha1.InstanceOfVirtualCluster(in))
		}
		c, err := index.Decode[clusterv1alpha1.Cluster](o)
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}

func memberKey(in, name string) index.Key {
	return index.Key{Cluster: in, Type: index.MemberClusters, Name: name}
}

// selectedBy reports whether a policy selects such an object. A policy with namespace selects objects
// of this namespace alone, and an override policy without selectors selects all objects.
func (s *Selects) selectedBy(p Any) bool {
	namespace := p.Common().Namespace()
	if namespace != "" && s.Namespace != nil && *s.Namespace != namespace {
		return false
	}
	selectors := selectorsOf(p)
	if _, overrides := p.(OverridePolicyLike); overrides && len(selectors) == 0 {
		return true
	}
	return slices.ContainsFunc(selectors, func(by policyv1alpha1.ResourceSelector) bool {
		object := s.object(namespace, &by)
		if s.Labels == nil {
			by.LabelSelector = nil
		}
		return karmadautil.ResourceMatches(object, by)
	})
}

// object is the object that a selector of a policy in a namespace is to match. It has the selector's
// own values where any would do.
func (s *Selects) object(namespace string, by *policyv1alpha1.ResourceSelector) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetKind(s.Kind)
	o.SetAPIVersion(orElse(s.APIVersion, by.APIVersion))
	o.SetName(orElse(s.Name, by.Name))
	if namespace == "" {
		namespace = by.Namespace
	}
	o.SetNamespace(orElse(s.Namespace, namespace))
	labels := make(map[string]string, len(s.Labels))
	for _, l := range s.Labels {
		labels[l.Key] = l.Value
	}
	o.SetLabels(labels)
	return o
}

func orElse(value *string, other string) string {
	if value == nil {
		return other
	}
	return *value
}

func selectorsOf(p Any) []policyv1alpha1.ResourceSelector {
	switch p := p.(type) {
	case PropagationPolicyLike:
		return p.PropagationSpec().ResourceSelectors
	case OverridePolicyLike:
		return p.OverrideSpec().ResourceSelectors
	}
	return nil
}

// reaches reports whether a propagation policy may send objects to a cluster, or an override policy
// may change what is sent there, by their cluster affinities.
func reaches(p Any, cluster *clusterv1alpha1.Cluster) bool {
	matches := func(a *policyv1alpha1.ClusterAffinity) bool {
		return a == nil || karmadautil.ClusterMatches(cluster, *a)
	}
	switch p := p.(type) {
	case PropagationPolicyLike:
		return slices.ContainsFunc(affinitiesOf(&p.PropagationSpec().Placement), matches)
	case OverridePolicyLike:
		return slices.ContainsFunc(RulesOf(p.OverrideSpec()), func(r policyv1alpha1.RuleWithCluster) bool {
			return ChangesAnything(r.Overriders) && matches(r.TargetCluster)
		})
	}
	return false
}

// affinitiesOf are the cluster affinities of a placement of which a cluster has to match one. Nil
// stands for all clusters.
func affinitiesOf(p *policyv1alpha1.Placement) []*policyv1alpha1.ClusterAffinity {
	if p.ClusterAffinity != nil || len(p.ClusterAffinities) == 0 {
		return []*policyv1alpha1.ClusterAffinity{p.ClusterAffinity}
	}
	var all []*policyv1alpha1.ClusterAffinity
	for i := range p.ClusterAffinities {
		term := &p.ClusterAffinities[i]
		all = append(all, &term.ClusterAffinity)
		for j := range term.OverflowAffinities {
			all = append(all, &term.OverflowAffinities[j].ClusterAffinity)
		}
	}
	return all
}

// RulesOf are the rules of an override policy, also of one that has the older fields.
func RulesOf(spec *policyv1alpha1.OverrideSpec) []policyv1alpha1.RuleWithCluster {
	if len(spec.OverrideRules) > 0 {
		return spec.OverrideRules
	}
	return []policyv1alpha1.RuleWithCluster{{TargetCluster: spec.TargetCluster, Overriders: spec.Overriders}} //nolint:staticcheck // deprecated, and still in use
}

// ChangesAnything reports whether a rule changes an object.
func ChangesAnything(o policyv1alpha1.Overriders) bool {
	return len(o.Plaintext)+len(o.ImageOverrider)+len(o.CommandOverrider)+len(o.ArgsOverrider)+
		len(o.LabelsOverrider)+len(o.AnnotationsOverrider)+len(o.FieldOverrider) > 0
}
