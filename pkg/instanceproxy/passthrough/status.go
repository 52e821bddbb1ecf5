package passthrough

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// CodeHeader is the response header with the code of Kairship's own errors. What
// the instance answered has none.
const CodeHeader = "Kairship-Error-Code"

// statusOf is an error as Kubernetes says it.
func statusOf(instance string, err error) *metav1.Status {
	code := apierror.CodeOf(err)
	s := &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Code:     int32(code.HTTPStatus()), //nolint:gosec // An HTTP status.
		Reason:   metav1.StatusReasonUnknown,
		Message:  err.Error(),
		Details:  &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseType(code), Message: err.Error()}}},
	}
	if instance != "" {
		s.Details.Group, s.Details.Kind, s.Details.Name = v1alpha1.GroupName, "instances", instance
	}
	switch code {
	case apierror.CodeUnauthenticated:
		s.Reason = metav1.StatusReasonUnauthorized
	case apierror.CodeForbidden:
		s.Reason = metav1.StatusReasonForbidden
	case apierror.CodeNotFound:
		s.Reason = metav1.StatusReasonNotFound
	case apierror.CodeInvalid, apierror.CodeQueryTooComplex:
		s.Reason = metav1.StatusReasonBadRequest
	case apierror.CodeRateLimited:
		s.Reason = metav1.StatusReasonTooManyRequests
		s.Details.RetryAfterSeconds = retryAfter(err)
	case apierror.CodeInstanceUnavailable:
		// Without RetryAfterSeconds, after which kubectl would try again and again
		// before it says a word.
		s.Reason = metav1.StatusReasonServiceUnavailable
	case apierror.CodeTimeout:
		// The global cluster is away for everybody, as in graph/server.
		s.Code, s.Reason = http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable
	default:
		s.Code, s.Reason = http.StatusInternalServerError, metav1.StatusReasonInternalError
		s.Message = "internal error"
		s.Details.Causes[0].Message = s.Message
	}
	return s
}

// retryAfter is when a caller may try again, in whole seconds.
func retryAfter(err error) int32 {
	var after time.Duration
	if limited, ok := errors.AsType[*apierror.Error](err); ok {
		after = limited.RetryAfter
	}
	return max(1, int32(math.Ceil(min(after.Seconds(), math.MaxInt32))))
}

func writeError(w http.ResponseWriter, r *http.Request, instance string, err error) {
	s := statusOf(instance, err)
	w.Header().Set(CodeHeader, string(s.Details.Causes[0].Type))
	w.Header().Set("Cache-Control", "no-cache, private")
	if s.Code == http.StatusForbidden && asksDiscovery(r) {
		http.Error(w, s.Message, int(s.Code))
		return
	}
	body, marshalErr := json.Marshal(s)
	if marshalErr != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if s.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	w.WriteHeader(int(s.Code))
	w.Write(append(body, '\n')) //nolint:errcheck // The caller went away.
}

// asksDiscovery reports whether a request is the first one of client-go's discovery. It does not
// read a Status from that answer, and would show "unknown", but it shows plain text.
func asksDiscovery(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "g=apidiscovery.k8s.io")
}
