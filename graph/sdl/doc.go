// Package sdl publishes the schema as one file, docs/schema.graphql, and reports which
// of its changes break clients.
//
// What is compared is the published file with released.graphql, the schema that
// clients were last promised: a break is noticed when it is made, and not when it
// is deployed. Comparing with an earlier commit would let a break pass as soon as it
// is committed.
package sdl

//go:generate go run github.com/kairship-io/kairship/hack/schema print
