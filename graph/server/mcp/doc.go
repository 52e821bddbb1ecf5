// Package mcp serves named operations to assistants as tools of the Model Context Protocol.
//
// A call of a tool is sent to the handler of /graphql as a request of its own, in the same process and with the token of the
// caller: it has the same permissions, limits, cost and log lines as any other. None reads a Secret, a kubeconfig or through
// the passthrough.
//
// Tools that write are there only where they are switched on. Without a confirmation they try; the confirmation that they answer
// with is good for the same call of the same user, as long as no object was changed.
package mcp
