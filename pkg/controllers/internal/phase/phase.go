// Package phase runs the phases of a reconciliation and makes a reconcile.Result of what they
// return. No other code of the controllers decides whether and when there is a next attempt.
package phase

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// afterStaleRead is how long a cache may take to receive a write, by us or by another client, that
// it has missed.
const afterStaleRead = 500 * time.Millisecond

// Stop is returned by a phase to end the reconciliation before the next phase. It is no failure:
// the condition reports the cause.
type Stop struct { //nolint:errname // it is no error, it only travels as one
	// Condition reports why.
	Condition metav1.Condition
	// Retry is the time until the next attempt; zero when a watch will trigger it.
	Retry time.Duration
}

// Error makes a Stop fit where phases return errors. It is not read.
func (s *Stop) Error() string { return s.Condition.Reason + ": " + s.Condition.Message }

// Phase is one step of a reconciliation. It returns nil when the next step may
// follow, a *Stop when it may not, and any other error when it failed.
type Phase[Scope any] func(ctx context.Context, scope Scope) error

// Run runs the phases in their order, up to the first that does not return nil.
func Run[Scope any](ctx context.Context, scope Scope, phases ...Phase[Scope]) error {
	for _, phase := range phases {
		if err := phase(ctx, scope); err != nil {
			return err
		}
	}
	return nil
}

// Result converts the error of Run into the result for the controller's queue, and the condition of
// a *Stop; nil otherwise.
func Result(ctx context.Context, err error) (*metav1.Condition, reconcile.Result, error) {
	var stop *Stop
	switch {
	case err == nil:
		return nil, reconcile.Result{}, nil
	case errors.As(err, &stop):
		return &stop.Condition, reconcile.Result{RequeueAfter: stop.Retry}, nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), isGone(err):
		log.FromContext(ctx).V(1).Info("The cache is behind, trying again", "cause", err.Error())
		return nil, reconcile.Result{RequeueAfter: afterStaleRead}, nil
	}
	return nil, reconcile.Result{}, err
}

// isGone reports whether an object is missing from a server that does not know the kind
// of object at all: its CRD is missing, and no cache will catch up with that.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
