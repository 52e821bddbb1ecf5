package consistency

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// Lifetime is how long a token is of use. The index is either there by then, or
// its lag shows in the freshness of every answer.
const Lifetime = 5 * time.Minute

// Bounds of a token.
const (
	// MaxVersions is how many objects one token can name.
	MaxVersions = 500
	// maxToken is the length of the longest text that is looked at.
	maxToken = 64 << 10
	// maxPlain is the size of what a token may hold.
	maxPlain = 512 << 10
)

// Argument is what errors about a token name.
const Argument = "consistencyToken"

// format begins every token, so that another format can follow.
const format = 1

// KeySize is the size of a key in bytes.
const KeySize = 32

// keyIDSize is how much of a key's fingerprint a token carries.
const keyIDSize = 4

// Keys hands out the key that all replicas share.
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

// Issue makes the token of some writes of the user of the context. It is not told
// to anybody who sees it what was written, or by whom.
func (t *Tokens) Issue(ctx context.Context, versions ...Version) (string, error) {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return "", errors.New("nobody has written anything")
	}
	if len(versions) > MaxVersions {
		return "", fmt.Errorf("%d objects are more than a token can name", len(versions))
	}
	key, err := t.Keys.Key(ctx)
	if err != nil {
		return "", err
	}
	aead, err := newAEAD(key)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(content{Expires: t.Now().Add(Lifetime).Unix(), Versions: versions})
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(plain); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	id := keyID(key)
	head := append([]byte{format}, id[:]...)
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce)
	sealed := aead.Seal(append(head, nonce...), nonce, packed.Bytes(), boundTo(user, head))
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Read tells what a token names. The error is INVALID for one that is none, that
// is another user's or too old, and says so: nothing but another token helps.
func (t *Tokens) Read(ctx context.Context, text string) ([]Version, error) {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return nil, errors.New("nobody brings a token")
	}
	if len(text) > maxToken {
		return nil, apierror.Invalid(Argument, "a consistency token is at most %d characters long", maxToken)
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < 1+keyIDSize || sealed[0] != format {
		return nil, notOurs()
	}
	head, rest := sealed[:1+keyIDSize], sealed[1+keyIDSize:]
	key, err := t.Keys.Find(ctx, [keyIDSize]byte(head[1:]))
	if err != nil {
		return nil, apierror.Wrap(err, apierror.CodeTimeout, "the consistency token cannot be read now; try again, or leave it out")
	}
	if key == nil {
		return nil, notOurs()
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	if len(rest) < aead.NonceSize() {
		return nil, notOurs()
	}
	packed, err := aead.Open(nil, rest[:aead.NonceSize()], rest[aead.NonceSize():], boundTo(user, head))
	if err != nil {
		return nil, notOurs()
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxPlain))
	var c content
	if err == nil {
		err = json.Unmarshal(plain, &c)
	}
	switch {
	case err != nil:
		return nil, notOurs()
	case t.Now().After(time.Unix(c.Expires, 0)):
		return nil, apierror.Invalid(Argument, "this consistency token has expired: it is good for %s after the write. Leave it out", Lifetime)
	}
	return c.Versions, nil
}

func notOurs() error {
	return apierror.Invalid(Argument, "this is no consistency token of yours: send one that a mutation of yours answered with, as it was, or none")
}

// boundTo ties a token to its user and its head.
func boundTo(u authz.User, head []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %d %s ", len(u.Name), u.Name, len(u.UID), u.UID)
	h.Write(head)
	return h.Sum(nil)
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// keyID is a fingerprint of a key, which tells nothing about it.
func keyID(key []byte) [keyIDSize]byte {
	sum := sha256.Sum256(append([]byte("kairship consistency key "), key...))
	return [keyIDSize]byte(sum[:keyIDSize])
}
