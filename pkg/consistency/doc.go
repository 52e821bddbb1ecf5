// Package consistency provides read-your-writes consistency for the index.
//
// The result of a write has a token with the written objects and their versions. An operation that
// carries the token reads the index only once the index has those versions. The wait is short and
// bounded, because a healthy index lags by milliseconds; when the index does not catch up in time,
// the named objects are read from the instance itself, as the caller, and replace those of the
// index.
//
// A subscription that carries the token begins once its watches have the named versions (Written):
// SYNCED comes after them.
//
// A token is encrypted for the user who got it, with a key that all replicas share (keys.go). It is
// not valid for other users, and expires after some minutes. It grants no permission.
package consistency
