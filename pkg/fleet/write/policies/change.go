package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/index"
)

// Changes creates, changes and deletes the policies of one kind. T is the kind as
// it is read, S its spec.
type Changes[T, S any] struct {
	writer *write.Writer
	kind   write.Kind
	make   func(instance string, o *index.Object, fresh freshness.Freshness) (*T, error)
	// contradictions are what no version of Karmada could mean by a spec.
	contradictions func(spec *S) []apierror.Field
	// clusters are those that a spec names.
	clusters func(spec *S) []namedCluster
	// use returns the objects that use a policy, as the instance itself has them.
	use func(ctx context.Context, site *write.Site, of *unstructured.Unstructured) (*Use, error)
	// expect refuses a change that would not do what a preview says; nil for kinds without preview.
	expect Expect[S]
}

// Expect refuses a change of a policy that would not do what the preview with a fingerprint says. A nil spec
// leaves that of the policy as it is.
type Expect[S any] func(ctx context.Context, verb authz.Verb, instance, namespace, name string, spec *S, fingerprint string) error

// ExpectPropagation sets how the mutations of propagation policies check what they are expected to do.
func (w *Writes) ExpectPropagation(expect Expect[policyv1alpha1.PropagationSpec]) {
	w.Propagation.expect, w.ClusterPropagation.expect = expect, expect
}

// ExpectOverride sets the same for the mutations of override policies.
func (w *Writes) ExpectOverride(expect Expect[policyv1alpha1.OverrideSpec]) {
	w.Override.expect, w.ClusterOverride.expect = expect, expect
}

// expected checks the fingerprint of an input, if it has one.
func (c *Changes[T, S]) expected(ctx context.Context, verb authz.Verb, instance, namespace, name string, spec *S, fingerprint *string) error {
	if fingerprint == nil || c.expect == nil {
		return nil
	}
	return c.expect(ctx, verb, instance, namespace, name, spec, *fingerprint)
}

// Writes changes the policies of all kinds.
type Writes struct {
	Propagation        *Changes[policy.PropagationPolicy, policyv1alpha1.PropagationSpec]
	ClusterPropagation *Changes[policy.ClusterPropagationPolicy, policyv1alpha1.PropagationSpec]
	Override           *Changes[policy.OverridePolicy, policyv1alpha1.OverrideSpec]
	ClusterOverride    *Changes[policy.ClusterOverridePolicy, policyv1alpha1.OverrideSpec]
}

// NewWrites makes a Writes.
func NewWrites(w *write.Writer) *Writes {
	return &Writes{
		Propagation: &Changes[policy.PropagationPolicy, policyv1alpha1.PropagationSpec]{
			w, kindOf(index.PropagationPolicies, true), policy.NewPropagationPolicy, propagationContradictions, propagationClusters, propagationUse, nil,
		},
		ClusterPropagation: &Changes[policy.ClusterPropagationPolicy, policyv1alpha1.PropagationSpec]{
			w, kindOf(index.ClusterPropagationPolicies, false), policy.NewClusterPropagationPolicy, propagationContradictions, propagationClusters, propagationUse, nil,
		},
		Override: &Changes[policy.OverridePolicy, policyv1alpha1.OverrideSpec]{
			w, kindOf(index.OverridePolicies, true), policy.NewOverridePolicy, overrideContradictions, overrideClusters, overrideUse, nil,
		},
		ClusterOverride: &Changes[policy.ClusterOverridePolicy, policyv1alpha1.OverrideSpec]{
			w, kindOf(index.ClusterOverridePolicies, false), policy.NewClusterOverridePolicy, overrideContradictions, overrideClusters, overrideUse, nil,
		},
	}
}

func kindOf(t index.Type, namespaced bool) write.Kind {
	return write.Kind{
		GroupVersionResource: schema.GroupVersion(policyv1alpha1.GroupVersion).WithResource(t.Resource), Kind: t.Kind, Namespaced: namespaced,
	}
}

// paths are the inputs that the fields of a policy come from. Kubernetes names
// metadata.labels as a whole when one label is wrong.
var paths = write.Paths{
	"": "input", "spec": "input.spec", "metadata.name": "input.name", "metadata.namespace": "input.namespace",
	"metadata.resourceVersion": "input.resourceVersion", "metadata.labels": "input.labels!", "metadata.annotations": "input.annotations!",
}

