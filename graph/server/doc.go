// Package server puts a GraphQL schema on HTTP: transports, authentication,
// limits, deadlines, the error presenter, the log lines and GraphiQL.
//
// Its HTTP statuses follow the GraphQL over HTTP specification
// (https://graphql.github.io/graphql-over-http/draft/): a request that is
// refused before execution is 4xx under application/graphql-response+json, and
// 200 under application/json when it was at least well formed, because old
// clients of that media type read errors only from a 200. Who the caller is and
// what HTTP itself forbids (401, 403, 405, 413, 415, 503) shows in the status
// whatever the media type.
//
// # Limits
//
// What a request may ask for is checked in the order in which it costs: the size of
// the body (input.go), the shape of the document before it is validated (shape.go),
// then what the operation would cost (package cost). quota.go bounds each user,
// persisted.go finds documents by their hashes, origin.go keeps other pages out, and
// redact.go keeps what was sent out of what is said about it. docs/limits.md has every
// limit with its flag and its error.
//
// # Shared answers
//
// answers (share.go) executes equal queries once. What makes two queries equal is in
// answer.go, what a request brings that keeps it from sharing in sharerequest.go, and which
// fields are shared in package sharing.
package server
