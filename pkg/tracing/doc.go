// Package tracing makes the spans of both programs, and carries their trace from
// what calls Kairship to what Kairship calls.
//
// It is off until Use is given a provider, which only cmd does: then nothing of it
// costs more than a look at a pointer. What is not part of a sampled trace makes
// no span either, so that what goes on without a request (watches, probes) stays out of
// traces unless it begins one with Root.
//
// Attributes are words and numbers of Kairship's own, the names of operations, and
// names of instances that there are. No path, no query string, no header, no
// variable and no document goes into a span: each of them may hold a secret that
// a user put into the wrong place. The document of an operation is the exception
// that an administrator may switch on; see graph/server.
//
// Of W3C Trace Context, traceparent and tracestate are read and passed on. Baggage
// is not: nothing that a caller made up is to reach an instance.
package tracing
