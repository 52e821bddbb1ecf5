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

// Any client can make tokens up, and each costs the global cluster a review or two. So a
// token that was not found valid lately has to get one of a few places. A request that gets
// none is told so at once: nothing is found out about the token, and nothing remembered.
// Callers who are known wait for none of these.

const (
	// DefaultTokenReviews is how many tokens of strangers are reviewed at a time, unless
	// told.
	DefaultTokenReviews = 100
	// tokenReviewRetry is when a stranger may try again for whom there was no place.
	tokenReviewRetry = time.Second
)

// knownMemory says how long a caller whose token was valid is no stranger. No one can
// push out others with tokens that are not valid.
var knownMemory = memory{positive: time.Hour, size: 1 << 14}

// TokenReviewLimiter bounds what tokens cost of which nothing is known.
type TokenReviewLimiter struct {
	// Reviews are asked about their tokens. They should have requests of their own to
	// wait for, not those of everybody else. Required.
	Reviews authenticationclient.TokenReviewInterface
	// Limit is how many of their tokens are reviewed at a time; zero means
	// DefaultTokenReviews. One address gets half of them, so that it does not keep
	// everybody else out; behind a proxy all come from one.
	Limit int

	mu    sync.Mutex
	taken int
	by    map[netip.Prefix]int
}

// acquire gives a stranger a place, or reports that there is none. leave must be called
// once the token was reviewed.
func (s *TokenReviewLimiter) acquire(ctx context.Context) (release func(), err error) {
	limit := s.Limit
	if limit <= 0 {
		limit = DefaultTokenReviews
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

// WithPeer says where the requests of a context come from.
func WithPeer(ctx context.Context, from net.Addr) context.Context {
	network := peer.Network(from.String())
	if !network.IsValid() {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, network)
}

// peerFrom is what WithPeer said; not valid where it said nothing.
func peerFrom(ctx context.Context) netip.Prefix {
	from, _ := ctx.Value(peerKey{}).(netip.Prefix)
	return from
}
