// Package session lends tokens to the EventSources of pages, in cookies.
package session

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/graph/server/params"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
)

// Path is where a page gets the cookie that its EventSource needs.
const Path = "/graphql/session"

const (
	// cookieName is the name of the cookie, after hostPrefix where it is for TLS alone.
	cookieName = "kairship_stream"
	// hostPrefix begins the names of cookies that browsers take from this host alone and
	// over TLS alone: no other host of the domain can put its own in the place of ours.
	hostPrefix = "__Host-"
	// life is how long the cookie is good for; the token in it may end sooner.
	life = 12 * time.Hour
	// maxCookie is what browsers keep of one cookie.
	maxCookie = 4000
	// purpose keeps the key apart from what else is made of the same secret.
	purpose = "kairship stream session 1"
)

// Cookies lends a browser's EventSource, which can send no header, the token of
// its page. The page posts its token once, in the Authorization header, and gets
// it back sealed, in a cookie that no script can read, that no other site can
// have sent, and that is good for nothing but reading subscriptions:
//
//   - a token in the address would be written into every log on the way and into
//     the browser's history, and a ticket that is good once would be spent when
//     EventSource connects again automatically;
//   - the cookie holds the token, not the user, so that it ends with the token, and
//     works at every replica without any memory of it;
//   - it is taken for GET requests of this origin that accept server-sent events,
//     and for operations that are subscriptions. Nothing can be changed with it.
//
// Every other client sends the Authorization header and needs no session.
type Cookies struct {
	// keys are the secrets that all replicas share; nil where there are no sessions.
	keys consistency.Keys
	now  func() time.Time
}

// New returns the cookies that are sealed with these keys; nil for no sessions.
func New(keys consistency.Keys, now func() time.Time) *Cookies { return &Cookies{keys: keys, now: now} }

// errNone is a cookie that is none of ours, or is too old.
var errNone = errors.New("not a session")

func newAEAD(secret []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal makes a cookie. It begins with the id of the key, which may have been replaced
// when the cookie comes back.
func (c *Cookies) seal(ctx context.Context, token string) (string, error) {
	secret, err := c.keys.Key(ctx)
	if err != nil {
		return "", err
	}
	aead, err := newAEAD(secret)
	if err != nil {
		return "", err
	}
	id := consistency.KeyID(secret)
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce)
	plain := binary.BigEndian.AppendUint64(nil, uint64(c.now().Add(life).Unix())) //nolint:gosec // After 1970.
	return base64.RawURLEncoding.EncodeToString(aead.Seal(append(id[:], nonce...), nonce, append(plain, token...), nil)), nil
}

func (c *Cookies) open(ctx context.Context, text string) (string, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(sealed) < consistency.KeyIDSize {
		return "", errNone
	}
	secret, err := c.keys.Find(ctx, [consistency.KeyIDSize]byte(sealed))
	if err != nil {
		return "", err
	}
	if secret == nil {
		return "", errNone
	}
	aead, err := newAEAD(secret)
	if err != nil {
		return "", err
	}
	sealed = sealed[consistency.KeyIDSize:]
	if len(sealed) < aead.NonceSize() {
		return "", errNone
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], nil)
	if err != nil || len(plain) < 8 {
		return "", errNone
	}
	if expires := time.Unix(int64(binary.BigEndian.Uint64(plain)), 0); !c.now().Before(expires) { //nolint:gosec // seal wrote it.
		return "", errNone
	}
	return string(plain[8:]), nil
}

// Credentials returns those of the cookie of a request; none where it has no cookie that may
// be taken.
func (c *Cookies) Credentials(r *http.Request) authz.Credentials {
	if c.keys == nil || r.Method != http.MethodGet || !origin.OwnPage(r) || !mediatype.NegotiateEvents(r).Accepted {
		return authz.Credentials{}
	}
	cookie, err := r.Cookie(emptyCookie(r).Name)
	if err != nil {
		return authz.Credentials{}
	}
	token, err := c.open(r.Context(), cookie.Value)
	if err != nil {
		return authz.Credentials{}
	}
	return authz.TokenCredentials(token).FromSession()
}

// emptyCookie returns the cookie without a value, as the request's connection needs it.
// Without TLS, which is for loopback only, browsers keep no Secure cookie.
func emptyCookie(r *http.Request) *http.Cookie {
	cookie := &http.Cookie{Name: cookieName, Path: "/graphql", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		// The prefix is for the path of the whole host.
		cookie.Name, cookie.Path, cookie.Secure = hostPrefix+cookieName, "/", true
	}
	return cookie
}

// Set sets the cookie with a token, where there are sessions.
func (c *Cookies) Set(ctx context.Context, w http.ResponseWriter, r *http.Request, token string) *params.Refusal {
	if c.keys == nil {
		return nil
	}
	value, err := c.seal(ctx, token)
	switch {
	case err != nil:
		return &params.Refusal{Status: http.StatusServiceUnavailable, Err: apierror.Wrap(err, apierror.CodeTimeout, "the session cannot be made now; try again")}
	case len(value) > maxCookie:
		return params.Refuse(http.StatusRequestHeaderFieldsTooLarge, "",
			"the token is too long for a cookie: use a client that can send it in a header (graphql-sse, or a WebSocket)")
	}
	cookie := emptyCookie(r) //nolint:gosec // It is Secure where there is TLS.
	cookie.Value, cookie.MaxAge = value, int(life.Seconds())
	http.SetCookie(w, cookie)
	return nil
}

// Remove removes the cookie.
func Remove(w http.ResponseWriter, r *http.Request) {
	cookie := emptyCookie(r) //nolint:gosec // It is Secure where there is TLS.
	cookie.MaxAge = -1
	http.SetCookie(w, cookie)
}
