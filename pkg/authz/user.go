package authz

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
)

// User is an authenticated caller, in the words of Kubernetes.
type User struct {
	// Name is the user name, for example "alice" or "system:serviceaccount:ci:deployer".
	Name string
	// UID distinguishes users that had the same name at different times; empty when the
	// authenticator gave none.
	UID string
	// Groups are the groups that the authenticator vouched for.
	Groups []string
	// Extra is what else the authenticator said; authorizers and impersonation pass it on.
	Extra map[string][]string
}

// identity is a fixed-size fingerprint of everything that an access decision depends on.
type identity [sha256.Size]byte

// identity writes the length before each part: without it, group "a,b" and
// groups "a" and "b" could share an entry of the decision cache.
func (u User) identity() identity {
	h := sha256.New()
	writePart(h, u.Name)
	writePart(h, u.UID)
	writeParts(h, u.Groups)
	writeCount(h, len(u.Extra))
	for _, key := range slices.Sorted(maps.Keys(u.Extra)) {
		writePart(h, key)
		writeParts(h, u.Extra[key])
	}
	return identity(h.Sum(nil))
}

func writeParts(h hash.Hash, parts []string) {
	writeCount(h, len(parts))
	for _, p := range parts {
		writePart(h, p)
	}
}

func writePart(h hash.Hash, s string) {
	writeCount(h, len(s))
	h.Write([]byte(s))
}

func writeCount(h hash.Hash, n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n)) //nolint:gosec // Nothing is counted below zero.
	h.Write(b[:])
}

type userKey struct{}

// identified is a user with their identity, which each read of a request asks for.
type identified struct {
	User
	id identity
}

// WithoutUser returns a context without a user, with which everything fails that needs the caller.
func WithoutUser(ctx context.Context) context.Context {
	return context.WithValue(ctx, userKey{}, nil)
}

// WithUser returns a context that carries the caller.
func WithUser(ctx context.Context, u User) context.Context {
	return context.WithValue(ctx, userKey{}, identified{u, u.identity()})
}

// UserFrom returns the caller of the request that ctx belongs to; false outside of an authenticated
// request.
func UserFrom(ctx context.Context) (User, bool) {
	i, ok := ctx.Value(userKey{}).(identified)
	return i.User, ok
}
