// Package mcp serves named operations to assistants as tools of the Model Context Protocol.
//
// A call of a tool is sent to the handler of /graphql as a request of its own, in the same process and with the token of the
// caller: it has the same permissions, limits, cost and log lines as any other. No tool writes, none reads a Secret, a
// kubeconfig or through the passthrough.
package mcp
