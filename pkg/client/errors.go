package client

import (
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// Unavailable reports whether an error is one of a server that does not answer now.
func Unavailable(err error) bool { return connect.CodeOf(err) == connect.CodeUnavailable }

// Reason returns the code of an error as docs/graphql.md lists them, such as NOT_FOUND; empty where it has none.
func Reason(err error) string { return detail[*errdetails.ErrorInfo](err).GetReason() }

// TraceID returns what the log names the failed request by; empty where the error has none.
func TraceID(err error) string { return detail[*errdetails.ErrorInfo](err).GetMetadata()["traceId"] }

// RetryAfter returns when to try again; zero where the error does not say.
func RetryAfter(err error) time.Duration {
	return detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration()
}

// Violations returns what is wrong with each argument of a request, by its path.
func Violations(err error) map[string]string {
	wrong := map[string]string{}
	for _, v := range detail[*errdetails.BadRequest](err).GetFieldViolations() {
		wrong[v.GetField()] = v.GetDescription()
	}
	return wrong
}

// detail returns the detail of a type; its zero value where there is none.
func detail[T any](err error) (zero T) {
	failed, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return zero
	}
	for _, d := range failed.Details() {
		if value, err := d.Value(); err == nil {
			if of, ok := value.(T); ok {
				return of
			}
		}
	}
	return zero
}
