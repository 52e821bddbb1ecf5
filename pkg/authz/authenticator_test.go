package authz

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
)

func known(name string) (authenticationv1.TokenReviewStatus, error) {
	return authenticationv1.TokenReviewStatus{
		Authenticated: true,
		User: authenticationv1.UserInfo{
			Username: name, UID: "u-1", Groups: []string{"dev", "system:authenticated"},
			Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a", "b"}},
		},
	}, nil
}

func certificate(subject pkix.Name) Credentials {
	return Credentials{certificate: &x509.Certificate{Subject: subject}}
}

var tokenReviews = schema.GroupResource{Group: "authentication.k8s.io", Resource: "tokenreviews"}

func TestAuthenticate(t *testing.T) {
	for _, tt := range []struct {
		name        string
		credentials Credentials
		status      authenticationv1.TokenReviewStatus
		err         error
		want        User
		wantCode    apierror.Code
		wantReviews int64
		why         string
	}{
		{
			name: "valid token", credentials: TokenCredentials("t"),
			status:      must(known("alice")),
			want:        User{Name: "alice", UID: "u-1", Groups: []string{"dev", "system:authenticated"}, Extra: map[string][]string{"scopes": {"a", "b"}}},
			wantReviews: 1, why: "everything that RBAC and impersonation need is taken over",
		},
		{
			name: "bad token", credentials: TokenCredentials("t"),
			status:   authenticationv1.TokenReviewStatus{Error: "[invalid bearer token, square/go-jose: error in cryptographic primitive]"},
			wantCode: apierror.CodeUnauthenticated, wantReviews: 1, why: "the cluster decided; its own text is not shown",
		},
		{
			name: "nameless user", credentials: TokenCredentials("t"),
			status:   authenticationv1.TokenReviewStatus{Authenticated: true},
			wantCode: apierror.CodeUnauthenticated, wantReviews: 1, why: "an empty user name would be no user to RBAC and to the audit log",
		},
		{
			name:     "nothing",
			wantCode: apierror.CodeUnauthenticated, why: "there is nothing to ask the cluster about",
		},
		{
			name: "cluster away", credentials: TokenCredentials("t"), err: errors.New("dial tcp 127.0.0.1:16443: connect: connection refused"),
			wantCode: apierror.CodeTimeout, wantReviews: 1, why: "no review said that the token is bad",
		},
		{
			name: "cluster overloaded", credentials: TokenCredentials("t"), err: apierrors.NewTooManyRequests("slow down", 1),
			wantCode: apierror.CodeTimeout, wantReviews: 1, why: "an answer that is not a review decides nothing",
		},
		{
			name: "cluster fails", credentials: TokenCredentials("t"), err: apierrors.NewInternalError(errors.New("etcd")),
			wantCode: apierror.CodeTimeout, wantReviews: 1, why: "an answer that is not a review decides nothing",
		},
		{
			name: "Kairship may not ask", credentials: TokenCredentials("t"), err: apierrors.NewForbidden(tokenReviews, "", nil),
			wantCode: apierror.CodeTimeout, wantReviews: 1, why: "a global cluster that is starting refuses everybody, and the caller's token is not at fault",
		},
		{
			name: "Kairship's own identity is refused", credentials: TokenCredentials("t"), err: apierrors.NewUnauthorized("expired"),
			wantCode: apierror.CodeTimeout, wantReviews: 1, why: "the 401 is about Kairship, not about the caller",
		},
		{
			name: "client certificate", credentials: certificate(pkix.Name{CommonName: "bob", Organization: []string{"ops"}}),
			want: User{Name: "bob", Groups: []string{"ops", "system:authenticated"}}, why: "the TLS handshake verified it; no review is needed",
		},
		{
			name: "client certificate without a user", credentials: certificate(pkix.Name{Organization: []string{"ops"}}),
			wantCode: apierror.CodeUnauthenticated, why: "groups alone are no user",
		},
		{
			name: "client certificate that names the group of everybody", credentials: certificate(pkix.Name{CommonName: "bob", Organization: []string{"system:authenticated"}}),
			want: User{Name: "bob", Groups: []string{"system:authenticated"}}, why: "the group is not doubled",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reviews := &fakeTokenReviews{answer: func(context.Context, string) (authenticationv1.TokenReviewStatus, error) { return tt.status, tt.err }}
			got, err := NewAuthenticator(reviews, nil).Authenticate(t.Context(), tt.credentials)
			if tt.wantCode == "" && err != nil {
				t.Fatalf("got error %v; %s", err, tt.why)
			}
			if tt.wantCode != "" && apierror.CodeOf(err) != tt.wantCode {
				t.Errorf("got error %v, want %s; %s", err, tt.wantCode, tt.why)
			}
			if err != nil && strings.Contains(err.Error(), "jose") {
				t.Errorf("error shows the cluster's text: %v", err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, d)
			}
			if n := reviews.count.Load(); n != tt.wantReviews {
				t.Errorf("got %d reviews, want %d; %s", n, tt.wantReviews, tt.why)
			}
		})
	}
}

