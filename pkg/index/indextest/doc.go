// Package indextest is an index for tests of what reads one.
//
// It answers the requests of a pkg/index Client as Clusterpedia does: over HTTP,
// from a table in a real SQLite database, so that a test sees what a statement
// finds and not only how it is spelt. What a real index can't be made to do in a
// test, it does on demand: objects that come and go between two requests, a
// feature gate that is switched during a read, a database that no one
// knows, answers that are wrong.
//
// It is SQLite as Clusterpedia embeds it, in the same version, and needs a C
// compiler. Only tests may import it.
package indextest
