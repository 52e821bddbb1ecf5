package outcome

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// patient reconciles again when it was behind.
type patient struct{ reconcile.Reconciler }

// Patient takes it for no failure that an object was changed after it was read: a
// cache is behind now and then, and everything is looked at again a moment later.
func Patient(r reconcile.Reconciler) reconcile.Reconciler { return patient{r} }

// Reconcile implements reconcile.Reconciler.
func (p patient) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := p.Reconciler.Reconcile(ctx, request)
	if err == nil || !behind(err) {
		return result, err
	}
	log.FromContext(ctx).V(1).Info("The cache is behind, trying again", "cause", err.Error())
	return reconcile.Result{RequeueAfter: afterStaleRead}, nil
}

// behind tells that an error, and all that is joined in it, is a conflict.
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
