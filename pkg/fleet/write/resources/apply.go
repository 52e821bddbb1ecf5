package resources

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// ApplyInput is the input of applyManifests.
type ApplyInput struct {
	Instance  string
	Manifests string
	// Namespace is for documents that say none.
	Namespace *string
	Force     bool
	DryRun    bool
}

// Action is what became of a document. The values are those of the schema's enum.
type Action string

// The actions.
const (
	ActionCreated    Action = "CREATED"
	ActionConfigured Action = "CONFIGURED"
	ActionUnchanged  Action = "UNCHANGED"
	ActionUnverified Action = "UNVERIFIED"
	ActionFailed     Action = "FAILED"
	ActionSkipped    Action = "SKIPPED"
)

// Result is what became of one document.
type Result struct {
	Document   int
	APIVersion string
	Kind       string
	Namespace  *string
	Name       string
	Action     Action
	Message    *string
	Resource   *resource.Resource
	Error      *write.Problem
}

// ApplyPayload is the answer of applyManifests.
type ApplyPayload struct {
	// Applied tells that every document was applied, or in a dry run could be.
	Applied          bool
	Results          []Result
	ConsistencyToken *string
}

// step is a document on its way.
type step struct {
	document
	result    *Result
	kind      write.Kind
	namespace string
	// waitsFor is what an earlier document of the same call has to make first.
	waitsFor string
	// before is the version that the dry run found.
	before string
	err    error
}

// dryRunsAtOnce is how many dry runs of a call go side by side.
const dryRunsAtOnce = 8

// Apply applies manifests: all of them are checked by a dry run on the instance,
// and only when none is refused is any of them written, in the order in which
// they need each other. The first that fails then ends it; the results say what
// was written.
func (s *Service) Apply(ctx context.Context, in ApplyInput) (*ApplyPayload, error) {
	site, err := s.Writer.To(ctx, in.Instance)
	if err != nil {
		return nil, err
	}
	documents, err := parseDocuments(in.Manifests)
	if err != nil {
		return nil, err
	}
	if in.Namespace != nil {
		if err := write.CheckNamespace(*in.Namespace, "input.namespace"); err != nil {
			return nil, err
		}
	}
	steps, err := s.plan(ctx, site, documents, in)
	if err != nil {
		return nil, err
	}
	if err := s.rehearse(ctx, site, steps, in); err != nil {
		return nil, err
	}
	var outcomes []*write.Outcome
	if !in.DryRun && !failed(steps) {
		if outcomes, err = s.perform(ctx, site, steps, in); err != nil {
			return nil, err
		}
	}
	payload := &ApplyPayload{Applied: !failed(steps), ConsistencyToken: s.Writer.Token(ctx, outcomes...)}
	slices.SortStableFunc(steps, func(a, b *step) int { return cmp.Compare(a.number, b.number) })
	for _, st := range steps {
		if !payload.Applied && st.err == nil && !slices.ContainsFunc(outcomes, func(o *write.Outcome) bool { return wrote(o, st) }) {
			st.result.Action, st.result.Resource = ActionSkipped, nil
			st.result.Message = text("nothing was written of it, because another document failed")
		}
		payload.Results = append(payload.Results, *st.result)
	}
	return payload, nil
}

func wrote(o *write.Outcome, st *step) bool {
	v := o.Version
	return v.GVR() == st.kind.GroupVersionResource && v.Namespace == st.namespace && v.Name == st.object.GetName()
}

func failed(steps []*step) bool {
	return slices.ContainsFunc(steps, func(st *step) bool { return st.err != nil })
}

func text(format string, args ...any) *string {
	s := fmt.Sprintf(format, args...)
	return &s
}

// made is what the documents of a call make that others of them may need.
type made struct {
	kinds      map[schema.GroupKind]write.Kind
	namespaces map[string]bool
}

