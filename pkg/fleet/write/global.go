package write

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// DryRun is the option of a request of client-go that is to store nothing; nil for one that stores.
func DryRun(run bool) []string {
	if run {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Unanswered is the error of a write to the global cluster that failed for a reason which is not the caller's. It keeps what the
// cluster reports to the log: about a Secret, it may quote it. lookAt is what a person looks at before they try again.
func Unanswered(err error, lookAt string) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case apierrors.IsForbidden(err):
		return apierror.Wrap(err, apierror.CodeInternal, "internal error")
	}
	return apierror.Wrap(err, apierror.CodeTimeout, "the global cluster did not answer as expected; look at %s before you try again", lookAt)
}
