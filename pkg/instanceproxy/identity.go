package instanceproxy

import (
	"context"
	"maps"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

type ownKey struct{}

// AsKairship returns a context whose requests are sent with Kairship's own
// identity, even when it carries a user. It is for what serves all users alike:
// discovery, and watches that are shared and filtered afterwards.
func AsKairship(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownKey{}, true)
}

// identityOf returns the headers of the user that a request is sent as; none for Kairship itself.
func identityOf(ctx context.Context) (http.Header, error) {
	if own, _ := ctx.Value(ownKey{}).(bool); own {
		return nil, nil
	}
	u, ok := authz.UserFrom(ctx)
	if !ok {
		// Never as Kairship by default: that would be more than any user may.
		return nil, apierror.New(apierror.CodeInternal, "a request to an instance says neither as whom it is sent, nor that it is Kairship's own")
	}
	return u.ImpersonationHeader()
}

// credentialHeaders never come from a caller.
var credentialHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie"}

// credentialPrefixes are headers that claim an identity: a server believes them on an authenticated
// connection such as ours.
var credentialPrefixes = []string{"Impersonate-", "X-Remote-"}

// stripCredentials removes all headers that identify the sender of a request.
func stripCredentials(h http.Header) {
	for _, name := range credentialHeaders {
		h.Del(name)
	}
	for name := range h {
		for _, prefix := range credentialPrefixes {
			if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
				delete(h, name)
			}
		}
	}
	stripProtocolToken(h)
}

// protocolTokenPrefix is how browsers, which can't set headers on a WebSocket,
// bring a bearer token: as one of the subprotocols they offer.
const protocolTokenPrefix = "base64url.bearer.authorization.k8s.io." //nolint:gosec // It begins a token.

// stripProtocolToken removes tokens from the subprotocols that are offered.
func stripProtocolToken(h http.Header) {
	const name = "Sec-WebSocket-Protocol"
	offered := h.Values(name)
	if len(offered) == 0 {
		return
	}
	var kept []string
	for _, value := range offered {
		for protocol := range strings.SplitSeq(value, ",") {
			if protocol = strings.TrimSpace(protocol); protocol != "" && !strings.HasPrefix(protocol, protocolTokenPrefix) {
				kept = append(kept, protocol)
			}
		}
	}
	h.Del(name)
	if len(kept) > 0 {
		h.Set(name, strings.Join(kept, ", "))
	}
}

// setIdentity sets the headers that identify the sender of a request, and removes all others that
// do.
func setIdentity(h http.Header, token string, identity http.Header) {
	stripCredentials(h)
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	maps.Copy(h, identity)
}

// checkUser is the invented user with which a link checks that the instance heeds impersonation. No
// real user has this name: those of Kubernetes begin with system:.
const checkUser = "kairship:impersonation-check"

func checkUserHeader() http.Header {
	return http.Header{authenticationv1.ImpersonateUserHeader: {checkUser}}
}