func makes(documents []document) made {
	m := made{kinds: map[schema.GroupKind]write.Kind{}, namespaces: map[string]bool{}}
	for _, d := range documents {
		switch {
		case rank(d.object) == 1:
			m.namespaces[d.object.GetName()] = true
		case rank(d.object) == 0:
			group, _, _ := unstructured.NestedString(d.object.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(d.object.Object, "spec", "names", "kind")
			plural, _, _ := unstructured.NestedString(d.object.Object, "spec", "names", "plural")
			scope, _, _ := unstructured.NestedString(d.object.Object, "spec", "scope")
			if len(validation.IsDNS1123Subdomain(group)) > 0 || len(validation.IsDNS1035Label(plural)) > 0 {
				continue // They become parts of a path, and nobody but the caller has looked at them yet.
			}
			m.kinds[schema.GroupKind{Group: group, Kind: kind}] = write.Kind{
				GroupVersionResource: schema.GroupVersionResource{Group: group, Resource: plural}, Kind: kind, Namespaced: scope == "Namespaced",
			}
		}
	}
	return m
}

// plan finds the kind, the namespace and the permission of every document, and
// puts them in order. A document that cannot be applied has an error in its step.
func (s *Service) plan(ctx context.Context, site *write.Site, documents []document, in ApplyInput) ([]*step, error) {
	has := makes(documents)
	steps := make([]*step, len(documents))
	seen := map[string]int{}
	for i, d := range documents {
		st := &step{document: d, result: &Result{
			Document: d.number, APIVersion: d.object.GetAPIVersion(), Kind: d.object.GetKind(), Name: d.object.GetName(),
		}}
		steps[i] = st
		if err := s.locate(ctx, site, st, has, in); err != nil {
			if away(err) {
				return nil, err
			}
			st.fail(err)
			continue
		}
		identity := fmt.Sprint(st.kind.GroupResource(), "/", st.namespace, "/", st.object.GetName())
		if first, twice := seen[identity]; twice {
			st.fail(apierror.Invalid(d.argument(), "document %d is about the same object", first))
		}
		seen[identity] = d.number
	}
	slices.SortStableFunc(steps, func(a, b *step) int { return cmp.Compare(rank(a.object), rank(b.object)) })
	return steps, nil
}

func (s *Service) locate(ctx context.Context, site *write.Site, st *step, has made, in ApplyInput) error {
	gvk := st.object.GroupVersionKind()
	k, err := site.Kind(ctx, gvk)
	if meta.IsNoMatchError(err) {
		own, ok := has.kinds[gvk.GroupKind()]
		if !ok || len(validation.IsDNS1035Label(gvk.Version)) > 0 {
			return apierror.Invalid(st.argument()+".kind", "instance %q does not serve kind %s in %s, and no document of this call brings it", in.Instance, gvk.Kind, st.object.GetAPIVersion())
		}
		k, err = own, nil
		k.Version = gvk.Version
		st.waitsFor = "the CustomResourceDefinition of its kind"
	}
	if err != nil {
		return err
	}
	st.kind, st.namespace = k, st.object.GetNamespace()
	switch {
	case k.Namespaced && st.namespace == "" && in.Namespace != nil && *in.Namespace != "":
		st.namespace = *in.Namespace
	case k.Namespaced && st.namespace == "":
		st.namespace = "default"
	case !k.Namespaced && st.namespace != "":
		return apierror.Invalid(st.argument()+".metadata.namespace", "a %s has no namespace: leave it out", k.Kind)
	}
	if err := write.CheckNamespace(st.namespace, st.argument()+".metadata.namespace"); err != nil {
		return err
	}
	if err := write.CheckName(st.object.GetName(), st.argument()+".metadata.name"); err != nil {
		return err
	}
	if k.Namespaced {
		st.object.SetNamespace(st.namespace)
		st.result.Namespace = &st.namespace
	}
	if st.waitsFor == "" && k.Namespaced && has.namespaces[st.namespace] {
		st.waitsFor = "namespace " + st.namespace
	}
	for _, verb := range []authz.Verb{authz.VerbCreate, authz.VerbUpdate} {
		if err := site.Permit(ctx, verb, st.namespace); err != nil {
			return apierror.At(err, st.argument())
		}
	}
	return nil
}

// rehearse has the instance check every document without storing it.
func (s *Service) rehearse(ctx context.Context, site *write.Site, steps []*step, in ApplyInput) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dryRunsAtOnce)
	for _, st := range steps {
		if st.err != nil {
			continue
		}
		group.Go(func() error {
			out, err := site.Apply(ctx, st.kind, st.object.DeepCopy(), in.Force, st.options(true))
			switch {
			case err == nil:
				st.before = out.Version.ResourceVersion
				st.done(in.Instance, out, ActionConfigured)
				return nil
			case st.waitsFor != "" && apierror.Is(err, apierror.CodeNotFound):
				// What it needs is not there yet, so nobody can say more.
				st.result.Action = ActionUnverified
				st.result.Message = text("it could not be tried: %s comes with another document of this call", st.waitsFor)
				return nil
			case away(err):
				return err
			}
			st.fail(err)
			return nil
		})
	}
	return group.Wait()
}

// perform writes the documents, one after the other.
func (s *Service) perform(ctx context.Context, site *write.Site, steps []*step, in ApplyInput) ([]*write.Outcome, error) {
	var outcomes []*write.Outcome
	for _, st := range steps {
		out, err := s.write(ctx, site, st, in)
		if err != nil {
			if len(outcomes) == 0 && away(err) {
				return nil, err
			}
			st.fail(err)
			return outcomes, nil
		}
		action := ActionConfigured
		if st.before == out.Version.ResourceVersion {
			action = ActionUnchanged
		}
		st.result.Message = nil
		st.done(in.Instance, out, action)
		outcomes = append(outcomes, out)
	}
	return outcomes, nil
}

// servedWithin is how long a new kind may take until it is served.
const servedWithin = 8 * time.Second

func (s *Service) write(ctx context.Context, site *write.Site, st *step, in ApplyInput) (*write.Outcome, error) {
	for deadline := time.Now().Add(servedWithin); ; {
		out, err := site.Apply(ctx, st.kind, st.object.DeepCopy(), in.Force, st.options(false))
		if err == nil || st.result.Action != ActionUnverified || !apierror.Is(err, apierror.CodeNotFound) || time.Now().After(deadline) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (st *step) options(dryRun bool) write.Options {
	return write.Options{DryRun: dryRun, Paths: write.Paths{"": st.argument()}}
}

// done notes what the instance made of the document.
func (st *step) done(instance string, out *write.Outcome, action Action) {
	if out.Created {
		action = ActionCreated
	}
	st.result.Action = action
	st.result.Resource = shown(instance, st.kind, out)
}

// fail notes why the document was not applied.
func (st *step) fail(err error) {
	st.err = err
	st.result.Action, st.result.Resource = ActionFailed, nil
	problem, ok := write.ProblemOf(err)
	if !ok {
		problem = &write.Problem{Code: string(apierror.CodeTimeout), Message: "the deadline of the request passed before this document was done"}
	}
	st.result.Error = problem
}

// away tells that an error is about the instance, not about a document.
func away(err error) bool {
	switch apierror.CodeOf(err) {
	case apierror.CodeInstanceUnavailable, apierror.CodeTimeout, apierror.CodeRateLimited, apierror.CodeInternal:
		return true
	default:
		return false
	}
}
