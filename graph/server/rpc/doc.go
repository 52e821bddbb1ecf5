// Package rpc serves the named operations of the API by gRPC, gRPC-Web and Connect: a method for each, with messages that
// are generated of the same files (package protofile).
//
// A request becomes the parameters of its operation, and is executed as every request of /graphql: the same identity,
// limits, cost, audit and spans. Only the first step and the last one are here.
package rpc
