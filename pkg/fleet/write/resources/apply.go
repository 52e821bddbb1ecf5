package resources

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
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
	// Expect is the fingerprint of the dry run that the call was decided by; nil for none.
	Expect *string
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
	Document int
	// Argument is the path of the input that the object comes from.
	Argument   string
	APIVersion string
	Kind       string
	Namespace  *string
	Name       string
	Action     Action
	Message    *string
	Resource   *resource.Resource
	Error      *write.Problem
	// Rollback is what became of the object when what was written was undone; nil
	// where there was nothing to undo.
	Rollback *Undone
}

// ApplyPayload is the answer of applyManifests.
type ApplyPayload struct {
	// Applied reports whether every document was applied, or in a dry run could be.
	Applied bool
	// Fingerprint stands for the manifests and for the versions of the objects that they change; nil where not all could be applied.
	Fingerprint      *string
	Results          []Result
	Operation        *string
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
	// expected is the version that is to be changed and no other; empty for any.
	expected string
	// stored is what the dry run would have stored.
	stored *unstructured.Unstructured
	// previous is the object before it was written, where it may have to be restored.
	previous *unstructured.Unstructured
	// sent reports whether the write was sent, whatever became of it then.
	sent atomic.Bool
	// out is what was written; nil when nothing was.
	out *write.Outcome
	err error
}

// WriteOptions are the options for writing several objects.
type WriteOptions struct {
	// Namespace is for objects that say none.
	Namespace *string
	Force     bool
	DryRun    bool
	// Expect is the fingerprint of an earlier dry run; nil for any.
	Expect *string
	// Create refuses objects that are there, and writes in the order given.
	Create bool
	// Rollback undoes what was written when something fails later.
	Rollback bool
	// Operation is the kind of the operation under which the progress is followed.
	Operation operation.Kind
}

// WriteResult is the result of writing several objects.
type WriteResult struct {
	// Done reports whether every object was written, or in a dry run could be.
	Done bool
	// Fingerprint is that of the dry run; empty where an object was refused in it.
	Fingerprint string
	// Written reports whether at least one was, or may have been, whatever became of it then.
	Written bool
	// Err is the last failure in the order of writing, which is nearest to what the
	// call is about: the objects before are there for those after.
	Err error
	// Results are in the order of the input.
	Results []Result
	// Operation is the ID under which the progress of what was written can be followed;
	// nil where not all was.
	Operation        *string
	ConsistencyToken *string
	// Outcomes are those of the writes.
	Outcomes []*write.Outcome
	// Undo undoes what was written, and returns the results with that; nil where not all was written, or no
	// rollback was asked for.
	Undo func(context.Context) []Result
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
	t, err := s.writeAll(ctx, site, documents, WriteOptions{Namespace: in.Namespace, Force: in.Force, DryRun: in.DryRun, Expect: in.Expect, Operation: operation.KindApplyManifests})
	if err != nil {
		return nil, err
	}
	p := &ApplyPayload{Applied: t.Done, Results: t.Results, Operation: t.Operation, ConsistencyToken: t.ConsistencyToken}
	if t.Fingerprint != "" {
		p.Fingerprint = &t.Fingerprint
	}
	return p, nil
}

// Write writes the objects of manifests, which may be empty, and of other inputs in one call, as
// Apply does.
func (s *Service) Write(ctx context.Context, site *write.Site, manifests string, given []Given, options WriteOptions) (*WriteResult, error) {
	var documents []document
	if manifests != "" {
		var err error
		if documents, err = parseDocuments(manifests); err != nil {
			return nil, err
		}
	}
	for i := range given {
		documents = append(documents, document{object: given[i].Object, given: &given[i]})
	}
	if len(documents) > MaxDocuments {
		return nil, apierror.Invalid("input", "there are more than %d objects: write them in several calls", MaxDocuments)
	}
	return s.writeAll(ctx, site, documents, options)
}

