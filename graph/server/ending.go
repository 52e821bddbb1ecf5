package server

import (
	"context"
	"errors"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// ending is why a stream ended. It is the cause of the end of the stream's context.
type ending struct {
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
func (e *ending) Error() string { return e.reason }

// The endings that the transports themselves decide on.
var (
	endCompleted  = &ending{reason: "COMPLETED"}
	endClientGone = &ending{reason: "CLIENT_GONE"}
	endClientDone = &ending{reason: "UNSUBSCRIBED"}
	endDraining   = &ending{reason: "SERVER_STOPPING", again: true}
	endMaxLife    = &ending{reason: "MAX_LIFE", again: true}
	endTooSlow    = &ending{reason: "TOO_SLOW", again: true}
	endSilent     = &ending{reason: "CLIENT_SILENT", again: true}
	endProtocol   = &ending{reason: "CLIENT_ERROR"}
)

// reasonOf the endings that come from elsewhere.
const (
	reasonRefused = "REFUSED"
	reasonFailed  = "FAILED"
)

// endingOf tells why a stream's context ended.
func endingOf(ctx context.Context) *ending {
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*ending](cause); ok {
		return e
	}
	if lapse, ok := errors.AsType[*authz.Lapse](cause); ok {
		return &ending{reason: string(lapse.Kind), err: lapse.Err, cause: lapse}
	}
	if cause == nil || errors.Is(cause, context.Canceled) && !isAPIError(cause) {
		return endClientGone
	}
	return &ending{reason: reasonFailed, err: cause}
}

func isAPIError(err error) bool {
	_, ok := errors.AsType[*apierror.Error](err)
	return ok
}
