package globalmanagement

// EventType says what happened to a binding.
type EventType string

// What can happen to a binding. Bound and changed have the same effect, because
// a changed may arrive before its bound: both make the binding what they say.
const (
	Bound   EventType = "bound"
	Changed EventType = "changed"
	// Unbound takes the role away.
	Unbound EventType = "unbound"
)

// SubjectKind reports whether a binding is about one person or about a group.
type SubjectKind string

// The kinds of subjects.
const (
	User  SubjectKind = "User"
	Group SubjectKind = "Group"
)

// Subject is the user or group that has a role.
type Subject struct {
	Kind SubjectKind `json:"kind"`
	// Name is that which the global cluster's authentication gives the user or
	// group; upper and lower case differ.
	Name string `json:"name"`
}

// Role is what a binding lets its subject do on the instance.
type Role string

// The roles, from the one that permits least to the one that permits most. The InstanceRegistration
// of an instance describes what each permits.
const (
	Viewer Role = "viewer"
	Editor Role = "editor"
	Admin  Role = "admin"
)

// Binding is what is true of a binding from one of its events on.
type Binding struct {
	// BindingID is the platform's name for it: up to 256 characters, never used
	// for another binding.
	BindingID string `json:"bindingID"`
	// Sequence numbers the events of this binding, from 1 on; a higher one is
	// later. There may be gaps.
	Sequence int64 `json:"sequence"`
	// Subject and Instance never change for a BindingID.
	Subject Subject `json:"subject"`
	Role    Role    `json:"role"`
	// Instance is the name of the Instance.
	Instance string `json:"instance"`
	// Namespaces are those that the role is given in. Leave it out (nil) to give
	// the role on the whole instance: an empty list is refused, so that a list
	// that becomes empty never gives more than before.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Event is something that happened to a binding.
type Event struct {
	// EventID names the event, up to 256 characters. The same event sent again
	// has the same one.
	EventID string    `json:"eventID"`
	Type    EventType `json:"type"`
	// Binding is what is true now; for Unbound, what was true before.
	Binding
}

// Resync is what is true of all bindings at one moment.
type Resync struct {
	// AsOf is the moment before the platform began to read the bindings, in milliseconds since
	// 1970-01-01 00:00 UTC by the clock that its requests are signed with. Bindings that Kairship
	// received later than that are kept even if they are not among Bindings.
	AsOf int64 `json:"asOf"`
	// Bindings are all that exist. Those that Kairship has from the platform and
	// that are not here lose their roles.
	Bindings []Binding `json:"bindings"`
}
