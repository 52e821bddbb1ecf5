package specs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/index"
)

// Changes creates, changes and deletes the objects of one kind. T is the kind as it is read, S its spec.
type Changes[T, S any] struct {
	Writer *write.Writer
	Kind   write.Kind
	Make   func(instance string, o *index.Object, fresh freshness.Freshness) (*T, error)
	// Contradictions are what no version of Karmada could mean by a spec; nil for kinds without.
	Contradictions func(spec *S) []apierror.Field
	// Clusters are those that a spec names; nil for kinds that name none.
	Clusters func(spec *S) []NamedCluster
	// Use returns the objects that use an object, as the instance itself has them; nil for kinds that nothing uses.
	Use func(ctx context.Context, site *write.Site, of *unstructured.Unstructured) (*Use, error)
	// Expect refuses a change that would not do what a preview says; nil for kinds without preview.
	Expect Expect[S]
}

// Expect refuses a change of an object that would not do what the preview with a fingerprint says. A nil spec
// leaves that of the object as it is.
type Expect[S any] func(ctx context.Context, verb authz.Verb, instance, namespace, name string, spec *S, fingerprint string) error

// expected checks the fingerprint of an input, if it has one.
func (c *Changes[T, S]) expected(ctx context.Context, verb authz.Verb, instance, namespace, name string, spec *S, fingerprint *string) error {
	if fingerprint == nil || c.Expect == nil {
		return nil
	}
	return c.Expect(ctx, verb, instance, namespace, name, spec, *fingerprint)
}

// paths are the inputs that the fields of an object come from. Kubernetes names
// metadata.labels as a whole when one label is wrong.
var paths = write.Paths{
	"": "input", "spec": "input.spec", "metadata.name": "input.name", "metadata.namespace": "input.namespace",
	"metadata.resourceVersion": "input.resourceVersion", "metadata.labels": "input.labels!", "metadata.annotations": "input.annotations!",
}

// site finds the instance, and whether the caller may do this there. What it
// refuses of the names would otherwise become part of a path.
func (c *Changes[T, S]) site(ctx context.Context, verb authz.Verb, instance, namespace, name string) (*write.Site, error) {
	site, err := c.Writer.To(ctx, instance)
	if err != nil {
		return nil, err
	}
	if c.Kind.Namespaced && namespace == "" {
		return nil, apierror.Invalid("input.namespace", "a %s is in a namespace: say which", c.Kind.Kind)
	}
	if err := write.CheckNamespace(namespace, "input.namespace"); err != nil {
		return nil, err
	}
	if err := site.Permit(ctx, verb, namespace); err != nil {
		return nil, err
	}
	return site, write.CheckName(name, "input.name")
}

// Create creates an object.
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
	out, err := site.Create(ctx, c.Kind, u, write.Options{DryRun: in.DryRun, Paths: paths})
	if err != nil {
		return nil, err
	}
	return c.written(ctx, in.Instance, out, c.warnOfClusters(ctx, site, &in.Spec))
}

// draft is the object that an input describes.
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
	u.SetGroupVersionKind(c.Kind.GVK())
	u.SetNamespace(in.Namespace)
	u.SetName(in.Name)
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u, c.say(u, &in.Spec)
}

// Update changes an object.
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
	u, err := site.Get(ctx, c.Kind, in.Namespace, in.Name, paths)
	if apierror.Is(err, apierror.CodeNotFound) {
		missing := &unstructured.Unstructured{}
		missing.SetGroupVersionKind(c.Kind.GVK())
		missing.SetNamespace(in.Namespace)
		missing.SetName(in.Name)
		missing.SetResourceVersion(in.ResourceVersion)
		_, refused := site.Update(ctx, c.Kind, missing, write.Options{DryRun: true, Paths: paths})
		return nil, forbiddenOr(refused, err)
	}
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
	out, err := site.Update(ctx, c.Kind, u, write.Options{DryRun: in.DryRun, Paths: paths})
	if err != nil {
		return nil, err
	}
	var warnings []write.Warning
	if in.Spec != nil {
		warnings = append(notKept(before, storedSpec(out.Stored()), in.Sent), c.warnOfClusters(ctx, site, in.Spec)...)
	}
	return c.written(ctx, in.Instance, out, warnings)
}

