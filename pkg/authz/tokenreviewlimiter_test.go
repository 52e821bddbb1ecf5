package authz

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// flooded is an authenticator that reviews four unknown tokens at a time, and only once it is
// released. It reviews known tokens at once.
type flooded struct {
	*TokenReviewAuthenticator
	*clock
	release chan struct{}
	// unknown counts the reviews of unknown tokens, others those of known ones.
	unknown, others *fakeTokenReviews
}

func newFlooded() *flooded {
	f := &flooded{clock: &clock{}, release: make(chan struct{})}
	answer := func(_ context.Context, token string) (authenticationv1.TokenReviewStatus, error) {
		if token == "alice" {
			return known("alice")
		}
		return authenticationv1.TokenReviewStatus{}, nil
	}
	f.others = &fakeTokenReviews{answer: answer}
	f.unknown = &fakeTokenReviews{answer: func(ctx context.Context, token string) (authenticationv1.TokenReviewStatus, error) {
		select {
		case <-f.release:
			return answer(ctx, token)
		case <-ctx.Done():
			return authenticationv1.TokenReviewStatus{}, ctx.Err()
		}
	}}
	f.TokenReviewAuthenticator = NewAuthenticator(f.others, f.now)
	f.ReviewLimiter = &TokenReviewLimiter{Reviews: f.unknown, Limit: 4}
	return f
}

// knock authenticates that many unknown tokens from an address.
func (f *flooded) knock(t *testing.T, address string, tokens int) {
	t.Helper()
	for i := range tokens {
		go f.Authenticate(from(t, address), TokenCredentials(fmt.Sprint(address, i))) //nolint:errcheck // Others are looked at.
	}
	synctest.Wait()
}

func from(t *testing.T, address string) context.Context {
	t.Helper()
	return WithPeer(t.Context(), &net.TCPAddr{IP: net.ParseIP(address), Port: 40000})
}

func TestUnknownTokensWaitForUnknownTokensAlone(t *testing.T) {
	for _, tt := range []struct {
		name string
		// floods are the addresses that send more unknown tokens than the limit.
		floods []string
		// address is where a request comes from then, and refused what becomes of them.
		address string
		refused bool
	}{
		{"no other client", nil, "192.0.2.1", false},
		{"one address has half of the places", []string{"192.0.2.1"}, "192.0.2.2", false},
		{"and no more", []string{"192.0.2.1"}, "192.0.2.1", true},
		{"also as IPv6 has it", []string{"192.0.2.1"}, "::ffff:192.0.2.1", true},
		{"a network of IPv6 is one", []string{"2001:db8::1"}, "2001:db8::2", true},
		{"another one is another one", []string{"2001:db8::1"}, "2001:db8:0:1::1", false},
		{"from everywhere", []string{"192.0.2.1", "192.0.2.2"}, "192.0.2.3", true},
		{"where the address is unknown", nil, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFlooded()
				for _, address := range tt.floods {
					f.knock(t, address, 10)
				}
				begun, answered := time.Now(), make(chan error, 1)
				go func() {
					_, err := f.Authenticate(from(t, tt.address), TokenCredentials("alice"))
					answered <- err
				}()
				synctest.Wait()
				if !tt.refused {
					close(f.release)
				}
				err := <-answered
				if took := time.Since(begun); took != 0 {
					t.Errorf("the answer took %s", took)
				}
				limited, _ := errors.AsType[*apierror.Error](err)
				if refused := limited != nil && limited.Code == apierror.CodeRateLimited && limited.RetryAfter > 0; refused != tt.refused || !refused && err != nil {
					t.Errorf("got %v", err)
				}
				if !tt.refused {
					return
				}
				// The refusal is not cached for the token.
				close(f.release)
				synctest.Wait()
				if u, err := f.Authenticate(from(t, tt.address), TokenCredentials("alice")); err != nil || u.Name != "alice" {
					t.Errorf("afterwards %q, %v", u.Name, err)
				}
				if u, err := f.Authenticate(t.Context(), TokenCredentials("made up")); !apierror.Is(err, apierror.CodeUnauthenticated) {
					t.Errorf("a token that is none: %q, %v", u.Name, err)
				}
			})
		})
	}
}

func TestKnownTokensAreNotLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlooded()
		close(f.release)
		alice := TokenCredentials("alice")
		if _, err := f.Authenticate(t.Context(), alice); err != nil || f.unknown.count.Load() != 1 {
			t.Fatalf("at first: %v, %d reviews of unknown tokens", err, f.unknown.count.Load())
		}
		f.release = make(chan struct{})
		defer close(f.release)
		f.knock(t, "192.0.2.1", 10)
		f.knock(t, "192.0.2.2", 10)
		for name, ask := range map[string]func(context.Context, Credentials) (User, error){"Authenticate": f.Authenticate, "Recheck": f.Recheck} {
			f.advance(usualMemory.positive)
			if u, err := ask(t.Context(), alice); err != nil || u.Name != "alice" {
				t.Errorf("%s: %q, %v", name, u.Name, err)
			}
		}
		if n := f.others.count.Load(); n != 2 {
			t.Errorf("%d reviews of known tokens, want 2", n)
		}
		// A token counts as unknown once a review found it revoked.
		f.others.answer = func(context.Context, string) (authenticationv1.TokenReviewStatus, error) {
			return authenticationv1.TokenReviewStatus{}, nil
		}
		if _, err := f.Recheck(t.Context(), alice); !apierror.Is(err, apierror.CodeUnauthenticated) {
			t.Errorf("revoked: %v", err)
		}
		f.advance(usualMemory.negative)
		if _, err := f.Authenticate(t.Context(), alice); !apierror.Is(err, apierror.CodeRateLimited) {
			t.Errorf("revoked, and asked about again: %v", err)
		}
	})
}
