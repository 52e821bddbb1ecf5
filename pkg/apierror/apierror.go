// Package apierror holds the errors that Kairship may show to a caller.
//
// Everything a caller sees is built here on purpose: a stable Code for
// programs, and a Message for a person that says what was wrong, where, and
// what to do. An error of any other type reaches the caller as CodeInternal
// without its text, because that text was not checked for secrets.
package apierror

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Code is the kind of a failure, for programs. The set is closed: clients switch on it.
type Code string

// The codes of the API.
const (
	// CodeUnauthenticated means that the request carries no valid identity.
	CodeUnauthenticated Code = "UNAUTHENTICATED"
	// CodeForbidden means that the caller is known and may not do this.
	CodeForbidden Code = "FORBIDDEN"
	// CodeNotFound means that the object does not exist, or that the caller may not know that it does.
	CodeNotFound Code = "NOT_FOUND"
	// CodeAlreadyExists means that an object of this name exists.
	CodeAlreadyExists Code = "ALREADY_EXISTS"
	// CodeConflict means that the object moved since the caller read it.
	CodeConflict Code = "CONFLICT"
	// CodeInvalid means that the request itself is wrong; Argument names where.
	CodeInvalid Code = "INVALID"
	// CodeInstanceUnavailable means that one instance does not answer.
	CodeInstanceUnavailable Code = "INSTANCE_UNAVAILABLE"
	// CodeIndexUnavailable means that the index (Clusterpedia) does not answer.
	CodeIndexUnavailable Code = "INDEX_UNAVAILABLE"
	// CodeStaleCursor means that a cursor no longer fits the list it is used on.
	CodeStaleCursor Code = "STALE_CURSOR"
	// CodeRateLimited means that the caller sent too much; it may retry later.
	CodeRateLimited Code = "RATE_LIMITED"
	// CodeQueryTooComplex means that the operation costs more than one request may.
	CodeQueryTooComplex Code = "QUERY_TOO_COMPLEX"
	// CodeTimeout means that the deadline passed before an answer came.
	CodeTimeout Code = "TIMEOUT"
	// CodePersistedQueryNotFound means that the server does not know the document that
	// the request names by its hash; send it with its text once.
	CodePersistedQueryNotFound Code = "PERSISTED_QUERY_NOT_FOUND"
	// CodePersistedQueryNotSupported means that the server remembers no documents; send
	// them with their texts.
	CodePersistedQueryNotSupported Code = "PERSISTED_QUERY_NOT_SUPPORTED"
	// CodeInternal means that Kairship failed; the log has the cause under the request's trace id.
	CodeInternal Code = "INTERNAL"
)

// Codes lists every code, in the order of the documentation.
func Codes() []Code {
	return []Code{
		CodeUnauthenticated, CodeForbidden, CodeNotFound, CodeAlreadyExists, CodeConflict, CodeInvalid,
		CodeInstanceUnavailable, CodeIndexUnavailable, CodeStaleCursor, CodeRateLimited, CodeQueryTooComplex,
		CodeTimeout, CodePersistedQueryNotFound, CodePersistedQueryNotSupported, CodeInternal,
	}
}

// HTTPStatus is the status of a response whose only content is an error of
// this code. A response of GraphQL with data, be it null, stays 200, as GraphQL
// over HTTP asks; docs/graphql.md has the statuses that it can have.
func (c Code) HTTPStatus() int {
	switch c {
	case CodeUnauthenticated:
		return http.StatusUnauthorized
	case CodeForbidden:
		return http.StatusForbidden
	case CodeNotFound:
		return http.StatusNotFound
	case CodeAlreadyExists, CodeConflict:
		return http.StatusConflict
	case CodeInvalid, CodeStaleCursor, CodeQueryTooComplex, CodePersistedQueryNotFound, CodePersistedQueryNotSupported:
		return http.StatusBadRequest
	case CodeRateLimited:
		return http.StatusTooManyRequests
	case CodeInstanceUnavailable, CodeIndexUnavailable:
		return http.StatusServiceUnavailable
	case CodeTimeout:
		return http.StatusGatewayTimeout
	case CodeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusInternalServerError
}

// Error is a failure that is safe to show.
type Error struct {
	// Code is for programs.
	Code Code
	// Message is for a person. It holds no secret and no text from upstream.
	Message string
	// Argument is the path of the input that is at fault, for example
	// "filter.labelSelector"; empty where no input is.
	Argument string
	// Instance is the instance whose part of the answer failed; empty where none is.
	Instance string
	// Fields are all inputs that are wrong, where several may be; Argument is the first of them.
	Fields []Field
	// CurrentVersion is the resourceVersion of the object as it is now, where the
	// caller meant another one; empty otherwise.
	CurrentVersion string
	// RetryAfter is when the caller may try again, with CodeRateLimited; zero where
	// that can't be said.
	RetryAfter time.Duration
	// Cost is what the operation would have cost, with CodeQueryTooComplex; nil where
	// that is not what is wrong.
	Cost *Cost
	// Cause is logged and never shown.
	Cause error
}

// Cost is what an operation would have cost that costs too much.
type Cost struct {
	// Value and Limit are in values of the answer.
	Value int `json:"value"`
	Limit int `json:"limit"`
	// MostExpensive holds the most expensive fields, each with its cost.
	MostExpensive []string `json:"mostExpensive"`
	// Dearest is a copy of MostExpensive, for clients that still read this deprecated name.
	Dearest []string `json:"dearest"`
}

// Field is an input that is wrong.
type Field struct {
	// Argument is its path, as in Error.
	Argument string `json:"argument"`
	// Message says what is wrong with it.
	Message string `json:"message"`
}

// Error implements error with the text for a person; the cause stays out of it.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Argument != "" {
		b.WriteString(e.Argument)
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// New makes an error of the given code.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an error of the given code whose cause goes to the log only.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// Invalid makes a CodeInvalid error that names the argument that is wrong.
func Invalid(argument, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Argument: argument, Message: fmt.Sprintf(format, args...)}
}

// NotFound makes a CodeNotFound error. Its text is the same whether the object
// is missing or hidden from the caller.
func NotFound(kind, name string) *Error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("%s %q was not found", kind, name)}
}

// At says which input an error is about. Errors that name one, and errors of other
// types, are returned as they are.
func At(err error, argument string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Argument != "" {
		return err
	}
	named := *e
	named.Argument = argument
	return &named
}

// CodeOf returns the code of any error; CodeInternal when it has none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// In says which instance's part of an answer an error belongs to. Errors of
// other types are returned as they are.
func In(err error, instance string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Instance != "" {
		return err
	}
	named := *e
	named.Instance = instance
	return &named
}
