package server_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/session"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// crowd is an authenticator that has no time to look at a token.
type crowd struct{}

func (crowd) Authenticate(context.Context, authz.Credentials) (authz.User, error) {
	err := apierror.New(apierror.CodeRateLimited, "too many strangers")
	err.RetryAfter = time.Second
	return authz.User{}, err
}

// TestWhoHasNoPlaceIsToldWhenToCome: nothing is said against a token that was not
// looked at, so it is not challenged.
func TestWhoHasNoPlaceIsToldWhenToCome(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.Authenticator = crowd{} })
	for _, c := range []call{{body: `{"query":"{hello}"}`}, {path: session.Path}} {
		r := s.do(t, c)
		if r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") != "1" || r.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s: HTTP %d %v %s", c.path, r.status, r.header, r.body)
		}
		body := decode(t, r.body)
		if code := codeOf(body); code != "RATE_LIMITED" {
			t.Errorf("%s: code %q", c.path, code)
		}
		if after := extensions(body["errors"].([]any)[0])["retryAfter"]; after != 1.0 {
			t.Errorf("%s: retryAfter %v", c.path, after)
		}
	}
}
