// Package subscription runs subscriptions for the transports.
//
// running does what is the same on every transport: it counts the subscription, has its
// caller checked for as long as it lasts (authz.SessionChecker), takes one result after the
// other from gqlgen, and finds out in the end why there are no more. Results go to a
// Sink: server-sent events, or an operation of a WebSocket. Every end is the cause of a
// context; see EndError.
//
// An idle connection costs little: one goroutine with a small stack that finds out when
// the client closes it, no buffers and no tickers; a subscription on it has no goroutine
// where its resolver lets the transport consume it (stream.Consumer). A change that adds to
// that adds it ten thousand times.
package subscription
