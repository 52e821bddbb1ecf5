// Package identity authenticates requests, and decides whether their users are served.
package identity

import (
	"context"
	"net/http"

	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
)

// Identifier identifies callers.
type Identifier struct {
	Authenticator authz.Authenticator
	Authorizer    authz.Authorizer
}

// Identify finds out whose credentials these are and whether that user is served,
// and notes it in the record of the request. The context that it returns has the
// user, the credentials and a record for the audit.
func (i Identifier) Identify(ctx context.Context, credentials authz.Credentials) (context.Context, error) {
	user, err := i.Authenticator.Authenticate(ctx, credentials)
	if err != nil {
		return nil, err
	}
	ctx, record := audit.With(WithCredentials(authz.WithUser(ctx, user), credentials))
	telemetry.From(ctx).SetUser(user.Name, record)
	if err := i.Authorizer.CanServe(ctx, user); err != nil {
		if apierror.Is(err, apierror.CodeForbidden) {
			record.Refuse("")
		} else {
			record.Fail()
		}
		return nil, err
	}
	return ctx, nil
}

type credentialsKey struct{}

// WithCredentials returns a context whose user was identified by these credentials.
func WithCredentials(ctx context.Context, c authz.Credentials) context.Context {
	return context.WithValue(ctx, credentialsKey{}, c)
}

// CredentialsFrom returns the credentials that the user of a context was identified by.
// Streams check them again.
func CredentialsFrom(ctx context.Context) authz.Credentials {
	c, _ := ctx.Value(credentialsKey{}).(authz.Credentials)
	return c
}

// Challenge returns the WWW-Authenticate header of RFC 6750: it names an error only
// when there were credentials to be wrong.
func Challenge(c authz.Credentials) string {
	if c.Empty() {
		return `Bearer realm="kairship"`
	}
	return `Bearer realm="kairship", error="invalid_token"`
}

// Status returns the HTTP status of a request whose caller could not be
// identified. When the global cluster does not answer, the whole API is away for that
// caller: 503 says so, and clients and load balancers know to come back.
func Status(err error) int {
	if code := apierror.CodeOf(err); code != apierror.CodeTimeout {
		return code.HTTPStatus()
	}
	return http.StatusServiceUnavailable
}
