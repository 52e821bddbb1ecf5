package authz

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"slices"
	"time"

	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// groupAuthenticated is the group that Kubernetes gives to all users it knows.
const groupAuthenticated = "system:authenticated"

// Authenticator identifies the user that sent a request.
type Authenticator interface {
	// Authenticate returns the user behind the credentials. Its errors are
	// *apierror.Error: CodeUnauthenticated when there is no valid identity,
	// CodeTimeout when the global cluster did not answer.
	Authenticate(ctx context.Context, c Credentials) (User, error)
}

// TokenReviewAuthenticator checks bearer tokens by TokenReview in the global
// cluster, and takes the user of a client certificate from its subject.
//
// It never keeps a token: its cache is keyed by an HMAC under a key that is
// drawn at start, so that a memory dump reveals no token and no hash to try.
type TokenReviewAuthenticator struct {
	// Authorities reports whether one of the chains of a certificate, as its handshake
	// verified them, ends at an authority that is still accepted. Nil accepts all that a
	// handshake did.
	Authorities func(chains [][]*x509.Certificate) bool
	// ReviewLimiter limits the reviews of tokens that were not found valid lately. Replace it only
	// before the first request.
	ReviewLimiter *TokenReviewLimiter

	clock   func() time.Time
	reviews authenticationclient.TokenReviewInterface
	fresh   fresh
	key     [32]byte
	tokens  *decisions[User]
	// lately holds the tokens that their latest review found valid.
	lately *ttlCache[[32]byte, struct{}]
}

var _ Authenticator = (*TokenReviewAuthenticator)(nil)

// NewAuthenticator makes an authenticator over the TokenReview client of the
// global cluster. now is the clock of its cache; nil means time.Now.
func NewAuthenticator(reviews authenticationclient.TokenReviewInterface, now func() time.Time) *TokenReviewAuthenticator {
	if now == nil {
		now = time.Now
	}
	a := &TokenReviewAuthenticator{
		ReviewLimiter: &TokenReviewLimiter{Reviews: reviews},
		clock:         now,
		reviews:       reviews,
		tokens:        newDecisions[User]("your token", usualMemory, now),
		lately:        newTTLCache[[32]byte, struct{}](knownMemory.positive, knownMemory.size, now),
	}
	rand.Read(a.key[:]) // Never returns an error: it ends the program instead.
	return a
}

// Authenticate implements Authenticator. A verified client certificate goes
// before a token, as in the Kubernetes apiserver.
func (a *TokenReviewAuthenticator) Authenticate(ctx context.Context, c Credentials) (User, error) {
	if at := c.Expires(); !at.IsZero() && !a.clock().Before(at) {
		return User{}, expired(c)
	}
	if c.certificate != nil {
		if a.Authorities != nil && !a.Authorities(c.connection.VerifiedChains) {
			return User{}, apierror.New(apierror.CodeUnauthenticated,
				"the authority of the client certificate is no longer accepted: connect again with another certificate, or with a token")
		}
		return certificateUser(c.certificate)
	}
	if c.token == "" {
		return User{}, apierror.New(apierror.CodeUnauthenticated,
			"no credentials: send a bearer token of the global cluster in the Authorization header")
	}
	key := a.hash(c.token)
	return a.tokens.decide(ctx, key, func(ctx context.Context) (answer[User], error) {
		if _, known := a.lately.get(key); known {
			return a.review(ctx, a.reviews, key, c.token)
		}
		release, err := a.ReviewLimiter.acquire(ctx)
		if err != nil {
			return answer[User]{}, err
		}
		defer release()
		return a.review(ctx, a.ReviewLimiter.Reviews, key, c.token)
	})
}

// Recheck authenticates like Authenticate, but reviews a token even if its answer is cached. When
// the review refuses the token, every later request with it is refused too. ReviewLimiter does not
// apply, since the caller was authenticated before. A certificate stays valid until it expires or
// its authority is no longer accepted.
func (a *TokenReviewAuthenticator) Recheck(ctx context.Context, c Credentials) (User, error) {
	at := c.Expires()
	if c.certificate != nil || c.token == "" || !at.IsZero() && !a.clock().Before(at) {
		return a.Authenticate(ctx, c)
	}
	key := a.hash(c.token)
	return a.tokens.renew(ctx, key, func(ctx context.Context) (answer[User], error) {
		return a.review(ctx, a.reviews, key, c.token)
	})
}

func (a *TokenReviewAuthenticator) hash(token string) [32]byte {
	mac := hmac.New(sha256.New, a.key[:])
	mac.Write([]byte(token))
	return [32]byte(mac.Sum(nil))
}

func (a *TokenReviewAuthenticator) review(ctx context.Context, reviews authenticationclient.TokenReviewInterface, key [32]byte, token string) (answer[User], error) {
	status, err := a.fresh.review(ctx, reviews, token)
	if err != nil {
		return answer[User]{}, err
	}
	// status.error stays unread: the apiserver fills it for plainly bad tokens too, and its text is not ours to show.
	if !status.Authenticated || status.User.Username == "" {
		a.lately.drop(key)
		return answer[User]{refusal: apierror.New(apierror.CodeUnauthenticated,
			"the token is not valid in the global cluster: it is wrong, expired or revoked")}, nil
	}
	a.lately.put(key, struct{}{})
	info := status.User
	user := User{Name: info.Username, UID: info.UID, Groups: info.Groups}
	if len(info.Extra) > 0 {
		user.Extra = make(map[string][]string, len(info.Extra))
		for k, v := range info.Extra {
			user.Extra[k] = v
		}
	}
	return answer[User]{value: user}, nil
}

// expired is the error of credentials that have expired since they were accepted: a
// certificate is verified once for each connection, and a token is remembered.
func expired(c Credentials) *apierror.Error {
	if c.certificate != nil {
		return apierror.New(apierror.CodeUnauthenticated, "the client certificate has expired: connect again with a new one, or with a token")
	}
	return apierror.New(apierror.CodeUnauthenticated, "the token has expired: send a new one")
}

// certificateUser reads the subject as Kubernetes does: the common name is the
// user, the organizations are the groups.
func certificateUser(cert *x509.Certificate) (User, error) {
	if cert.Subject.CommonName == "" {
		return User{}, apierror.New(apierror.CodeUnauthenticated,
			"the client certificate names no user: its subject needs a common name (CN)")
	}
	groups := slices.Clone(cert.Subject.Organization)
	if !slices.Contains(groups, groupAuthenticated) {
		groups = append(groups, groupAuthenticated)
	}
	return User{Name: cert.Subject.CommonName, Groups: groups}, nil
}
