// Package protofile writes the Protocol Buffers definition of the named operations: a method for each, and a message for
// each type of the schema that their variables and answers have.
//
// A message has the fields that any operation selects of its type, so that clients have one type for a noun; a method sets
// those that its own operation selects. Numbers are never used twice: they are kept in a file beside the definition, and
// what changes in a way that breaks a client is refused.
package protofile