func must(s authenticationv1.TokenReviewStatus, err error) authenticationv1.TokenReviewStatus {
	if err != nil {
		panic(err)
	}
	return s
}

func TestAuthenticateRemembers(t *testing.T) {
	away := errors.New("connection refused")
	for _, tt := range []struct {
		name   string
		answer func(context.Context, string) (authenticationv1.TokenReviewStatus, error)
		// pauses are the times between two requests with one token.
		pauses      []time.Duration
		wantReviews int64
		why         string
	}{
		{
			name: "good token in a burst", answer: func(context.Context, string) (authenticationv1.TokenReviewStatus, error) { return known("alice") },
			pauses: []time.Duration{0, time.Second, 8 * time.Second}, wantReviews: 1, why: "one review serves ten seconds",
		},
		{
			name: "good token later", answer: func(context.Context, string) (authenticationv1.TokenReviewStatus, error) { return known("alice") },
			pauses: []time.Duration{10 * time.Second}, wantReviews: 2, why: "a revoked token stops working within ten seconds",
		},
		{
			name: "a hit does not prolong", answer: func(context.Context, string) (authenticationv1.TokenReviewStatus, error) { return known("alice") },
			pauses: []time.Duration{6 * time.Second, 6 * time.Second}, wantReviews: 2, why: "else a busy token would never be checked again",
		},
		{
			name: "bad token in a burst", answer: func(context.Context, string) (authenticationv1.TokenReviewStatus, error) {
				return authenticationv1.TokenReviewStatus{}, nil
			},
			pauses: []time.Duration{0, 4 * time.Second}, wantReviews: 1, why: "a client that repeats a bad token costs one review in five seconds",
		},
		{
			name: "bad token later", answer: func(context.Context, string) (authenticationv1.TokenReviewStatus, error) {
				return authenticationv1.TokenReviewStatus{}, nil
			},
			pauses: []time.Duration{5 * time.Second}, wantReviews: 2, why: "a token that becomes valid works soon",
		},
		{
			name: "undecided", answer: func(context.Context, string) (authenticationv1.TokenReviewStatus, error) {
				return authenticationv1.TokenReviewStatus{}, away
			},
			pauses: []time.Duration{0, 0}, wantReviews: 3, why: "no answer is no decision, so the next request asks again",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &clock{}
			reviews := &fakeTokenReviews{answer: tt.answer}
			a := NewAuthenticator(reviews, c.now)
			first, firstErr := a.Authenticate(t.Context(), TokenCredentials("t"))
			for _, pause := range tt.pauses {
				c.advance(pause)
				again, err := a.Authenticate(t.Context(), TokenCredentials("t"))
				if d := cmp.Diff(first, again); d != "" || apierror.CodeOf(err) != apierror.CodeOf(firstErr) {
					t.Errorf("a remembered answer differs: %v, %v; want %v, %v", again, err, first, firstErr)
				}
			}
			if n := reviews.count.Load(); n != tt.wantReviews {
				t.Errorf("got %d reviews, want %d: %s", n, tt.wantReviews, tt.why)
			}
		})
	}
}

func TestAuthenticateKeepsTokensApart(t *testing.T) {
	reviews := &fakeTokenReviews{answer: func(_ context.Context, token string) (authenticationv1.TokenReviewStatus, error) {
		return known("user-of-" + token)
	}}
	a := NewAuthenticator(reviews, nil)
	for range 2 {
		for _, token := range []string{"x", "y"} {
			u, err := a.Authenticate(t.Context(), TokenCredentials(token))
			if err != nil || u.Name != "user-of-"+token {
				t.Errorf("token %s belongs to %q (%v)", token, u.Name, err)
			}
		}
	}
	if n := reviews.count.Load(); n != 2 {
		t.Errorf("got %d reviews for two tokens, want 2", n)
	}
}

func TestAuthenticateSharesOneReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		reviews := &fakeTokenReviews{answer: func(context.Context, string) (authenticationv1.TokenReviewStatus, error) {
			<-release
			return known("alice")
		}}
		a := NewAuthenticator(reviews, nil)
		// The first caller begins the review and gives up before it ends.
		first, giveUp := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() {
			_, err := a.Authenticate(first, TokenCredentials("t"))
			gaveUp <- err
		}()
		synctest.Wait()
		results := make(chan error, 50)
		for range cap(results) {
			go func() {
				u, err := a.Authenticate(t.Context(), TokenCredentials("t"))
				if err == nil && u.Name != "alice" {
					err = fmt.Errorf("got user %q", u.Name)
				}
				results <- err
			}()
		}
		synctest.Wait()
		giveUp()
		if err := <-gaveUp; !apierror.Is(err, apierror.CodeTimeout) {
			t.Errorf("the caller that gave up got %v, want TIMEOUT", err)
		}
		close(release)
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if n := reviews.count.Load(); n != 1 {
			t.Errorf("got %d reviews for 51 callers with one token, want 1", n)
		}
	})
}

func TestAuthenticateEndsAHangingReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews := &fakeTokenReviews{answer: func(ctx context.Context, _ string) (authenticationv1.TokenReviewStatus, error) {
			<-ctx.Done()
			return authenticationv1.TokenReviewStatus{}, ctx.Err()
		}}
		began := time.Now()
		_, err := NewAuthenticator(reviews, nil).Authenticate(t.Context(), TokenCredentials("t"))
		if !apierror.Is(err, apierror.CodeTimeout) {
			t.Errorf("got %v, want TIMEOUT", err)
		}
		want := "the global cluster did not answer the check of your token; try again"
		if err.Error() != want {
			t.Errorf("got message %q, want %q", err, want)
		}
		if took := time.Since(began); took != reviewTimeout {
			t.Errorf("gave up after %v, want %v", took, reviewTimeout)
		}
	})
}

func TestBadTokensDoNotPushOutGoodOnes(t *testing.T) {
	reviews := &fakeTokenReviews{answer: func(_ context.Context, token string) (authenticationv1.TokenReviewStatus, error) {
		if token == "good" {
			return known("alice")
		}
		return authenticationv1.TokenReviewStatus{}, nil
	}}
	a := NewAuthenticator(reviews, (&clock{}).now)
	authenticate := func(token string) { a.Authenticate(t.Context(), TokenCredentials(token)) } //nolint:errcheck // Counted below.
	authenticate("good")
	for i := range usualMemory.size + 100 {
		authenticate(fmt.Sprint("bad-", i))
	}
	before := reviews.count.Load()
	authenticate("good")
	if n := reviews.count.Load() - before; n != 0 {
		t.Errorf("the good token needed %d more reviews after a flood of bad ones, want 0", n)
	}
	if n := a.tokens.negative.len(); n != usualMemory.size {
		t.Errorf("%d bad tokens are remembered, want the bound of %d", n, usualMemory.size)
	}
}

func TestHashIsKeyedPerProcess(t *testing.T) {
	one, two := NewAuthenticator(nil, nil), NewAuthenticator(nil, nil)
	if first, again := one.hash("t"), one.hash("t"); first != again {
		t.Error("one process gives one token two keys: nothing would ever be remembered")
	}
	if one.hash("t") == two.hash("t") {
		t.Error("two processes give one token the same key: a dump of one could be searched with known tokens")
	}
}

// TestAuthorities has a certificate count for as long as its authority does, for new
// requests and for what goes on.
func TestAuthorities(t *testing.T) {
	root := &x509.Certificate{Raw: []byte("root")}
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "bob"}}
	c := RequestCredentials(&http.Request{TLS: &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf, root}}}})
	accepted := true
	a := NewAuthenticator(nil, nil)
	a.Authorities = func(chains [][]*x509.Certificate) bool {
		if len(chains) != 1 || !slices.Equal(chains[0], []*x509.Certificate{leaf, root}) {
			t.Errorf("asked for %v", chains)
		}
		return accepted
	}
	for name, ask := range map[string]func(context.Context, Credentials) (User, error){"Authenticate": a.Authenticate, "Recheck": a.Recheck} {
		accepted = true
		if u, err := ask(t.Context(), c); err != nil || u.Name != "bob" {
			t.Errorf("%s: %v, %v: its authority is accepted", name, u, err)
		}
		accepted = false
		if u, err := ask(t.Context(), c); apierror.CodeOf(err) != apierror.CodeUnauthenticated {
			t.Errorf("%s: %v, %v: its authority is no longer accepted", name, u, err)
		}
	}
}
