package preview

import (
	"context"
	"errors"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/names"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/uncollected"
	"github.com/kairship-io/kairship/pkg/fleet/whatif"
	"github.com/kairship-io/kairship/pkg/index"
)

const (
	// mostObjects is how many objects of one kind a preview reads.
	mostObjects = 5000
	// mostBindings is how many bindings the preview of a loss reads: all of the instance.
	mostBindings = 20000
)

// reading reads what of an instance a preview computes with.
type reading struct {
	*Service

	ctx      context.Context //nolint:containedctx // of one preview, which it does not outlive
	instance string
	world    whatif.World
	// missing are the kinds that the instance does not serve.
	missing []string
	fresh   freshness.Freshness
}

// all returns all objects of a kind as the type that the index collects them in.
func (r *reading) all(from *resource.Service, of schema.GroupVersionResource, f *resource.Filter, detail index.Detail, most int) ([]*index.Object, error) {
	found, fresh, err := from.All(r.ctx, r.instance, of, f, detail, most)
	if errors.Is(err, listing.ErrTooMany) {
		return nil, apierror.In(apierror.Invalid("input", "instance %q has more than %d %s to look at; a preview reads no more", r.instance, most, of.Resource), r.instance)
	}
	if fresh.Stale || r.fresh.ObservedAt == nil {
		r.fresh = fresh
	}
	return found, err
}

