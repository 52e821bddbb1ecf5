package subscription

import (
	"context"
	"errors"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// EndError is why a stream ended. It is the cause of the end of the stream's context.
type EndError struct {
	// Reason is for logs, metrics and programs: extensions.reason of the last error.
	Reason string
	// Err is the last error that is sent to the client; nil for none.
	Err error
	// Again: the client is to connect again and to resume.
	Again bool
	// Cause is what ended it, where that was not a transport.
	Cause error
}

// Error implements error.
func (e *EndError) Error() string { return e.Reason }

// The ends that the transports decide on.
var (
	ErrCompleted  = &EndError{Reason: "COMPLETED"}
	ErrClientGone = &EndError{Reason: "CLIENT_GONE"}
	ErrClientDone = &EndError{Reason: "UNSUBSCRIBED"}
	ErrDraining   = &EndError{Reason: "SERVER_STOPPING", Again: true}
	ErrMaxLife    = &EndError{Reason: "MAX_LIFE", Again: true}
	ErrTooSlow    = &EndError{Reason: "TOO_SLOW", Again: true}
	ErrSilent     = &EndError{Reason: "CLIENT_SILENT", Again: true}
	ErrProtocol   = &EndError{Reason: "CLIENT_ERROR"}
)

// The reasons of other ends.
const (
	reasonRefused = "REFUSED"
	reasonFailed  = "FAILED"
)

// endOf returns why a stream's context ended.
func endOf(ctx context.Context) *EndError {
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*EndError](cause); ok {
		return e
	}
	if ended, ok := errors.AsType[*authz.SessionEndedError](cause); ok {
		return &EndError{Reason: string(ended.Kind), Err: ended.Err, Cause: ended}
	}
	if cause == nil || errors.Is(cause, context.Canceled) && !isAPIError(cause) {
		return ErrClientGone
	}
	return &EndError{Reason: reasonFailed, Err: cause}
}

func isAPIError(err error) bool {
	_, ok := errors.AsType[*apierror.Error](err)
	return ok
}
