package operation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// installing are the reasons of condition Installed that mean work and no failure.
var installing = []string{"", v1alpha1.ReasonPending, v1alpha1.ReasonInstalling, v1alpha1.ReasonUpdating, v1alpha1.ReasonInstalled}

// creating returns how far a new instance has come; nil for one that there is none of.
func creating(op Operation, i *v1alpha1.Instance) finding {
	var f finding
	if i == nil || i.DeletionTimestamp != nil {
		f.trouble = &trouble{ReasonDeleted, fmt.Sprintf("instance %s was deleted", op.Instance), true}
		f.steps = sequence(one(StepWritten, false, ""), one(StepInstalled, false, ""), one(StepReachable, false, ""), one(StepReady, false, ""), one(StepIndexed, false, ""))
		return f
	}
	find := func(kind string) metav1.Condition {
		c := meta.FindStatusCondition(i.Status.Conditions, kind)
		if c == nil || (c.ObservedGeneration != 0 && c.ObservedGeneration < i.Generation) {
			return metav1.Condition{}
		}
		return *c
	}
	steps := []Step{one(StepWritten, true, "")}
	installed := true
	if i.Spec.Mode == v1alpha1.InstanceModeManaged {
		c := find(v1alpha1.ConditionInstalled)
		installed = c.Status == metav1.ConditionTrue
		steps = append(steps, one(StepInstalled, installed, c.Message))
		f.waits = c.Message
		if !installed && !slices.Contains(installing, c.Reason) {
			f.trouble = &trouble{c.Reason, c.Message, false}
		}
	}
	reachable, ready, indexed := find(v1alpha1.ConditionReachable), find(v1alpha1.ConditionReady), find(v1alpha1.ConditionIndexed)
	steps = append(steps,
		one(StepReachable, reachable.Status == metav1.ConditionTrue, reachable.Message),
		one(StepReady, ready.Status == metav1.ConditionTrue, ready.Message),
		one(StepIndexed, indexed.Status == metav1.ConditionTrue, indexed.Message),
	)
	if installed && f.trouble == nil {
		for _, c := range []metav1.Condition{reachable, ready, indexed} {
			if c.Status == metav1.ConditionFalse {
				f.trouble = &trouble{c.Reason, c.Message, false}
				break
			}
		}
	}
	f.steps = sequence(steps...)
	return f
}
