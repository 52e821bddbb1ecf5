package manifestpreview

import (
	"context"
	"maps"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/preview"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
	"github.com/kairship-io/kairship/pkg/index"
)

// OverrideInput is a change of an OverridePolicy, or of a ClusterOverridePolicy where Namespace is nil.
type OverrideInput struct {
	Verb      preview.PolicyVerb
	Namespace *string
	Name      string
	// Spec is what the policy is to say; nil for a deletion.
	Spec *policyv1alpha1.OverrideSpec
}

var verbs = map[preview.PolicyVerb]authz.Verb{preview.Create: authz.VerbCreate, preview.Update: authz.VerbUpdate, preview.Delete: authz.VerbDelete}

// Override returns what a change of an override policy would make of the manifests of all templates that the policy
// selects before or after. It refuses what the mutation would refuse.
func (s *Service) Override(ctx context.Context, instance string, in OverrideInput) (*Preview, error) {
	if (in.Spec == nil) != (in.Verb == preview.Delete) {
		return nil, apierror.Invalid("input.spec", "a policy that is created or changed has a spec, and one that is deleted has none")
	}
	return s.override(ctx, instance, verbs[in.Verb], in)
}

// ExpectOverride refuses a change of an override policy that would not do what the preview with a fingerprint says. A
// nil spec leaves that of the policy as it is.
func (s *Service) ExpectOverride(ctx context.Context, verb authz.Verb, instance, namespace, name string, spec *policyv1alpha1.OverrideSpec, fingerprint string) error {
	in := OverrideInput{Name: name, Spec: spec}
	if namespace != "" {
		in.Namespace = &namespace
	}
	p, err := s.override(ctx, instance, verb, in)
	if err == nil && p.Fingerprint != fingerprint {
		err = apierror.In(apierror.At(apierror.New(apierror.CodeConflict,
			"the change would not do any more what was previewed: ask for overridePreview again, and repeat the change with its fingerprint"), "input.expect"), instance)
	}
	return err
}

func (s *Service) override(ctx context.Context, instance string, verb authz.Verb, in OverrideInput) (*Preview, error) {
	attempt := specs.Attempt[policyv1alpha1.OverrideSpec]{Verb: verb, Instance: instance, Name: in.Name, Spec: in.Spec}
	var tried *specs.Tried
	var err error
	if in.Namespace == nil {
		tried, err = s.Policies.ClusterOverride.Try(ctx, attempt)
	} else {
		attempt.Namespace = *in.Namespace
		tried, err = s.Policies.Override.Try(ctx, attempt)
	}
	if err != nil {
		return nil, err
	}
	change, err := changeOf(tried)
	if err != nil {
		return nil, err
	}
	r := s.reading(ctx, instance)
	pairs, err := r.selected(attempt.Namespace, change)
	if err != nil {
		return nil, apierror.In(err, instance)
	}
	namespaces := map[string]bool{}
	for _, p := range pairs {
		namespaces[p.template.GetNamespace()] = true
	}
	before, after, err := r.policies(slices.Sorted(maps.Keys(namespaces)), change)
	if err != nil {
		return nil, apierror.In(err, instance)
	}
	if err := r.compare(pairs, before, after); err != nil {
		return nil, apierror.In(err, instance)
	}
	return r.preview, nil
}

// change is an override policy before and after.
type change struct {
	before, after client.Object
	specs         []*policyv1alpha1.OverrideSpec
}

