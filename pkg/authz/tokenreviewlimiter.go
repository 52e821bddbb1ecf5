package authz

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/peer"
)

// Any client can make tokens up, and each costs the global cluster a review or two. So the number
// of concurrent reviews of tokens that were not found valid lately is limited. A request beyond the
// limit fails at once, without a review and without a cached answer. Tokens that were found valid
// lately are not limited.

const (
	// defaultTokenReviews is the default of TokenReviewLimiter.Limit.
	defaultTokenReviews = 100
	// tokenReviewRetry is the Retry-After of a request that the limiter refused.
	tokenReviewRetry = time.Second
)

// knownMemory is how long, and for how many tokens, a token counts as known after a review found it
// valid. Invalid tokens are not kept, so they evict no valid ones.
var knownMemory = memory{positive: time.Hour, size: 1 << 14}

// TokenReviewLimiter limits the concurrent reviews of unknown tokens.
type TokenReviewLimiter struct {
	// Reviews is the client for the reviews of unknown tokens. It should have a rate limit of its
	// own, so that these do not delay other requests. Required.
	Reviews authenticationclient.TokenReviewInterface
	// Limit is the number of concurrent reviews of unknown tokens; zero means defaultTokenReviews.
	// One client address gets at most half of them, so that it can't block all other clients;
	// behind a proxy all clients share one address.
	Limit int

	mu    sync.Mutex
	taken int
	by    map[netip.Prefix]int
}

// acquire reserves one of the concurrent reviews, or returns an error with CodeRateLimited when
// none is free. The caller must call release once the token was reviewed.
func (s *TokenReviewLimiter) acquire(ctx context.Context) (release func(), err error) {
	limit := s.Limit
	if limit <= 0 {
		limit = defaultTokenReviews
	}
	from := peerFrom(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= limit || from.IsValid() && s.by[from] >= max(1, limit/2) {
		err := apierror.New(apierror.CodeRateLimited,
			"too many tokens that are not known yet are being checked: nothing was found out about yours; try again")
		err.RetryAfter = tokenReviewRetry
		return nil, err
	}
	if s.by == nil {
		s.by = map[netip.Prefix]int{}
	}
	s.taken++
	s.by[from]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken--
		s.by[from]--
		if s.by[from] == 0 {
			delete(s.by, from)
		}
	}, nil
}

type peerKey struct{}

// WithPeer returns a context with the client address of its requests.
func WithPeer(ctx context.Context, from net.Addr) context.Context {
	network := peer.Network(from.String())
	if !network.IsValid() {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, network)
}

// peerFrom returns the address from WithPeer; it is not valid where there is none.
func peerFrom(ctx context.Context) netip.Prefix {
	from, _ := ctx.Value(peerKey{}).(netip.Prefix)
	return from
}
