package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// Error is a call that did not succeed.
type Error struct {
	// Status is the HTTP status of the last answer; 0 when there was none.
	Status int
	// Code, Field and Message are Kairship's, or this package's for what it did
	// not send; Code is empty when the answer was no program's or another program's.
	Code    gm.Code
	Field   string
	Message string
	// RetryAfter is what the answer asked for; 0 when it did not.
	RetryAfter time.Duration
	// Attempts is how many requests were made.
	Attempts int

	cause error // what went wrong below
	ended error // why no further attempt was made, when the context ended
}

// The kinds of errors, for errors.Is.
var (
	ErrMalformed        = kind(gm.Malformed)
	ErrWrongSignature   = kind(gm.WrongSignature)
	ErrUnknownInstance  = kind(gm.UnknownInstance)
	ErrReplay           = kind(gm.Replay)
	ErrSequenceConflict = kind(gm.SequenceConflict)
	ErrBindingConflict  = kind(gm.BindingConflict)
	ErrStaleTimestamp   = kind(gm.StaleTimestamp)
	ErrTooLarge         = kind(gm.TooLarge)
	ErrUnavailable      = kind(gm.Unavailable)
)

// kind is an error that stands for a code.
type kind gm.Code

func (k kind) Error() string { return string(k) }

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("Kairship's webhook: ")
	if e.Status != 0 {
		fmt.Fprintf(&b, "HTTP %d: ", e.Status)
	}
	if e.Code != "" {
		b.WriteString(string(e.Code) + ": ")
	}
	b.WriteString(e.Message)
	if e.cause != nil {
		fmt.Fprintf(&b, ": %v", e.cause)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (after %d attempts)", e.Attempts)
	}
	if e.ended != nil {
		fmt.Fprintf(&b, "; no more time: %v", e.ended)
	}
	return b.String()
}

// Is reports whether the error is of the kind of target.
func (e *Error) Is(target error) bool {
	k, ok := target.(kind)
	return ok && e.Code != "" && gm.Code(k) == e.Code
}

// Unwrap gives what went wrong below, such as a network error or the context's.
func (e *Error) Unwrap() []error {
	var below []error
	for _, err := range []error{e.cause, e.ended} {
		if err != nil {
			below = append(below, err)
		}
	}
	return below
}

// Temporary reports whether a later call with the same event or resync may succeed
// without any action.
func Temporary(err error) bool {
	failure, ok := errors.AsType[*Error](err)
	return ok && failure.retry()
}

// retry reports whether another attempt may succeed.
func (e *Error) retry() bool {
	switch e.Code {
	case gm.Replay, gm.StaleTimestamp, gm.Unavailable:
		return true // Each attempt is signed anew.
	case gm.Malformed, gm.WrongSignature, gm.UnknownInstance, gm.UnknownPath, gm.MethodNotAllowed, gm.SequenceConflict, gm.BindingConflict, gm.TooLarge:
		return false
	}
	switch e.Status {
	case 0:
		return true // No answer, or no secret yet.
	case http.StatusOK:
		return e.Message != notKairship // Cut off.
	default:
		return e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError
	}
}
