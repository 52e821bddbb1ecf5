package globalmanagementwebhook

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// refusal is why a request, or one binding of a resync, is not stored.
type refusal struct {
	gm.Refusal
	// retryAfter is when to try again, where trying again helps.
	retryAfter time.Duration
	// cause is for the log alone.
	cause error
}

func refuse(code gm.Code, field, format string, args ...any) *refusal {
	return &refusal{Refusal: gm.Refusal{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}}
}

func replayed() *refusal {
	return refuse(gm.Replay, "", "this signed request was received before: sign it anew to send it again")
}

// retryAfter is how long a caller waits before trying again, where the global
// cluster does not say.
const retryAfter = time.Second

// unavailable refuses what may be stored later. The cause, which may name
// addresses, goes to the log.
func unavailable(cause error) *refusal {
	r := refuse(gm.Unavailable, "", "it cannot be stored now; send it again")
	r.cause, r.retryAfter = cause, retryAfter
	if seconds, ok := apierrors.SuggestsClientDelay(cause); ok {
		r.retryAfter = max(retryAfter, time.Duration(seconds)*time.Second)
	}
	return r
}

// invalid refuses what the API server refuses because of a field.
func invalid(err error) *refusal {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return refuse(gm.Malformed, "", "%v", err)
	}
	cause := status.Status().Details.Causes[0]
	return refuse(gm.Malformed, reported(cause.Field), "%s", cause.Message)
}

// reported returns the protocol's name of a field of InstanceRoleBinding.
func reported(field string) string {
	field = strings.TrimPrefix(strings.TrimPrefix(field, "spec."), "source.")
	if strings.HasPrefix(field, "instanceRef") {
		return "instance"
	}
	return field
}

// malformed refuses a body that is not what the protocol says.
func malformed(err error) *refusal {
	if problem, ok := errors.AsType[*gm.FieldError](err); ok {
		return refuse(gm.Malformed, problem.Field, "%s", problem.Error())
	}
	return refuse(gm.Malformed, "", "%v", err)
}

// statuses are the HTTP statuses of the codes.
var statuses = map[gm.Code]int{
	gm.Malformed:        http.StatusBadRequest,
	gm.WrongSignature:   http.StatusUnauthorized,
	gm.UnknownInstance:  http.StatusNotFound,
	gm.UnknownPath:      http.StatusNotFound,
	gm.MethodNotAllowed: http.StatusMethodNotAllowed,
	gm.Replay:           http.StatusConflict,
	gm.SequenceConflict: http.StatusConflict,
	gm.BindingConflict:  http.StatusConflict,
	gm.StaleTimestamp:   http.StatusGone,
	gm.TooLarge:         http.StatusRequestEntityTooLarge,
	gm.Unavailable:      http.StatusServiceUnavailable,
}
