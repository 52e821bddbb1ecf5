// Package session lends tokens to the EventSources of pages, in cookies.
package session

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/kairship-io/kairship/graph/server/cookie"
	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/graph/server/params"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
)

// Path is where a page gets the cookie that its EventSource needs.
const Path = "/graphql/session"

// life is how long the cookie is good for; the token in it may end sooner.
const life = 12 * time.Hour

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
	// jar is nil where there are no sessions.
	jar *cookie.Jar
}

// New returns the cookies that are sealed with these keys; nil for no sessions.
func New(keys consistency.Keys, now func() time.Time) *Cookies {
	if keys == nil {
		return &Cookies{}
	}
	return &Cookies{&cookie.Jar{Name: "kairship_stream", Path: "/graphql", SameSite: http.SameSiteStrictMode, Life: life, Keys: keys, Now: now}}
}

// Credentials returns those of the cookie of a request; none where it has no cookie that may
// be taken.
func (c *Cookies) Credentials(r *http.Request) authz.Credentials {
	if c.jar == nil || r.Method != http.MethodGet || !origin.OwnPage(r) || !mediatype.NegotiateEvents(r).Accepted {
		return authz.Credentials{}
	}
	var token string
	if err := c.jar.Get(r, &token); err != nil {
		return authz.Credentials{}
	}
	return authz.TokenCredentials(token).FromSession()
}

// Set sets the cookie with a token, where there are sessions.
func (c *Cookies) Set(ctx context.Context, w http.ResponseWriter, r *http.Request, token string) *params.Refusal {
	if c.jar == nil {
		return nil
	}
	switch err := c.jar.Set(w, r.WithContext(ctx), token); {
	case errors.Is(err, cookie.ErrTooLong):
		return params.Refuse(http.StatusRequestHeaderFieldsTooLarge, "",
			"the token is too long for a cookie: use a client that can send it in a header (graphql-sse, or a WebSocket)")
	case err != nil:
		return &params.Refusal{Status: http.StatusServiceUnavailable, Err: apierror.Wrap(err, apierror.CodeTimeout, "the session cannot be made now; try again")}
	}
	return nil
}

// Remove removes the cookie, where there are sessions.
func (c *Cookies) Remove(w http.ResponseWriter, r *http.Request) {
	if c.jar != nil {
		c.jar.Remove(w, r)
	}
}
