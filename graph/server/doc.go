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
package server
