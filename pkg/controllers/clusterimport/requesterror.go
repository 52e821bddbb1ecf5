package clusterimport

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

// requestError is a request to an instance or a member that failed.
type requestError struct {
	place    place
	endpoint string
	timeout  time.Duration
	// doing is what was tried: `create ServiceAccount "x"`.
	doing string
	err   error
}

func (f *requestError) Error() string {
	return fmt.Sprintf("%s in the %s: %v", f.doing, f.place, f.err)
}
func (f *requestError) Unwrap() error { return f.err }

// failed wraps the error of a request; nil stays nil.
func (r *Reconciler) failed(at *remote, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &requestError{place: at.place, endpoint: at.endpoint, timeout: r.Timeout, doing: fmt.Sprintf(format, args...), err: err}
}

// transient reports whether the next attempt may succeed: another client
// changed, made or removed the object at the same moment.
func (f *requestError) transient() bool {
	if apierrors.IsConflict(f.err) || apierrors.IsAlreadyExists(f.err) {
		return true
	}
	// A namespace that is being removed is removed soon.
	return apierrors.HasStatusCause(f.err, "NamespaceTerminating")
}

// answered reports whether the other side answered and refused the request: it is reachable, and an
// immediate retry is useless.
func (f *requestError) answered() bool {
	return apierrors.IsForbidden(f.err) || apierrors.IsInvalid(f.err) || apierrors.IsBadRequest(f.err) || apierrors.IsNotFound(f.err)
}

// condition describes the error for a person, with the same text each time.
func (f *requestError) condition() metav1.Condition {
	answer := apierrors.APIStatus(nil)
	if !errors.As(f.err, &answer) {
		reachable, _ := probe.Judge(probe.Observation{Err: f.err, Endpoint: f.endpoint, Timeout: f.timeout})
		return v1alpha1.NotJoined(f.unreachable(), reachable.Message)
	}
	switch code := answer.Status().Code; {
	case code == http.StatusUnauthorized:
		return v1alpha1.NotJoined(f.unreachable(), fmt.Sprintf("%s does not accept the credentials (HTTP %d): put valid ones into the Secret.", f.endpoint, code))
	case f.transient():
		return v1alpha1.NotJoined(v1alpha1.ReasonJoining, fmt.Sprintf("The %s is busy: %v", f.place, f.err))
	case apierrors.IsForbidden(f.err):
		return v1alpha1.NotJoined(v1alpha1.ReasonNotAllowed,
			fmt.Sprintf("The %s does not let its credentials %s. They need every permission that they give away, as cluster-admin has: %s", f.place, f.doing, excerpt.Of(f.err.Error(), mostOfOthers)))
	case apierrors.IsNotFound(f.err) && apierrors.HasStatusCause(f.err, metav1.CauseTypeUnexpectedServerResponse):
		return v1alpha1.NotJoined(f.unreachable(), fmt.Sprintf("%s does not serve what is needed to %s: is it a Karmada control plane, and is karmada-aggregated-apiserver running?", f.endpoint, f.doing))
	case f.answered():
		return v1alpha1.NotJoined(v1alpha1.ReasonRejected, fmt.Sprintf("The %s does not let Kairship %s: %s", f.place, f.doing, excerpt.Of(f.err.Error(), mostOfOthers)))
	default:
		return v1alpha1.NotJoined(f.unreachable(), fmt.Sprintf("%s answers with HTTP %d.", f.endpoint, code))
	}
}

func (f *requestError) unreachable() string {
	if f.place == inInstance {
		return v1alpha1.ReasonInstanceUnreachable
	}
	return v1alpha1.ReasonUnreachable
}
