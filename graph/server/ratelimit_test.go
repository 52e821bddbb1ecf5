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

// rateLimited is an authenticator that reviews no token.
type rateLimited struct{}

func (rateLimited) Authenticate(context.Context, authz.Credentials) (authz.User, error) {
	err := apierror.New(apierror.CodeRateLimited, "too many unknown tokens")
	err.RetryAfter = time.Second
	return authz.User{}, err
}

// TestRateLimitedCallersGetRetryAfter: nothing is said against a token that was not
// looked at, so it is not challenged.
func TestRateLimitedCallersGetRetryAfter(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.Authenticator = rateLimited{} })
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
