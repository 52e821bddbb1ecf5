// Package globalmanagement defines the protocol by which a platform's identity and access management,
// "global management", sends role bindings on instances to Kairship. Programs outside of this
// repository may import it; package client below this one implements the sender.
// docs/global-management.md describes the protocol for other languages than Go.
//
// A binding gives one user or group one role on one instance, in the whole of it or in some
// namespaces. The platform owns it and numbers its events: an [Event] with a higher sequence is
// later. Every event has the complete state of the binding from then on, so events may arrive
// twice, late or in any order, at any replica: the event with the highest sequence is stored in the
// end. A [Resync] has the state of all bindings at one moment, for when events may have been lost.
//
// Requests are signed with a secret that both sides have, see [Sign]. The types here are the JSON
// that is sent. The package, and client, import nothing but the standard library.
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
