package workload

import (
	"context"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/index"
)

// Templates follows a template of any kind to what Karmada records of it: the policy that claimed
// it, its binding, and what its Works say was overridden.
type Templates struct {
	reader index.Reader
}

// NewTemplates makes Templates, which see as much as the reader does.
func NewTemplates(reader index.Reader) Templates { return Templates{reader: reader} }

// Policy returns so much of the policy that claimed a template; nil when none did.
func (t Templates) Policy(ctx context.Context, of *object.Object, detail index.Detail) (policy.PropagationPolicyLike, error) {
	ref := PolicyRefOf(&of.Indexed.Meta)
	if ref == nil {
		return nil, nil //nolint:nilnil // A template without policy has null there.
	}
	o, err := index.Find(ctx, t.reader, policyKey(of.Indexed.Cluster, ref), detail)
	if err != nil || o == nil {
		return nil, apierror.In(err, of.Instance)
	}
	return policy.NewPropagation(of.Instance, o, of.Fresh)
}

// Binding returns Karmada's record of where a template goes; nil when there is none.
func (t Templates) Binding(ctx context.Context, of *object.Object) (*binding.Binding, error) {
	o, err := index.Find(ctx, t.reader, bindingKey(of.Indexed), index.Whole)
	if err != nil || o == nil {
		return nil, apierror.In(err, of.Instance)
	}
	b, err := binding.New(of.Instance, o, of.Fresh)
	if err != nil {
		return nil, err
	}
	if !boundTo(b.Karmada(), of) {
		return nil, nil //nolint:nilnil // It is another template's.
	}
	return b, nil
}

// boundTo reports whether a binding is that of a template. Kinds that differ only in group share the names of their
// bindings, and so do names that differ only in case.
func boundTo(b *workv1alpha2.ResourceBinding, of *object.Object) bool {
	r := &b.Spec.Resource
	bound, asked := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind(), schema.FromAPIVersionAndKind(of.APIVersion(), of.ObjectKind()).GroupKind()
	return bound == asked && r.Name == of.Name()
}

// TemplateNeeds are what will be asked of templates.
type TemplateNeeds struct {
	// Policy asks for so much of the policies that claimed them.
	Policy       bool
	PolicyDetail index.Detail
	// Binding asks for their bindings, MemberClusters for the clusters that these name, Overrides for what was
	// overridden there.
	Binding, MemberClusters, Overrides bool
	// OverridePolicies asks for so much of the policies that did it.
	OverridePolicies bool
	OverrideDetail   index.Detail
}

// Prefetch starts reading what will be asked of some templates, each kind of it for all of them at once.
func (t Templates) Prefetch(ctx context.Context, rows []*index.Object, needs TemplateNeeds) {
	keys := map[index.Detail][]index.Key{}
	var bindings []index.Key
	templates := make(map[index.Key]*index.Object, len(rows))
	for _, row := range rows {
		if ref := PolicyRefOf(&row.Meta); ref != nil && needs.Policy {
			keys[needs.PolicyDetail] = append(keys[needs.PolicyDetail], policyKey(row.Cluster, ref))
		}
		key := bindingKey(row)
		templates[key] = row
		bindings = append(bindings, key)
	}
	for detail, policies := range keys {
		t.reader.Prefetch(ctx, policies, detail, nil)
	}
	if needs.Binding {
		t.reader.Prefetch(ctx, bindings, index.Whole, func(found map[index.Key]*index.Object) { t.prefetchPlaces(ctx, templates, found, needs) })
	}
}

// prefetchPlaces goes on with the clusters that the bindings of templates name.
func (t Templates) prefetchPlaces(ctx context.Context, templates, bindings map[index.Key]*index.Object, needs TemplateNeeds) {
	var members, works []index.Key
	workOf := map[index.Key]*index.Object{}
	for key, o := range bindings {
		row := templates[key]
		b, err := decodeBinding(o)
		if err != nil || row == nil {
			continue // Its field says what is wrong with it.
		}
		for _, cluster := range binding.ClustersOf(b) {
			members = append(members, index.Key{Cluster: row.Cluster, Type: index.MemberClusters, Name: cluster})
			work := workKey(row, cluster)
			works, workOf[work] = append(works, work), row
		}
	}
	if needs.MemberClusters && len(members) > 0 {
		t.reader.Prefetch(ctx, members, index.Whole, nil)
	}
	if !needs.Overrides || len(works) == 0 {
		return
	}
	t.reader.Prefetch(ctx, works, index.Metadata, func(found map[index.Key]*index.Object) {
		if !needs.OverridePolicies {
			return
		}
		policies := overrideKeys(found, func(work index.Key) string { return workOf[work].Meta.Namespace })
		if len(policies) > 0 {
			t.reader.Prefetch(ctx, policies, needs.OverrideDetail, nil)
		}
	})
}

// Override is an override policy at work on one template in one cluster.
type Override struct {
	AppliedOverride
	template *object.Object
	key      index.Key
}

// PolicyNamespace is the namespace of the policy; nil for a ClusterOverridePolicy.
func (o *Override) PolicyNamespace() *string {
	if o.ClusterScoped {
		return nil
	}
	return &o.key.Namespace
}

// Overrides returns what was overridden of a template for a cluster.
func (t Templates) Overrides(ctx context.Context, of *object.Object, cluster string) ([]Override, error) {
	work, err := index.Find(ctx, t.reader, workKey(of.Indexed, cluster), index.Metadata)
	if err != nil || work == nil {
		return []Override{}, apierror.In(err, of.Instance)
	}
	applied, err := appliedOverrides(work.Meta.Annotations)
	if err != nil {
		return nil, err
	}
	out := make([]Override, len(applied))
	for i, a := range applied {
		out[i] = Override{AppliedOverride: a, template: of, key: overrideKey(of.Indexed.Cluster, of.Namespace(), a)}
	}
	return out, nil
}

// OverridePolicy returns so much of the policy of an override; nil when it was deleted since.
func (t Templates) OverridePolicy(ctx context.Context, o *Override, detail index.Detail) (policy.OverridePolicyLike, error) {
	found, err := index.Find(ctx, t.reader, o.key, detail)
	if err != nil || found == nil {
		return nil, apierror.In(err, o.template.Instance)
	}
	return policy.NewOverride(o.template.Instance, found, o.template.Fresh)
}

// OverridePolicies returns so much of the override policies that were applied to a template in at
// least one of some clusters, each once.
func (t Templates) OverridePolicies(ctx context.Context, of *object.Object, clusters []string, detail index.Detail) ([]policy.OverridePolicyLike, error) {
	overrides, err := forEachCluster(clusters, func(cluster string) (*[]Override, error) {
		found, err := t.Overrides(ctx, of, cluster)
		return &found, err
	})
	if err != nil {
		return nil, err
	}
	found := []policy.OverridePolicyLike{}
	seen := map[index.Key]bool{}
	for _, cluster := range clusters {
		for i := range *overrides[cluster] {
			o := &(*overrides[cluster])[i]
			if seen[o.key] {
				continue
			}
			seen[o.key] = true
			like, err := t.OverridePolicy(ctx, o, detail)
			if err != nil {
				return nil, err
			}
			if like != nil {
				found = append(found, like)
			}
		}
	}
	return found, nil
}
