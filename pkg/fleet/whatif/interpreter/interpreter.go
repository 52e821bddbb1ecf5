package interpreter

import (
	"fmt"
	"slices"
	"sync"

	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/thirdparty"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type interpreters struct {
	thirdparty *thirdparty.ConfigurableInterpreter
	native     *native.DefaultInterpreter
}

// built loads the interpreters once: those of third parties are scripts, which are compiled.
var built = sync.OnceValue(func() *interpreters {
	return &interpreters{thirdparty.NewConfigurableInterpreter(), native.NewDefaultInterpreter()}
})

func (i *interpreters) enabled(gvk schema.GroupVersionKind, operation configv1alpha1.InterpreterOperation) bool {
	return i.native.HookEnabled(gvk, operation) || i.thirdparty.HookEnabled(gvk, operation)
}

// ReviseReplica returns an object with a number of replicas; the object itself, unchanged, where no
// interpreter knows the replicas of its kind. It may change the object.
func ReviseReplica(object *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	i := built()
	if !i.enabled(object.GroupVersionKind(), configv1alpha1.InterpreterOperationReviseReplica) {
		return object, nil
	}
	revised, done, err := i.thirdparty.ReviseReplica(object, int64(replicas))
	if err == nil && !done {
		revised, err = i.native.ReviseReplica(object, int64(replicas))
	}
	if err != nil {
		return nil, fmt.Errorf("revising the replicas of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return revised, nil
}

// Replicas returns how many replicas an object asks for; false where no interpreter knows that of its kind.
func Replicas(object *unstructured.Unstructured) (n int32, known bool, err error) {
	i := built()
	if !i.enabled(object.GroupVersionKind(), configv1alpha1.InterpreterOperationInterpretReplica) {
		return 0, false, nil
	}
	n, _, done, err := i.thirdparty.GetReplicas(object)
	if err == nil && !done {
		n, _, err = i.native.GetReplicas(object)
	}
	if err != nil {
		return 0, false, fmt.Errorf("reading the replicas of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return n, true, nil
}

// Retain returns what Karmada sends to a cluster instead of a desired object, with the fields of the
// observed one that it leaves to the cluster. It may change the desired object.
func Retain(desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	i := built()
	if !i.enabled(desired.GroupVersionKind(), configv1alpha1.InterpreterOperationRetain) {
		return desired, nil
	}
	retained, done, err := i.thirdparty.Retain(desired, observed)
	if err == nil && !done {
		retained, err = i.native.Retain(desired, observed)
	}
	if err != nil {
		return nil, fmt.Errorf("retaining fields of %s %s: %w", desired.GetKind(), desired.GetName(), err)
	}
	return retained, nil
}

// Customizes returns the name of a ResourceInterpreterCustomization that decides about an operation
// on a kind instead of the interpreters here; empty for none. Of several the first by name decides.
func Customizes(all []*configv1alpha1.ResourceInterpreterCustomization, gvk schema.GroupVersionKind, operation configv1alpha1.InterpreterOperation) string {
	var names []string
	for _, c := range all {
		of, rules := c.Spec.Target, c.Spec.Customizations
		if of.APIVersion != gvk.GroupVersion().String() || of.Kind != gvk.Kind {
			continue
		}
		retains := operation == configv1alpha1.InterpreterOperationRetain && rules.Retention != nil && rules.Retention.LuaScript != ""
		revises := operation == configv1alpha1.InterpreterOperationReviseReplica && rules.ReplicaRevision != nil && rules.ReplicaRevision.LuaScript != ""
		if retains || revises {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}
