package globalmanagement

// Result is what became of an event, or of a binding in a resync.
type Result string

// The results of an event.
const (
	// Stored means that the binding is now as the event says.
	Stored Result = "stored"
	// Duplicate means that this event was stored before.
	Duplicate Result = "duplicate"
	// Superseded means that a later event was stored before.
	Superseded Result = "superseded"
)

// The results of a binding in a resync, beside Stored and Superseded.
const (
	// Unchanged means that the binding was as it should be.
	Unchanged Result = "unchanged"
	// Revoked means that the platform does not have the binding, and its role was
	// taken away.
	Revoked Result = "revoked"
	// Kept means that the platform did not have the binding when it read its own, and sent it to
	// Kairship later.
	Kept Result = "kept"
	// Refused means that the binding cannot be stored; Code says why.
	Refused Result = "refused"
	// Failed means that the binding could not be stored now: send the resync again.
	Failed Result = "failed"
)

// Receipt answers an event, with status 200. By then the binding is stored.
type Receipt struct {
	Result    Result `json:"result"`
	BindingID string `json:"bindingID"`
	// Sequence is that of the event that is stored now.
	Sequence int64 `json:"sequence"`
	// Object is the name of the InstanceRoleBinding in the global cluster.
	Object string `json:"object"`
}

// ResyncReport answers a resync: with status 200 when everything was looked at,
// with 503 when some bindings Failed.
type ResyncReport struct {
	// Counts are how many bindings had each result.
	Counts map[Result]int `json:"counts"`
	// Bindings are those of the resync, in its order, and then those that it did
	// not have.
	Bindings []BindingReport `json:"bindings"`
}

// BindingReport is what became of a binding in a resync.
type BindingReport struct {
	BindingID string `json:"bindingID"`
	Result    Result `json:"result"`
	// Sequence is that of what is stored now; 0 when nothing is.
	Sequence int64 `json:"sequence"`
	// Code, Field and Message say why a binding was Refused or Failed.
	Code    Code   `json:"code,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message,omitempty"`
}

// Code says why a request was refused. A refused request has changed nothing.
type Code string

// The codes, with the HTTP status that they come with.
const (
	// Malformed (400): the body is not what the protocol says; Field says where.
	Malformed Code = "MALFORMED"
	// WrongSignature (401): see ErrSignature.
	WrongSignature Code = "WRONG_SIGNATURE"
	// UnknownInstance (404): there is no Instance of that name.
	UnknownInstance Code = "UNKNOWN_INSTANCE"
	// UnknownPath (404): the endpoint has no such path.
	UnknownPath Code = "UNKNOWN_PATH"
	// MethodNotAllowed (405): only POST is served.
	MethodNotAllowed Code = "METHOD_NOT_ALLOWED"
	// Replay (409): this very request, with this timestamp and signature, was
	// received before. A sender that repeats the event signs it anew.
	Replay Code = "REPLAY"
	// SequenceConflict (409): another event of this binding has this sequence.
	SequenceConflict Code = "SEQUENCE_CONFLICT"
	// BindingConflict (409): this BindingID is that of another subject or instance.
	BindingConflict Code = "BINDING_CONFLICT"
	// StaleTimestamp (410): the timestamp is too old or from the future, see
	// DefaultTolerance; the signature was not looked at.
	StaleTimestamp Code = "STALE_TIMESTAMP"
	// TooLarge (413): the body is larger than MaxEventBytes or MaxResyncBytes.
	TooLarge Code = "TOO_LARGE"
	// Unavailable (503): it cannot be stored now. The header Retry-After says when
	// to try again.
	Unavailable Code = "UNAVAILABLE"
)

// Refusal is the body of every answer that is not 200, but for a ResyncReport.
type Refusal struct {
	Code Code `json:"code"`
	// Field is the part of the body that is wrong, such as subject.name or
	// bindings[2].role; empty when no part of it is.
	Field string `json:"field,omitempty"`
	// Message is for a person.
	Message string `json:"message"`
}
