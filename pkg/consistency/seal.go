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

	"github.com/kairship-io/kairship/pkg/authz"
)

var (
	// errNotOurs is a text that was not sealed here for this user and purpose.
	errNotOurs = errors.New("it was not made here for this user")
	// errNoKey is a key that can't be looked up now.
	errNoKey = errors.New("the key cannot be read now")
)

// seal makes an opaque text of a value, which only the user of the context
// can bring back, at any replica. The first byte says what it is for.
func (t *Tokens) seal(ctx context.Context, format byte, v any) (string, error) {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return "", errors.New("nothing was written")
	}
	key, err := t.Keys.Key(ctx)
	if err != nil {
		return "", err
	}
	aead, err := newAEAD(key)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(v)
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

// open reads what seal made for the same user and purpose. It fails with
// errNotOurs for anything else, and with errNoKey while the key can't be read.
func (t *Tokens) open(ctx context.Context, format byte, text string, into any) error {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return errors.New("there is no token")
	}
	if len(text) > maxToken {
		return errNotOurs
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < 1+keyIDSize || sealed[0] != format {
		return errNotOurs
	}
	head, rest := sealed[:1+keyIDSize], sealed[1+keyIDSize:]
	key, err := t.Keys.Find(ctx, [keyIDSize]byte(head[1:]))
	if err != nil {
		return fmt.Errorf("%w: %w", errNoKey, err)
	}
	if key == nil {
		return errNotOurs
	}
	aead, err := newAEAD(key)
	if err != nil {
		return err
	}
	if len(rest) < aead.NonceSize() {
		return errNotOurs
	}
	packed, err := aead.Open(nil, rest[:aead.NonceSize()], rest[aead.NonceSize():], boundTo(user, head))
	if err != nil {
		return errNotOurs
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxPlain))
	if err == nil {
		err = json.Unmarshal(plain, into)
	}
	if err != nil {
		return errNotOurs
	}
	return nil
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

// keyID returns a fingerprint of a key that does not reveal the key.
func keyID(key []byte) [keyIDSize]byte {
	sum := sha256.Sum256(append([]byte("kairship consistency key "), key...))
	return [keyIDSize]byte(sum[:keyIDSize])
}
