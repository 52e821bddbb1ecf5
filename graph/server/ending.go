package server

import (
	"context"
	"errors"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// endError is why a stream ended. It is the cause of the end of the stream's context.
type endError struct {
	// reason is for logs, metrics and programs: extensions.reason of the last error.
	reason string
	// err is the last thing that the client hears; nil when there is nothing to say.
	err error
	// again: the client is to connect again and to go on where it stood.
	again bool
	// cause is what ended it, where that was not a transport.
	cause error
}

// Error implements error.
func (e *endError) Error() string { return e.reason }

// The endings that the transports themselves decide on.
var (
	errCompleted  = &endError{reason: "COMPLETED"}
	errClientGone = &endError{reason: "CLIENT_GONE"}
	errClientDone = &endError{reason: "UNSUBSCRIBED"}
	errDraining   = &endError{reason: "SERVER_STOPPING", again: true}
	errMaxLife    = &endError{reason: "MAX_LIFE", again: true}
	errTooSlow    = &endError{reason: "TOO_SLOW", again: true}
	errSilent     = &endError{reason: "CLIENT_SILENT", again: true}
	errProtocol   = &endError{reason: "CLIENT_ERROR"}
)

// reasonOf the endings that come from elsewhere.
const (
	reasonRefused = "REFUSED"
	reasonFailed  = "FAILED"
)

// endingOf returns why a stream's context ended.
func endingOf(ctx context.Context) *endError {
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*endError](cause); ok {
		return e
	}
	if lapse, ok := errors.AsType[*authz.SessionEndedError](cause); ok {
		return &endError{reason: string(lapse.Kind), err: lapse.Err, cause: lapse}
	}
	if cause == nil || errors.Is(cause, context.Canceled) && !isAPIError(cause) {
		return errClientGone
	}
	return &endError{reason: reasonFailed, err: cause}
}

func isAPIError(err error) bool {
	_, ok := errors.AsType[*apierror.Error](err)
	return ok
}
