// Package server serves a GraphQL schema over HTTP: transports, authentication, limits, deadlines,
// the error presenter, the log lines and GraphiQL.
//
// Its HTTP statuses follow the GraphQL over HTTP specification
// (https://graphql.github.io/graphql-over-http/draft/): a request that is refused before execution
// is 4xx under application/graphql-response+json, and 200 under application/json when it was at
// least well formed, because old clients of that media type read errors only from a 200. Failed
// authentication and what HTTP itself forbids (401, 403, 405, 413, 415, 503) show in the status
// whatever the media type.
//
// The packages below are joined here. A request passes them in this order:
//
//   - trace gives it an id and a span, telemetry records what becomes of it;
//   - session and identity find out who sends it, origin which page may;
//   - httptransport or websocket read it (mediatype, body, params);
//   - document finds the documents of hashes, limit and validation refuse what is too
//     large, too expensive or wrong, in the order in which the checks cost;
//   - execution executes queries and mutations, or answers with those of answercache;
//     subscription runs subscriptions, whose results sse or websocket send;
//   - presenter decides what callers see of errors, and response writes the answer.
//
// docs/limits.md has every limit with its flag and its error.
package server