func (s *Service) writeAll(ctx context.Context, site *write.Site, documents []document, options WriteOptions) (*WriteResult, error) {
	if options.Namespace != nil {
		if err := write.CheckNamespace(*options.Namespace, "input.namespace"); err != nil {
			return nil, err
		}
	}
	steps, err := s.plan(ctx, site, documents, options)
	if err != nil {
		return nil, err
	}
	// The input's order, before they are put into that of writing.
	asGiven := slices.Clone(steps)
	if !options.Create {
		slices.SortStableFunc(steps, func(a, b *step) int { return cmp.Compare(rank(a.object), rank(b.object)) })
	}
	if err := s.dryRun(ctx, site, steps, options); err != nil {
		return nil, err
	}
	fingerprint, err := expected(asGiven, options.Expect)
	if err != nil {
		return nil, err
	}
	if !options.DryRun && !failed(steps) {
		if err := s.perform(ctx, site, steps, options); err != nil {
			return nil, err
		}
	}
	t := &WriteResult{Done: !failed(steps), Fingerprint: fingerprint}
	for _, st := range steps {
		if st.err != nil {
			t.Err = st.err
		}
		t.Written = t.Written || st.out != nil || st.outcomeUnknown(st.err)
	}
	if options.Rollback && !t.Done && !options.DryRun && t.Written {
		s.undo(ctx, site, steps)
	}
	var outcomes []*write.Outcome
	for _, st := range asGiven {
		if st.out != nil {
			outcomes = append(outcomes, st.out)
		}
		if !t.Done && st.err == nil && st.out == nil {
			st.result.Action, st.result.Resource = ActionSkipped, nil
			st.result.Message = text("nothing was written of it, because another document failed")
		}
		t.Results = append(t.Results, *st.result)
	}
	t.Outcomes, t.ConsistencyToken = outcomes, s.Writer.Token(ctx, outcomes...)
	if t.Done && options.Rollback && !options.DryRun {
		t.Undo = func(ctx context.Context) []Result {
			s.undo(ctx, site, steps)
			results := make([]Result, len(asGiven))
			for i, st := range asGiven {
				results[i] = *st.result
			}
			return results
		}
	}
	if t.Done && !options.DryRun {
		t.Operation = s.Operations.Begin(ctx, operation.Operation{Kind: options.Operation, Instance: site.Instance, Objects: written(asGiven)})
	}
	return t, nil
}

// written returns the objects that some steps have written, for following their progress.
func written(steps []*step) []operation.Object {
	objects := make([]operation.Object, len(steps))
	for i, st := range steps {
		k := st.kind
		objects[i] = operation.Object{
			Group: k.Group, Version: k.Version, Resource: k.Resource, Kind: k.Kind, Namespace: st.namespace, Name: st.object.GetName(),
		}
		// The version of an object that stayed as it was is not the operation's.
		if st.out != nil && st.result.Action != ActionUnchanged {
			objects[i].ResourceVersion = st.out.Version.ResourceVersion
		}
	}
	return objects
}

func failed(steps []*step) bool {
	return slices.ContainsFunc(steps, func(st *step) bool { return st.err != nil })
}

func text(format string, args ...any) *string {
	s := fmt.Sprintf(format, args...)
	return &s
}

// dryRun has the instance check every document without storing it.
func (s *Service) dryRun(ctx context.Context, site *write.Site, steps []*step, options WriteOptions) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dryRunsAtOnce)
	for _, st := range steps {
		if st.err != nil {
			continue
		}
		group.Go(func() error {
			out, err := st.send(ctx, site, options, true)
			switch {
			case err == nil:
				st.before, st.stored = out.Version.ResourceVersion, out.Stored()
				st.done(site.Instance, out, ActionConfigured)
				return nil
			case st.waitsFor != "" && apierror.Is(err, apierror.CodeNotFound):
				// What it needs is not there yet, so no more is known.
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

// send writes the document, or tries it.
func (st *step) send(ctx context.Context, site *write.Site, options WriteOptions, dryRun bool) (*write.Outcome, error) {
	if !dryRun {
		st.sent.Store(false)
		ctx = noting(ctx, &st.sent)
	}
	object := st.object.DeepCopy()
	if options.Create {
		return site.Create(ctx, st.kind, object, st.options(dryRun))
	}
	if st.previous != nil {
		// What is restored later is what was changed, and nothing in between.
		object.SetResourceVersion(st.previous.GetResourceVersion())
	} else if !dryRun && st.expected != "" {
		object.SetResourceVersion(st.expected)
	}
	return site.Apply(ctx, st.kind, object, options.Force, st.options(dryRun))
}

// perform writes the documents, one after the other.
func (s *Service) perform(ctx context.Context, site *write.Site, steps []*step, options WriteOptions) error {
	for i, st := range steps {
		out, err := s.write(ctx, site, st, options)
		if err != nil {
			if i == 0 && away(err) && !st.outcomeUnknown(err) {
				return err // Nothing was written, so there are no results.
			}
			st.fail(err)
			return nil
		}
		action := ActionConfigured
		if st.before == out.Version.ResourceVersion {
			action = ActionUnchanged
		}
		st.result.Message = nil
		st.done(site.Instance, out, action)
		st.out = out
	}
	return nil
}

// servedWithin is how long a new kind may take until it is served.
const servedWithin = 8 * time.Second

func (s *Service) write(ctx context.Context, site *write.Site, st *step, options WriteOptions) (*write.Outcome, error) {
	for deadline := time.Now().Add(servedWithin); ; {
		out, err := s.attempt(ctx, site, st, options)
		if err == nil || st.result.Action != ActionUnverified || !apierror.Is(err, apierror.CodeNotFound) || time.Now().After(deadline) {
			return out, err
		}
		select {
		case <-ctx.Done():
			st.sent.Store(false) // What was sent was answered.
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
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

// away reports whether an error is about the instance, not about a document.
func away(err error) bool {
	switch apierror.CodeOf(err) {
	case apierror.CodeInstanceUnavailable, apierror.CodeTimeout, apierror.CodeRateLimited, apierror.CodeInternal:
		return true
	default:
		return false
	}
}