// site finds the instance, and whether the caller may do this there. What it
// refuses of the names would otherwise become part of a path.
func (c *Changes[T, S]) site(ctx context.Context, verb authz.Verb, instance, namespace, name string) (*write.Site, error) {
	site, err := c.writer.To(ctx, instance)
	if err != nil {
		return nil, err
	}
	if c.kind.Namespaced && namespace == "" {
		return nil, apierror.Invalid("input.namespace", "a %s is in a namespace: say which", c.kind.Kind)
	}
	if err := write.CheckNamespace(namespace, "input.namespace"); err != nil {
		return nil, err
	}
	if err := site.Permit(ctx, verb, namespace); err != nil {
		return nil, err
	}
	return site, write.CheckName(name, "input.name")
}

// Create creates a policy.
func (c *Changes[T, S]) Create(ctx context.Context, in CreateInput[S]) (*Written[T], error) {
	site, err := c.site(ctx, authz.VerbCreate, in.Instance, in.Namespace, in.Name)
	if err != nil {
		return nil, err
	}
	u, err := c.draft(in)
	if err != nil {
		return nil, err
	}
	if err := c.expected(ctx, authz.VerbCreate, in.Instance, in.Namespace, in.Name, &in.Spec, in.Expect); err != nil {
		return nil, err
	}
	out, err := site.Create(ctx, c.kind, u, write.Options{DryRun: in.DryRun, Paths: paths})
	if err != nil {
		return nil, err
	}
	return c.written(ctx, in.Instance, out, c.warnOfClusters(ctx, site, &in.Spec))
}

// draft is the policy that an input says.
func (c *Changes[T, S]) draft(in CreateInput[S]) (*unstructured.Unstructured, error) {
	labels, err := write.Map(in.Labels, "input.labels")
	if err != nil {
		return nil, err
	}
	annotations, err := write.Map(in.Annotations, "input.annotations")
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(c.kind.GVK())
	u.SetNamespace(in.Namespace)
	u.SetName(in.Name)
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u, c.say(u, &in.Spec)
}

// Update changes a policy.
func (c *Changes[T, S]) Update(ctx context.Context, in UpdateInput[S]) (*Written[T], error) {
	site, err := c.site(ctx, authz.VerbUpdate, in.Instance, in.Namespace, in.Name)
	if err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(&in.ResourceVersion, nil); err != nil {
		return nil, err
	}
	labels, err := write.Map(in.Labels, "input.labels")
	if err != nil {
		return nil, err
	}
	annotations, err := write.Map(in.Annotations, "input.annotations")
	if err != nil {
		return nil, err
	}
	// Fields that the input omits, such as Karmada's finalizer, keep their current values.
	u, err := site.Get(ctx, c.kind, in.Namespace, in.Name, paths)
	if err != nil {
		return nil, err
	}
	if err := c.unmoved(u, in.ResourceVersion); err != nil {
		return nil, apierror.In(err, in.Instance)
	}
	if labels != nil {
		u.SetLabels(replaced(u.GetLabels(), labels))
	}
	if annotations != nil {
		u.SetAnnotations(replaced(u.GetAnnotations(), annotations))
	}
	before := storedSpec(u)
	if in.Spec != nil {
		if err := c.say(u, in.Spec); err != nil {
			return nil, err
		}
	}
	u.SetManagedFields(nil)
	if err := c.expected(ctx, authz.VerbUpdate, in.Instance, in.Namespace, in.Name, in.Spec, in.Expect); err != nil {
		return nil, err
	}
	out, err := site.Update(ctx, c.kind, u, write.Options{DryRun: in.DryRun, Paths: paths})
	if err != nil {
		return nil, err
	}
	var warnings []write.Warning
	if in.Spec != nil {
		warnings = append(notKept(before, storedSpec(out.Stored()), in.Sent), c.warnOfClusters(ctx, site, in.Spec)...)
	}
	return c.written(ctx, in.Instance, out, warnings)
}

