package resources

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// UndoOutcome is what became of an object that was to be undone. The values are
// those of the schema's enum.
type UndoOutcome string

// The outcomes.
const (
	UndoDeleted  UndoOutcome = "DELETED"
	UndoRestored UndoOutcome = "RESTORED"
	UndoKept     UndoOutcome = "KEPT"
	UndoFailed   UndoOutcome = "FAILED"
	UndoUnknown  UndoOutcome = "UNKNOWN"
)

// Undone says what became of an object that was to be undone.
type Undone struct {
	Outcome UndoOutcome
	Message *string
	Error   *write.Problem
}

const (
	// undoWithin bounds the whole rollback. It continues after the caller has disconnected: half of
	// it would leave more to clean up than none.
	undoWithin = 20 * time.Second
	// readAgain is how often an object is read again that changes meanwhile. Karmada writes its
	// labels and annotations into new objects at any time.
	readAgain = 8
)

// attempt writes one document. Where it may have to be undone, what was there
// before is read first and the write is bound to it.
func (s *Service) attempt(ctx context.Context, site *write.Site, st *step, options WriteOptions) (*write.Outcome, error) {
	if !options.Rollback || options.Create {
		return st.send(ctx, site, options, false)
	}
	for try := 1; ; try++ {
		st.sent.Store(false) // What was sent before was answered.
		previous, err := site.Get(ctx, st.kind, st.namespace, st.object.GetName(), st.options(false).Paths)
		switch {
		case apierror.Is(err, apierror.CodeNotFound):
			previous = nil
		case err != nil:
			return nil, err
		}
		st.previous = previous
		out, err := st.send(ctx, site, options, false)
		if err == nil || previous == nil || !moved(err) || try == readAgain {
			return out, err
		}
	}
}

// moved reports whether an object is at another version, not that others own its fields.
func moved(err error) bool {
	p, ok := write.ProblemOf(err)
	return ok && p.Code == string(apierror.CodeConflict) && len(p.Fields) == 0
}

// undo undoes what was written, the last first.
func (s *Service) undo(ctx context.Context, site *write.Site, steps []*step) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	for _, st := range slices.Backward(steps) {
		switch {
		case st.out == nil && st.outcomeUnknown(st.err):
			st.result.Rollback = &Undone{Outcome: UndoUnknown, Message: text("the instance gave no answer, so it may have been written; look at it")}
		case st.out == nil, st.result.Action == ActionUnchanged:
		default:
			st.result.Rollback = st.undo(ctx, site)
		}
	}
}

func (st *step) undo(ctx context.Context, site *write.Site) *Undone {
	var (
		out  *write.Outcome
		err  error
		done = &Undone{Outcome: UndoDeleted}
	)
	switch {
	case st.out.Created:
		background := metav1.DeletePropagationBackground
		deletion := write.Deletion{UID: st.out.Version.UID, Propagation: &background}
		out, err = site.Delete(ctx, st.kind, st.namespace, st.object.GetName(), deletion, st.options(false))
		if apierror.Is(err, apierror.CodeNotFound) {
			return &Undone{Outcome: UndoKept, Message: text("another client deleted it")}
		}
		if moved(err) {
			return &Undone{Outcome: UndoKept, Message: text("there is another object of this name now")}
		}
	case st.previous == nil:
		return &Undone{Outcome: UndoKept, Message: text("another client created it at the same time")}
	default:
		var kept string
		if out, kept, err = st.restore(ctx, site); kept != "" {
			return &Undone{Outcome: UndoKept, Message: &kept}
		}
		done.Outcome = UndoRestored
	}
	if err != nil {
		problem, ok := write.ProblemOf(err)
		if !ok {
			problem = &write.Problem{Code: string(apierror.CodeTimeout), Message: "it was not undone in time"}
		}
		return &Undone{Outcome: UndoFailed, Error: problem}
	}
	if out.Object != nil && out.Version.Deleting {
		done.Message = text("it is marked, and goes when its finalizers are done")
	}
	st.out = out
	st.result.Resource = shown(site.Instance, st.kind, out)
	return done
}

