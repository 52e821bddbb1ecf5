package mcp

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/server/identity"
	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/quota"
)

// fromHeader carries the address of the one who asks to the calls. What a client sends under this name is not kept.
const fromHeader = "Kairship-From"

// Guard lets those in whose token is served. A cookie or a certificate is not enough: pages send them without being asked.
type Guard struct {
	Identifier identity.Identifier
	Origins    *origin.Policy
	Quotas     *quota.Users
	Present    graphql.ErrorPresenterFunc
}

// Handler returns the handler behind the guard.
func (g *Guard) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.admit(r); err != nil {
			if apierror.Is(err, apierror.CodeUnauthenticated) {
				w.Header().Set("WWW-Authenticate", identity.Challenge(authz.RequestCredentials(r)))
			}
			g.refuse(r.Context(), w, identity.Status(err), err)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set(fromHeader, r.RemoteAddr)
		next.ServeHTTP(w, r)
	})
}

// admit returns why a request is refused.
func (g *Guard) admit(r *http.Request) error {
	if err := identity.RefuseImpersonation(r.Header); err != nil {
		return err
	}
	if !g.Origins.Permits(r) {
		return apierror.New(apierror.CodeForbidden, "pages of other sites may not use the tools")
	}
	credentials := authz.RequestCredentials(r)
	if credentials.Token() == "" {
		return apierror.New(apierror.CodeUnauthenticated, "send a token of the global cluster in the header Authorization: Bearer …")
	}
	user, err := g.Identifier.Authenticator.Authenticate(r.Context(), credentials)
	if err != nil {
		return err
	}
	if err := g.Identifier.Authorizer.CanServe(r.Context(), user); err != nil {
		return err
	}
	entered, limited := g.Quotas.Enter(user.Name)
	if limited != nil {
		return limited
	}
	// What a call of a tool takes is counted with its operation.
	entered.Charge(0)
	entered.End()
	return nil
}

// refusal is the body of a request that is refused.
type refusal struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}

func (g *Guard) refuse(ctx context.Context, w http.ResponseWriter, status int, err error) {
	shown := g.Present(ctx, err)
	code, _ := shown.Extensions["code"].(string)
	body, err := json.Marshal(refusal{Error: shown.Message, Code: code})
	if err != nil {
		body = nil // Strings always marshal.
	}
	response.Write(w, mediatype.JSON, status, body)
}
