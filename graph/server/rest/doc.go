// Package rest serves the named operations of the API as resources of HTTP: a path for each, JSON bodies, and errors as
// problems (RFC 9457).
//
// A request becomes the parameters of its operation, and is executed as every request of /graphql: the same identity,
// limits, cost, audit and spans. Only the first step and the last one are here.
package rest
