// Package globalmanagement is the protocol by which a platform's identity and
// access management, "global management", tells Kairship who has which role on
// which instance. docs/global-management.md describes it for people who speak
// it without Go; package client below this one speaks it for a Go program.
//
// A binding gives one user or group one role on one instance, in the whole of it
// or in some namespaces. The platform owns it and numbers what happens to it: an
// [Event] with a higher sequence is later. Every event says all that is true of
// the binding from then on, so events may arrive twice, late or in any order, at
// any replica: what is stored in the end is the event with the highest sequence.
// A [Resync] says what is true of all bindings at one moment, for when events
// may have been lost.
//
// Requests are signed with a secret that both sides know, see [Sign]. The types
// here are the JSON that travels. The package, and client, import nothing but
// the standard library.
package globalmanagement

// The paths of the endpoint.
const (
	EventsPath = "/global-management/v1/events"
	ResyncPath = "/global-management/v1/resync"
)

// The largest bodies that are read, in bytes. A resync of 50,000 bindings of a
// usual size fits.
const (
	MaxEventBytes  = 64 << 10
	MaxResyncBytes = 16 << 20
)