// decoded returns all objects of a kind as Karmada's type.
func decoded[T any](r *reading, from *resource.Service, of schema.GroupVersionResource, f *resource.Filter, most int) ([]*T, error) {
	objects, err := r.all(from, of, f, index.Whole, most)
	if err != nil {
		return nil, err
	}
	out := make([]*T, len(objects))
	for i, o := range objects {
		if out[i], err = index.Decode[T](o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// clusters reads the member clusters.
func (r *reading) clusters() (err error) {
	r.world.Clusters, err = decoded[clusterv1alpha1.Cluster](r, r.Evidence, index.MemberClusters.GroupVersionResource(), nil, mostObjects)
	return err
}

// policies reads the propagation policies of both kinds, those in one namespace where it is not empty, and the
// names of the override policies that they wait for.
func (r *reading) policies(namespace string) error {
	pps, err := decoded[policyv1alpha1.PropagationPolicy](r, r.Evidence, index.PropagationPolicies.GroupVersionResource(), in(namespace), mostObjects)
	if err != nil {
		return err
	}
	cpps, err := decoded[policyv1alpha1.ClusterPropagationPolicy](r, r.Evidence, index.ClusterPropagationPolicies.GroupVersionResource(), nil, mostObjects)
	if err != nil {
		return err
	}
	for _, p := range pps {
		r.world.Policies = append(r.world.Policies, &whatif.Policy{ObjectMeta: p.ObjectMeta, Spec: p.Spec})
	}
	for _, p := range cpps {
		r.world.Policies = append(r.world.Policies, &whatif.Policy{ObjectMeta: p.ObjectMeta, Spec: p.Spec})
	}
	return nil
}

// overrides reads the names of the override policies, if a policy waits for some.
func (r *reading) overrides(c whatif.Change) error {
	waits := func(p *whatif.Policy) bool { return p != nil && len(p.Spec.DependentOverrides) > 0 }
	if !waits(c.After) && !slices.ContainsFunc(r.world.Policies, waits) {
		return nil
	}
	for _, of := range []index.Type{index.OverridePolicies, index.ClusterOverridePolicies} {
		found, err := r.all(r.Evidence, of.GroupVersionResource(), nil, index.Metadata, mostObjects)
		if err != nil {
			return err
		}
		for _, o := range found {
			meta := metav1.ObjectMeta{Namespace: o.Meta.Namespace, Name: o.Meta.Name}
			if meta.Namespace == "" {
				r.world.Overrides = append(r.world.Overrides, &policyv1alpha1.ClusterOverridePolicy{ObjectMeta: meta})
			} else {
				r.world.Overrides = append(r.world.Overrides, &policyv1alpha1.OverridePolicy{ObjectMeta: meta})
			}
		}
	}
	return nil
}

// templates reads the objects that a change may concern: of the kinds that the policy selects before or after.
func (r *reading) templates(c whatif.Change) error {
	byKind := map[schema.GroupVersionKind][]policyv1alpha1.ResourceSelector{}
	var kinds []schema.GroupVersionKind
	for _, p := range []*whatif.Policy{c.Before, c.After} {
		if p == nil {
			continue
		}
		for _, s := range p.Spec.ResourceSelectors {
			gvk := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
			if byKind[gvk] == nil {
				kinds = append(kinds, gvk)
			}
			byKind[gvk] = append(byKind[gvk], s)
		}
	}
	for _, gvk := range kinds {
		of, err := r.Resources.ResourceOf(r.ctx, r.instance, gvk)
		if apierror.Is(err, apierror.CodeInstanceUnavailable) {
			r.missing = append(r.missing, gvk.Kind+" of "+gvk.GroupVersion().String())
			continue
		}
		if err != nil {
			return err
		}
		detail := index.Metadata
		if whatif.NeedsSpec(gvk) {
			detail = index.Whole
		}
		found, err := r.all(r.Resources, of, filterOf(c, byKind[gvk]), detail, mostObjects)
		if err != nil {
			return err
		}
		for _, o := range found {
			if t, err := templateOf(o, gvk); err != nil {
				return err
			} else if concerns(c, t) {
				r.world.Templates = append(r.world.Templates, t)
			}
		}
	}
	return nil
}

// filterOf narrows what is read of a kind as far as its selectors do.
func filterOf(c whatif.Change, selectors []policyv1alpha1.ResourceSelector) *resource.Filter {
	f, named := in(c.Ref().Namespace), c.Before == nil
	var spaces, all []string
	for _, s := range selectors {
		named = named && s.Name != ""
		spaces, all = append(spaces, s.Namespace), append(all, s.Name)
	}
	if named {
		f.Name = all
	}
	if len(f.Namespaces) == 0 && !slices.Contains(spaces, "") {
		f.Namespaces = spaces
	}
	return f
}

// concerns reports whether a change may concern an object.
func concerns(c whatif.Change, t *unstructured.Unstructured) bool {
	return c.After != nil && c.After.Selects(t) || c.Before != nil && c.Before.Claims(t)
}

// templateOf is an object as a template; with its metadata alone where no more was read.
func templateOf(o *index.Object, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	t := &unstructured.Unstructured{Object: map[string]any{}}
	if o.Whole() {
		manifest, err := o.Manifest()
		if err != nil {
			return nil, err
		}
		t.Object = manifest
	}
	t.SetGroupVersionKind(gvk)
	t.SetNamespace(o.Meta.Namespace)
	t.SetName(o.Meta.Name)
	t.SetUID(o.Meta.UID)
	t.SetResourceVersion(o.Meta.ResourceVersion)
	t.SetLabels(o.Meta.Labels)
	t.SetAnnotations(o.Meta.Annotations)
	t.SetDeletionTimestamp(o.Meta.DeletionTimestamp)
	return t, nil
}

// bindings reads the bindings of the templates.
func (r *reading) bindings() (err error) {
	wanted := make([]object.Name, len(r.world.Templates))
	for i, t := range r.world.Templates {
		wanted[i] = object.Name{Instance: r.instance, Namespace: t.GetNamespace(), Name: names.GenerateBindingName(t.GetKind(), t.GetName())}
	}
	r.world.Bindings, err = r.Bindings.Named(r.ctx, r.instance, wanted)
	return err
}

// allBindings reads all bindings of the instance.
func (r *reading) allBindings() error {
	for _, of := range []index.Type{index.ResourceBindings, index.ClusterResourceBindings} {
		// Both kinds have the same fields.
		found, err := decoded[workv1alpha2.ResourceBinding](r, r.Resources, of.GroupVersionResource(), nil, mostBindings)
		if err != nil {
			return err
		}
		r.world.Bindings = append(r.world.Bindings, found...)
	}
	return nil
}

// taintPolicies reads the ClusterTaintPolicies; an older Karmada has none.
func (r *reading) taintPolicies() (err error) {
	of := schema.GroupVersion(policyv1alpha1.GroupVersion).WithResource("clustertaintpolicies")
	r.world.TaintPolicies, err = decoded[policyv1alpha1.ClusterTaintPolicy](r, r.Resources, of, nil, mostObjects)
	if errors.Is(err, uncollected.ErrNotServed) {
		return nil
	}
	return err
}

// unserved is the assumption about kinds that the instance does not serve.
func (r *reading) unserved() []string {
	if len(r.missing) == 0 {
		return nil
	}
	slices.Sort(r.missing)
	return []string{"The instance does not serve " + strings.Join(r.missing, ", ") + "."}
}

func in(namespace string) *resource.Filter {
	if namespace == "" {
		return &resource.Filter{}
	}
	return &resource.Filter{Namespaces: []string{namespace}}
}
