// Package consistency lets people read their own writes.
//
// A write answers with a token that names what was written and at which version.
// A later operation that carries the token reads the index only once the index
// has those versions. The wait is short and bounded, because the index lags by
// milliseconds while it is well; when it does not catch up, the named objects are
// read from the instance itself, as the caller, and laid over what the index says.
//
// A subscription that carries the token begins once the watches have what it names
// (Written): SYNCED comes behind it.
//
// A token is encrypted for the user who got it, with a key that all replicas share
// (keys.go), and is worth nothing to other users, nor after some minutes. It
// grants nothing: a user who brings it sees what they may see.
package consistency
