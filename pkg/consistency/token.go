package consistency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// Lifetime is how long a token is of use. The index is either there by then, or
// its lag shows in the freshness of every answer.
const Lifetime = 5 * time.Minute

// Bounds of a token.
const (
	// maxVersions is how many objects one token can name.
	maxVersions = 500
	// maxToken is the length of the longest text that is looked at.
	maxToken = 64 << 10
	// maxPlain is the size of what a token may hold.
	maxPlain = 512 << 10
)

// tokenArgument is what errors about a token name.
const tokenArgument = "consistencyToken"

// format begins every token, so that another format can follow.
const format = 1

// KeySize is the size of a key in bytes.
const KeySize = 32

// keyIDSize is how much of a key's fingerprint a token carries.
const keyIDSize = 4

// Keys provides the key that all replicas share.
type Keys interface {
	// Key returns the key to seal with.
	Key(ctx context.Context) ([]byte, error)
	// Find returns the key of an id; nil when there is none.
	Find(ctx context.Context, id [keyIDSize]byte) ([]byte, error)
}

// Tokens makes tokens and reads them.
type Tokens struct {
	Keys Keys
	Now  func() time.Time
}

// content is what a token holds.
type content struct {
	Expires  int64     `json:"e"`
	Versions []Version `json:"w"`
}

// Issue makes the token for some writes of the user of the context. The token is encrypted, so it
// does not show what was written, or by which user.
func (t *Tokens) Issue(ctx context.Context, versions ...Version) (string, error) {
	if len(versions) > maxVersions {
		return "", fmt.Errorf("%d objects are more than a token can name", len(versions))
	}
	return t.seal(ctx, format, content{Expires: t.Now().Add(Lifetime).Unix(), Versions: versions})
}

// Read returns the versions that a token names. The error is INVALID for a token that is malformed,
// too old or another user's, and asks for another token, because a retry does not help.
func (t *Tokens) Read(ctx context.Context, text string) ([]Version, error) {
	if len(text) > maxToken {
		return nil, apierror.Invalid(tokenArgument, "a consistency token is at most %d characters long", maxToken)
	}
	var c content
	switch err := t.open(ctx, format, text, &c); {
	case errors.Is(err, errNotOurs):
		return nil, notOurs()
	case errors.Is(err, errNoKey):
		return nil, apierror.Wrap(err, apierror.CodeTimeout, "the consistency token cannot be read now; try again, or leave it out")
	case err != nil:
		return nil, err
	case t.Now().After(time.Unix(c.Expires, 0)):
		return nil, errExpired
	}
	return c.Versions, nil
}

var errExpired = apierror.Invalid(tokenArgument, "this consistency token has expired: it is good for %s after the write. Leave it out", Lifetime)

func notOurs() error {
	return apierror.Invalid(tokenArgument, "this is no consistency token of yours: send one that a mutation of yours answered with, as it was, or none")
}
