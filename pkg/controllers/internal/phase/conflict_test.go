package phase_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

func TestPatient(t *testing.T) {
	conflict := fmt.Errorf("write: %w", apierrors.NewConflict(schema.GroupResource{Resource: "instances"}, "alpha", errors.New("changed")))
	broken := errors.New("broken")
	for _, c := range []struct {
		reason string
		err    error
		fails  bool
	}{
		{"what goes well is done", nil, false},
		{"an object that was changed since it was read is looked at again", conflict, false},
		{"and so is one of which two parts were", errors.Join(conflict, conflict), false},
		{"a failure is one", broken, true},
		{"also beside a conflict", errors.Join(conflict, broken), true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r := phase.RetryConflicts("test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, c.err
			}))
			result, err := r.Reconcile(t.Context(), reconcile.Request{})
			if (err != nil) != c.fails {
				t.Errorf("got error %v", err)
			}
			if again := result.RequeueAfter > 0; again != (c.err != nil && !c.fails) {
				t.Errorf("looks again: %v", again)
			}
		})
	}
}
