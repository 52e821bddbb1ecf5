package phase

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kairship-io/kairship/pkg/tracing"
)

// conflictRetrier reconciles again when it was behind.
type conflictRetrier struct {
	reconcile.Reconciler
	name string
}

// RetryConflicts takes it for no failure that an object was changed after it was read: a
// cache is behind now and then, and everything is looked at again a moment later.
// Each look is a trace of its own, by the controller's name.
func RetryConflicts(name string, r reconcile.Reconciler) reconcile.Reconciler {
	return conflictRetrier{r, name}
}

// Reconcile implements reconcile.Reconciler.
func (p conflictRetrier) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, span := p.trace(ctx, request)
	defer span.End()
	result, err := p.Reconciler.Reconcile(ctx, request)
	switch {
	case err == nil:
		return result, nil
	case behind(err):
		span.Text(tracing.Result, "behind")
		log.FromContext(ctx).V(1).Info("The cache is behind, trying again", "cause", err.Error())
		return reconcile.Result{RequeueAfter: afterStaleRead}, nil
	}
	span.Fail("failed")
	return result, err
}

// trace begins the trace of one look, and has what is logged name it.
func (p conflictRetrier) trace(ctx context.Context, request reconcile.Request) (context.Context, tracing.Span) {
	if !tracing.On() {
		return ctx, tracing.Span{}
	}
	ctx, span := tracing.Root(ctx, "reconcile "+p.name, tracing.Internal)
	span.Text(tracing.Controller, p.name)
	span.Text(tracing.Object, request.String())
	return log.IntoContext(ctx, log.FromContext(ctx).WithValues("traceId", span.TraceID(), "spanId", tracing.SpanID(ctx))), span
}

// behind reports whether an error, and all that is joined in it, is a conflict.
func behind(err error) bool {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		for _, each := range joined.Unwrap() {
			if !behind(each) {
				return false
			}
		}
		return true
	}
	return apierrors.IsConflict(err)
}
