package drift

import (
	"fmt"
	"strconv"
	"strings"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/fleet/whatif/diff"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/interpreter"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/manifest"
)

// Action is what Karmada does about fields that differ.
type Action string

// The actions.
const (
	// ActionNone is for an object that differs nowhere, but for fields that Karmada leaves to the cluster.
	ActionNone Action = "NONE"
	// ActionOverwrite: Karmada writes what it sent, as soon as it observes the object.
	ActionOverwrite Action = "OVERWRITE"
	// ActionNextSync: Karmada writes what it sent with the next change, and not before.
	ActionNextSync Action = "NEXT_SYNC"
	// ActionPending: what Karmada sent last has not been written to the cluster yet.
	ActionPending Action = "PENDING"
	// ActionSuspended: dispatching to the cluster is suspended.
	ActionSuspended Action = "SUSPENDED"
	// ActionUnreachable: the cluster is not ready.
	ActionUnreachable Action = "UNREACHABLE"
	// ActionConflict: the object is not marked as Karmada's, and is not to be overwritten.
	ActionConflict Action = "CONFLICT"
	// ActionRemove: the workload is being removed from the cluster.
	ActionRemove Action = "REMOVE"
	// ActionInterpreter: an interpreter of the instance decides, which is not run here.
	ActionInterpreter Action = "INTERPRETER"
)

// MaxFields limits the fields of a Drift.
const MaxFields = 100

// Drift is where an object in a member cluster differs from what Karmada sent there.
type Drift struct {
	// Drifted reports whether a field differs that Karmada sent and does not leave to the cluster.
	Drifted bool
	Action  Action
	// Message says for a person what Karmada does, and why.
	Message string
	// Fields are the first that differ, by path, at most MaxFields.
	Fields []Field
	// TotalFields is how many differ.
	TotalFields int
}

// Field is a field that differs.
type Field struct {
	// Path is its JSON pointer in what Karmada sent.
	Path string
	// Sent and Found are its values as JSON; nil where there is none.
	Sent, Found *string
	// Retained reports whether Karmada leaves the field to the cluster on purpose.
	Retained bool
	steps    []diff.Step
}

// Observed is what is known of a workload in a member cluster.
type Observed struct {
	// Work carries the workload to the cluster.
	Work *workv1alpha1.Work
	// Object is that of the cluster, whole.
	Object *unstructured.Unstructured
	// Leaving reports whether the workload is being removed from the cluster.
	Leaving bool
	// Unreachable says why Karmada cannot write to the cluster; empty where it can.
	Unreachable string
	// Interpreter is the name of a ResourceInterpreterCustomization that retains fields of the kind; empty
	// for none.
	Interpreter string
}

// Of compares an object with what Karmada sent; nil when the Work has no manifest of it.
func Of(o *Observed) (*Drift, error) {
	sent, err := manifest.Sent(o.Work, o.Object)
	if err != nil || sent == nil {
		return nil, err
	}
	changes := differing(sent, o.Object)
	if len(changes) == 0 {
		d := &Drift{Fields: []Field{}}
		d.Action, d.Message = o.action(sent, nil)
		return d, nil
	}
	retained, err := retainedOf(sent, o.Object)
	if err != nil {
		return nil, err
	}
	d := &Drift{Fields: []Field{}, TotalFields: len(changes)}
	var left []diff.Change
	for _, c := range changes {
		kept := retained(c.Path)
		if !kept {
			left = append(left, c)
		}
		if len(d.Fields) < MaxFields {
			d.Fields = append(d.Fields, Field{Path: c.Path, Sent: c.Before, Found: c.After, Retained: kept, steps: c.Steps})
		}
	}
	d.Action, d.Message = o.action(sent, left)
	switch d.Action {
	case ActionNone, ActionPending, ActionInterpreter:
	case ActionOverwrite, ActionNextSync, ActionSuspended, ActionUnreachable, ActionConflict, ActionRemove:
		d.Drifted = !behind(sent, o.Object) // Of an earlier manifest nothing is known any more.
	}
	return d, nil
}

// retainedOf finds which fields Karmada leaves to the cluster: those in which what it would send now is what
// it observes. It follows Update of Karmada's object watcher.
func retainedOf(sent, object *unstructured.Unstructured) (func(path string) bool, error) {
	desired, err := interpreter.Retain(sent.DeepCopy(), object.DeepCopy())
	if err != nil {
		return nil, err
	}
	changes := differing(desired, object)
	return func(path string) bool {
		for _, c := range changes {
			// Where a whole list or map is retained in part, its path is longer or shorter.
			if c.Path == path || strings.HasPrefix(c.Path, path+"/") || strings.HasPrefix(path, c.Path+"/") {
				return false
			}
		}
		return true
	}, nil
}

// action is what Karmada does about the fields that it does not retain.
//
// Karmada's work-status controller looks at each change of an object in a member, and writes what was sent
// where the generation is not the one that it wrote last, or labels differ. Annotations change neither, but the
// generation of a Deployment.
func (o *Observed) action(sent *unstructured.Unstructured, changes []diff.Change) (Action, string) {
	switch {
	case len(changes) == 0:
		return ActionNone, "nothing that Karmada sent differs, but for what it leaves to the cluster"
	case o.Leaving || !o.Work.DeletionTimestamp.IsZero():
		return ActionRemove, "the workload is being removed from the cluster"
	case util.IsWorkSuspendDispatching(o.Work):
		return ActionSuspended, "Karmada writes nothing while dispatching to the cluster is suspended, and overwrites it when that ends"
	case o.Unreachable != "":
		return ActionUnreachable, "Karmada overwrites it when it reaches the cluster again: " + o.Unreachable
	case !managed(o.Object) && sent.GetAnnotations()[workv1alpha2.ResourceConflictResolutionAnnotation] != workv1alpha2.ResourceConflictResolutionOverwrite:
		return ActionConflict, fmt.Sprintf("the object has lost the label %s=%s, so that Karmada does not touch it unless the conflict resolution is Overwrite",
			util.ManagedByKarmadaLabel, util.ManagedByKarmadaLabelValue)
	case behind(sent, o.Object):
		return ActionPending, "the latest manifest has not been written to the cluster yet"
	case o.Interpreter != "":
		return ActionInterpreter, fmt.Sprintf("ResourceInterpreterCustomization %s decides which fields of this kind Karmada leaves to the cluster, and overwrites the others; Kairship does not run it", o.Interpreter)
	case onlyAnnotations(changes) && o.Object.GetKind() != util.DeploymentKind:
		return ActionNextSync, "Karmada does not look at annotations alone: it overwrites them with the next change of the workload, its policies, or labels or the spec of the object, or when its controllers start again"
	}
	return ActionOverwrite, "Karmada overwrites it as soon as it observes the object, and tries again where the cluster refuses that"
}

// managed reports whether an object is marked as Karmada's.
func managed(object *unstructured.Unstructured) bool {
	return object.GetLabels()[util.ManagedByKarmadaLabel] == util.ManagedByKarmadaLabelValue
}

// behind reports whether an object was made from an earlier template than what was sent last.
func behind(sent, object *unstructured.Unstructured) bool {
	of := templateGeneration(object)
	return of > 0 && of < templateGeneration(sent)
}

func templateGeneration(u *unstructured.Unstructured) int64 {
	n, err := strconv.ParseInt(u.GetAnnotations()[workv1alpha2.ResourceTemplateGenerationAnnotationKey], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func onlyAnnotations(changes []diff.Change) bool {
	for _, c := range changes {
		if !strings.HasPrefix(c.Path, "/metadata/annotations/") {
			return false
		}
	}
	return true
}