// Delete deletes an object that is not used, or that may be in use.
func (c *Changes[T, S]) Delete(ctx context.Context, in DeleteInput) (*Deleted[T], error) {
	site, err := c.site(ctx, authz.VerbDelete, in.Instance, in.Namespace, in.Name)
	if err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(in.ResourceVersion, nil); err != nil {
		return nil, err
	}
	now, err := site.Get(ctx, c.Kind, in.Namespace, in.Name, paths)
	if apierror.Is(err, apierror.CodeNotFound) {
		_, refused := site.Delete(ctx, c.Kind, in.Namespace, in.Name, write.Deletion{}, write.Options{DryRun: true, Paths: paths})
		return nil, forbiddenOr(refused, err)
	}
	if err != nil {
		return nil, err
	}
	// The object that was looked at is deleted, and no other one that has its name by then.
	deletion := write.Deletion{UID: string(now.GetUID())}
	if in.ResourceVersion != nil {
		if err := c.unmoved(now, *in.ResourceVersion); err != nil {
			return nil, apierror.In(err, in.Instance)
		}
		deletion.ResourceVersion = *in.ResourceVersion
	}
	use, err := c.used(ctx, site, now)
	if err != nil {
		return nil, err
	}
	if (use.Count > 0 || use.More) && !in.AllowInUse {
		return nil, apierror.In(inUse(now, use), in.Instance)
	}
	if err := c.expected(ctx, authz.VerbDelete, in.Instance, in.Namespace, in.Name, nil, in.Expect); err != nil {
		return nil, err
	}
	out, err := site.Delete(ctx, c.Kind, in.Namespace, in.Name, deletion, write.Options{DryRun: in.DryRun, Paths: paths})
	if err != nil {
		return nil, err
	}
	deleted := &Deleted[T]{UsedBy: use, ConsistencyToken: c.Writer.Token(ctx, out)}
	if out.Object != nil {
		deleted.Object, err = c.Make(in.Instance, out.Object, freshness.Freshness{})
	}
	return deleted, err
}

// forbiddenOr returns the refusal of a dry run that the caller's roles do not allow, and missing otherwise: the change of
// an object that is missing is FORBIDDEN to those who may read the kind and not change it, as the change of any other.
func forbiddenOr(refused, missing error) error {
	if apierror.Is(refused, apierror.CodeForbidden) {
		return refused
	}
	return missing
}

// used returns the objects that use an object.
func (c *Changes[T, S]) used(ctx context.Context, site *write.Site, of *unstructured.Unstructured) (*Use, error) {
	if c.Use == nil {
		return &Use{}, nil
	}
	return c.Use(ctx, site, of)
}

// say puts a spec into an object.
func (c *Changes[T, S]) say(u *unstructured.Unstructured, spec *S) error {
	if c.Contradictions != nil {
		if wrong := c.Contradictions(spec); len(wrong) > 0 {
			return invalid(wrong)
		}
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

// storedSpec is the spec of an object as the instance has it.
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
	p, err := c.Make(instance, out.Object, freshness.Freshness{})
	if err != nil {
		return nil, err
	}
	return &Written[T]{Object: p, Warnings: warnings, ConsistencyToken: c.Writer.Token(ctx, out)}, nil
}

// replaced are labels or annotations in the place of others. Karmada's own stay
// unless they are given: by them it knows what a policy has claimed.
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

// inUse returns the error that names the objects which keep an object from being deleted.
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

// invalid is the error of some inputs, of which there is at least one.
func invalid(wrong []apierror.Field) *apierror.Error {
	e := apierror.Invalid(wrong[0].Argument, "%s", wrong[0].Message)
	if len(wrong) > 1 {
		e.Message = fmt.Sprintf("%s (and %d more)", wrong[0].Message, len(wrong)-1)
	}
	e.Fields = wrong
	return e
}