// Delete deletes a policy that is not used, or that may be in use.
func (c *Changes[T, S]) Delete(ctx context.Context, in DeleteInput) (*Deleted[T], error) {
	site, err := c.site(ctx, authz.VerbDelete, in.Instance, in.Namespace, in.Name)
	if err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(in.ResourceVersion, nil); err != nil {
		return nil, err
	}
	now, err := site.Get(ctx, c.kind, in.Namespace, in.Name, paths)
	if err != nil {
		return nil, err
	}
	// The policy that was looked at is deleted, and no other one that has its name by then.
	deletion := write.Deletion{UID: string(now.GetUID())}
	if in.ResourceVersion != nil {
		if err := c.unmoved(now, *in.ResourceVersion); err != nil {
			return nil, apierror.In(err, in.Instance)
		}
		deletion.ResourceVersion = *in.ResourceVersion
	}
	use, err := c.use(ctx, site, now)
	if err != nil {
		return nil, err
	}
	if (use.Count > 0 || use.More) && !in.AllowInUse {
		return nil, apierror.In(inUse(now, use), in.Instance)
	}
	if err := c.expected(ctx, authz.VerbDelete, in.Instance, in.Namespace, in.Name, nil, in.Expect); err != nil {
		return nil, err
	}
	out, err := site.Delete(ctx, c.kind, in.Namespace, in.Name, deletion, write.Options{DryRun: in.DryRun, Paths: paths})
	if err != nil {
		return nil, err
	}
	deleted := &Deleted[T]{UsedBy: use, ConsistencyToken: c.writer.Token(ctx, out)}
	if out.Object != nil {
		deleted.Policy, err = c.make(in.Instance, out.Object, freshness.Freshness{})
	}
	return deleted, err
}

// say puts a spec into a policy.
func (c *Changes[T, S]) say(u *unstructured.Unstructured, spec *S) error {
	if wrong := c.contradictions(spec); len(wrong) > 0 {
		return invalid(wrong)
	}
	canonical, err := Canonical(*spec)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(canonical)
	if err != nil {
		return fmt.Errorf("encoding a spec: %w", err)
	}
	said := map[string]any{}
	// Unlike encoding/json, it keeps integers whole, however large.
	if err := utiljson.Unmarshal(raw, &said); err != nil {
		return fmt.Errorf("decoding a spec: %w", err)
	}
	u.Object["spec"] = said
	return nil
}

// storedSpec is the spec of a policy as the instance has it.
func storedSpec(u *unstructured.Unstructured) map[string]any {
	spec, _ := u.Object["spec"].(map[string]any)
	return spec
}

// unmoved refuses a change that is based on another version than the one that is there.
func (c *Changes[T, S]) unmoved(now *unstructured.Unstructured, version string) error {
	if now.GetResourceVersion() == version {
		return nil
	}
	e := apierror.New(apierror.CodeConflict, "%s is at resourceVersion %s now, not %q; read it again and repeat the change",
		described(now), now.GetResourceVersion(), version)
	e.Argument, e.CurrentVersion = "input.resourceVersion", now.GetResourceVersion()
	return e
}

func (c *Changes[T, S]) written(ctx context.Context, instance string, out *write.Outcome, warnings []write.Warning) (*Written[T], error) {
	p, err := c.make(instance, out.Object, freshness.Freshness{})
	if err != nil {
		return nil, err
	}
	return &Written[T]{Policy: p, Warnings: warnings, ConsistencyToken: c.writer.Token(ctx, out)}, nil
}

// replaced are labels or annotations in the place of others. Karmada's own stay
// unless they are given: by them it knows what the policy has claimed.
func replaced(from, to map[string]string) map[string]string {
	out := make(map[string]string, len(to))
	for key, value := range from {
		if karmadas(key) {
			out[key] = value
		}
	}
	maps.Copy(out, to)
	return out
}

func karmadas(key string) bool {
	domain, _, prefixed := strings.Cut(key, "/")
	return prefixed && (domain == "karmada.io" || strings.HasSuffix(domain, ".karmada.io"))
}

func described(u *unstructured.Unstructured) string {
	name := u.GetName()
	if u.GetNamespace() != "" {
		name = u.GetNamespace() + "/" + name
	}
	return fmt.Sprintf("%s %q", u.GetKind(), name)
}

// inUse returns the error that names the objects which keep a policy from being deleted.
func inUse(u *unstructured.Unstructured, use *Use) error {
	names := make([]string, 0, len(use.Users)+1)
	for _, user := range use.Users {
		names = append(names, user.String())
	}
	by := fmt.Sprint(use.Count)
	if use.More {
		by = "at least " + by
	}
	if use.Count > len(use.Users) || use.More {
		names = append(names, "and others")
	}
	e := apierror.New(apierror.CodeConflict, "%s is in use by %s: %s. Set allowInUse to delete it nevertheless",
		described(u), by, strings.Join(names, ", "))
	e.Argument, e.CurrentVersion = "input.allowInUse", u.GetResourceVersion()
	return e
}