// restore gives an object what it held before it was written, unless another client
// changed it since; then it says so.
func (st *step) restore(ctx context.Context, site *write.Site) (out *write.Outcome, kept string, err error) {
	for try := 1; ; try++ {
		now, err := site.Get(ctx, st.kind, st.namespace, st.object.GetName(), st.options(false).Paths)
		switch {
		case apierror.Is(err, apierror.CodeNotFound):
			return nil, "another client deleted it", nil
		case err != nil:
			return nil, "", err
		case now.GetUID() != st.previous.GetUID():
			return nil, "there is another object of this name now", nil
		case !reflect.DeepEqual(content(now), content(st.out.Stored())):
			return nil, "another client changed it since", nil
		}
		out, err := site.Update(ctx, st.kind, before(st.previous, now), st.options(false))
		if err == nil {
			return st.giveBack(ctx, site, out), "", nil
		}
		if !moved(err) || try == readAgain {
			return nil, "", err
		}
	}
}

// giveBack returns the ownership of a restored object's fields to their previous managers. The
// update that restored them made Kairship their manager, so the next apply, even one by Kairship,
// would meet a conflict. It returns the resulting object; a failure here does not make the rollback
// fail.
func (st *step) giveBack(ctx context.Context, site *write.Site, restored *write.Outcome) *write.Outcome {
	if len(st.previous.GetManagedFields()) == 0 {
		return restored
	}
	now := restored.Stored()
	for try := 1; ; try++ {
		change, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": now.GetResourceVersion(), "managedFields": managers(st.previous.GetManagedFields(), now.GetManagedFields()),
		}})
		if err != nil {
			return restored
		}
		out, err := site.Patch(ctx, st.kind, st.namespace, st.object.GetName(), types.MergePatchType, change, st.options(false))
		if err == nil {
			return out
		}
		if !moved(err) || try == readAgain {
			return restored
		}
		if now, err = site.Get(ctx, st.kind, st.namespace, st.object.GetName(), st.options(false).Paths); err != nil ||
			!reflect.DeepEqual(content(now), content(restored.Stored())) {
			return restored
		}
	}
}

// managers returns the previous managers of an object, and those that were added since.
func managers(before, now []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	all := slices.Clone(before)
	for _, n := range now {
		known := func(b metav1.ManagedFieldsEntry) bool {
			return b.Manager == n.Manager && b.Operation == n.Operation && b.Subresource == n.Subresource && b.APIVersion == n.APIVersion
		}
		if n.Manager != write.FieldManager && !slices.ContainsFunc(before, known) {
			all = append(all, n)
		}
	}
	return all
}

// content is what people say in an object: neither its status, nor what Kubernetes
// and Karmada note in its metadata.
func content(u *unstructured.Unstructured) map[string]any {
	c := maps.Clone(u.Object)
	delete(c, "status")
	delete(c, "metadata")
	c["labels"], c["annotations"] = split(u.GetLabels(), false), split(u.GetAnnotations(), false)
	return c
}

// before is an earlier state of an object, to be written in the place of the one
// that is there. What Karmada noted meanwhile stays: its claims are by that.
func before(previous, now *unstructured.Unstructured) *unstructured.Unstructured {
	u := previous.DeepCopy()
	u.SetResourceVersion(now.GetResourceVersion())
	u.SetManagedFields(nil)
	u.SetFinalizers(now.GetFinalizers())
	labels, annotations := split(previous.GetLabels(), false), split(previous.GetAnnotations(), false)
	maps.Copy(labels, split(now.GetLabels(), true))
	maps.Copy(annotations, split(now.GetAnnotations(), true))
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	if status, ok := now.Object["status"]; ok {
		u.Object["status"] = status
	}
	return u
}

// split is the part of labels or annotations that is Karmada's, or the other one.
func split(from map[string]string, karmadas bool) map[string]string {
	out := map[string]string{}
	for key, value := range from {
		domain, _, prefixed := strings.Cut(key, "/")
		if karmadas == (prefixed && (domain == "karmada.io" || strings.HasSuffix(domain, ".karmada.io"))) {
			out[key] = value
		}
	}
	return out
}
