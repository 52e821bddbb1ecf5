// Package cookie seals values into cookies, with a key that all replicas share: no script reads them, and no
// replica remembers them.
package cookie

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kairship-io/kairship/pkg/consistency"
)

const (
	// hostPrefix begins the names of cookies that browsers take from this host alone and over TLS alone.
	hostPrefix = "__Host-"
	// partSize is how much of a value one cookie has: browsers keep 4,096 bytes of a cookie, with its attributes.
	partSize = 3800
	// maxParts is how many cookies one value may take.
	maxParts = 4
)

var (
	// ErrNone means that there is no cookie, or none that was sealed here and is good still.
	ErrNone = errors.New("there is no such cookie")
	// ErrTooLong is a value that browsers would not keep.
	ErrTooLong = errors.New("it is longer than what browsers keep in cookies")
)

// Jar seals the cookies of one purpose.
type Jar struct {
	// Name of the cookie. What is sealed for one name is good for no other.
	Name string
	// Path is where browsers send it, where they have no TLS; empty for everywhere. Cookies of one host alone, as
	// they are over TLS, are for all of its paths.
	Path string
	// SameSite is when browsers send it.
	SameSite http.SameSite
	// Life is how long it is good for.
	Life time.Duration
	Keys consistency.Keys
	Now  func() time.Time
}

// sealed is what a cookie holds.
type sealed struct {
	Expires int64           `json:"e"`
	Value   json.RawMessage `json:"v"`
}

// Set sets the cookie to a value, which is written as JSON. Where one cookie is too short for it, it takes several.
// It fails with ErrTooLong, or with the error of reading the key.
func (j *Jar) Set(w http.ResponseWriter, r *http.Request, value any) error {
	text, err := j.Seal(r.Context(), value)
	if err != nil {
		return err
	}
	if len(text) > maxParts*partSize {
		return ErrTooLong
	}
	j.write(w, r, text)
	return nil
}

// Remove removes the cookie.
func (j *Jar) Remove(w http.ResponseWriter, r *http.Request) { j.write(w, r, "") }

// write sets the cookies of a text, and removes what is left of a longer one.
func (j *Jar) write(w http.ResponseWriter, r *http.Request, text string) {
	for i := range maxParts {
		part := text[min(i*partSize, len(text)):min((i+1)*partSize, len(text))]
		cookie := j.part(r, i) //nolint:gosec // It is Secure where there is TLS.
		cookie.Value, cookie.MaxAge = part, int(j.Life.Seconds())
		if part == "" {
			if _, err := r.Cookie(cookie.Name); err != nil && i > 0 {
				continue
			}
			cookie.MaxAge = -1
		}
		http.SetCookie(w, cookie)
	}
}

// Get reads the value of a request into a variable. It fails with ErrNone, or with the error of reading the key.
func (j *Jar) Get(r *http.Request, into any) error {
	var text strings.Builder
	for i := range maxParts {
		cookie, err := r.Cookie(j.part(r, i).Name)
		if err != nil {
			break
		}
		text.WriteString(cookie.Value)
	}
	if text.Len() == 0 {
		return ErrNone
	}
	return j.Open(r.Context(), text.String(), into)
}

// part is a cookie without a value, as the request's connection needs it. Without TLS, which is for loopback
// only, browsers keep no Secure cookie.
func (j *Jar) part(r *http.Request, i int) *http.Cookie {
	cookie := &http.Cookie{Name: j.Name, Path: cmp.Or(j.Path, "/"), HttpOnly: true, SameSite: j.SameSite} //nolint:gosec // It is Secure where there is TLS.
	if i > 0 {
		cookie.Name += "_" + strconv.Itoa(i)
	}
	if secure(r) {
		cookie.Name, cookie.Path, cookie.Secure = hostPrefix+cookie.Name, "/", true
	}
	return cookie
}

// secure reports whether the browser has TLS, to here or to a proxy.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// Seal returns a value as text that only Open reads, for Life. It fails with the error of reading the key.
func (j *Jar) Seal(ctx context.Context, value any) (string, error) {
	secret, err := j.Keys.Key(ctx)
	if err != nil {
		return "", err
	}
	aead, err := j.aead(secret)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(sealed{j.Now().Add(j.Life).Unix(), raw})
	if err != nil {
		return "", err
	}
	id := consistency.KeyID(secret)
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(aead.Seal(append(id[:], nonce...), nonce, plain, []byte(j.Name))), nil
}

// Open reads the value of a text into a variable. It fails with ErrNone, or with the error of reading the key.
func (j *Jar) Open(ctx context.Context, text string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < consistency.KeyIDSize {
		return ErrNone
	}
	secret, err := j.Keys.Find(ctx, [consistency.KeyIDSize]byte(raw))
	if err != nil {
		return err
	}
	if secret == nil {
		return ErrNone
	}
	aead, err := j.aead(secret)
	if err != nil {
		return err
	}
	raw = raw[consistency.KeyIDSize:]
	if len(raw) < aead.NonceSize() {
		return ErrNone
	}
	plain, err := aead.Open(nil, raw[:aead.NonceSize()], raw[aead.NonceSize():], []byte(j.Name))
	if err != nil {
		return ErrNone
	}
	var content sealed
	if json.Unmarshal(plain, &content) != nil || !j.Now().Before(time.Unix(content.Expires, 0)) || json.Unmarshal(content.Value, into) != nil {
		return ErrNone
	}
	return nil
}

// aead keeps the key apart from what else is made of the same secret.
func (j *Jar) aead(secret []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "kairship cookie 1 "+j.Name, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