func changeOf(tried *specs.Tried) (*change, error) {
	c := &change{}
	for _, one := range []struct {
		from *unstructured.Unstructured
		to   *client.Object
	}{{tried.Before, &c.before}, {tried.After, &c.after}} {
		if one.from == nil {
			continue
		}
		namespaced, without := &policyv1alpha1.OverridePolicy{}, &policyv1alpha1.ClusterOverridePolicy{}
		var into any = namespaced
		*one.to = namespaced
		c.specs = append(c.specs, &namespaced.Spec)
		if one.from.GetNamespace() == "" {
			into, *one.to, c.specs[len(c.specs)-1] = without, without, &without.Spec
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(one.from.Object, into); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// maySelect reports whether the policy may select an object, by all but its labels.
func (c *change) maySelect(r *workv1alpha2.ObjectReference) bool {
	return slices.ContainsFunc(c.specs, func(spec *policyv1alpha1.OverrideSpec) bool {
		return len(spec.ResourceSelectors) == 0 || slices.ContainsFunc(spec.ResourceSelectors, func(s policyv1alpha1.ResourceSelector) bool {
			return s.APIVersion == r.APIVersion && s.Kind == r.Kind && (s.Namespace == "" || s.Namespace == r.Namespace) && (s.Name == "" || s.Name == r.Name)
		})
	})
}

// selects reports whether the policy selects a template before or after.
func (c *change) selects(template *unstructured.Unstructured) bool {
	return slices.ContainsFunc(c.specs, func(spec *policyv1alpha1.OverrideSpec) bool {
		return len(spec.ResourceSelectors) == 0 || util.ResourceMatchSelectors(template, spec.ResourceSelectors...)
	})
}

// selected reads the templates that the policy selects and Karmada propagates: the bindings, and then the templates
// of each kind in one request.
func (r *reading) selected(namespace string, c *change) ([]pair, error) {
	f := &resource.Filter{}
	if namespace != "" {
		f.Namespaces = []string{namespace}
	}
	bindings, err := r.all(index.ResourceBindings, f, index.Whole)
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		more, err := r.all(index.ClusterResourceBindings, f, index.Whole)
		if err != nil {
			return nil, err
		}
		bindings = append(bindings, more...)
	}
	byKind := map[schema.GroupVersionKind][]*workv1alpha2.ResourceBinding{}
	for _, o := range bindings {
		b, err := index.Decode[workv1alpha2.ResourceBinding](o) // Both kinds have the same fields.
		if err != nil {
			return nil, err
		}
		of := &b.Spec.Resource
		switch {
		case !c.maySelect(of):
		case of.APIVersion == "v1" && of.Kind == util.SecretKind:
			r.preview.NotCompared++
			r.assumed("Secrets are not compared.")
		default:
			gvk := schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)
			byKind[gvk] = append(byKind[gvk], b)
		}
	}
	kinds := slices.SortedFunc(maps.Keys(byKind), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	var pairs []pair
	for _, gvk := range kinds {
		of, err := r.templates(gvk, byKind[gvk], c)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, of...)
	}
	return pairs, nil
}

// templates reads the templates of some bindings of one kind.
func (r *reading) templates(gvk schema.GroupVersionKind, bindings []*workv1alpha2.ResourceBinding, c *change) ([]pair, error) {
	named := gvk.Kind + " of " + gvk.GroupVersion().String()
	gvr, err := r.Resources.ResourceOf(r.ctx, r.instance, gvk)
	if apierror.Is(err, apierror.CodeInstanceUnavailable) {
		r.preview.NotCompared += len(bindings)
		r.assumed("The instance does not serve " + named + ".")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := &resource.Filter{}
	of := map[[2]string]*workv1alpha2.ResourceBinding{}
	for _, b := range bindings {
		ref := &b.Spec.Resource
		of[[2]string{ref.Namespace, ref.Name}] = b
		if ref.Namespace != "" && !slices.Contains(f.Namespaces, ref.Namespace) {
			f.Namespaces = append(f.Namespaces, ref.Namespace)
		}
	}
	found, err := r.all(index.Type{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Kind: gvk.Kind}, f, index.Whole)
	if apierror.Is(err, apierror.CodeForbidden) {
		r.preview.NotCompared += len(bindings)
		r.assumed("Your roles inside the instance do not let you read " + named + ".")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pairs []pair
	for _, o := range found {
		b := of[[2]string{o.Meta.Namespace, o.Meta.Name}]
		if b == nil || o.Meta.DeletionTimestamp != nil {
			continue
		}
		template, err := whole(o, gvk)
		if err != nil {
			return nil, err
		}
		if c.selects(template) {
			pairs = append(pairs, pair{template: template, binding: b, indexed: true})
		}
	}
	return pairs, nil
}
