package instanceaccess

import (
	"context"
	"errors"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// report writes the condition of every binding about its rules in the instance, and releases the
// bindings whose rules were removed.
func (r *Reconciler) report(ctx context.Context, s *scope) error {
	var problems []error
	for _, b := range s.bindings {
		if b.said == nil && b.cleaned {
			said := s.gone(b)
			b.said = &said
		}
		problems = append(problems, r.reportOne(ctx, b))
	}
	return errors.Join(problems...)
}

func (r *Reconciler) reportOne(ctx context.Context, b *binding) error {
	ended := !b.DeletionTimestamp.IsZero() || b.Spec.Revoked
	if b.cleaned && b.held && ended {
		if err := finalizer.Release(ctx, r.Client, b.InstanceRoleBinding, v1alpha1.InstanceAccessFinalizer); err != nil {
			return err
		}
		if released := !b.DeletionTimestamp.IsZero() && len(b.Finalizers) == 0; released {
			return nil // There is nothing to write to.
		}
	}
	if b.said == nil {
		return nil
	}
	before := v1alpha1.InstanceRoleBindingStatus{Conditions: status.Pick(b.Status.Conditions, v1alpha1.ConditionInstanceReady)}
	after := v1alpha1.InstanceRoleBindingStatus{Conditions: status.Conditions(before.Conditions, b.Generation, *b.said)}
	if err := status.Apply(ctx, r.Client, b.InstanceRoleBinding, Name, &before, &after); err != nil {
		return err
	}
	status.Announce(r.Recorder, b.InstanceRoleBinding, "Bind", before.Conditions, after.Conditions)
	return nil
}
