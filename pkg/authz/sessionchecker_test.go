package authz

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
)

func jwt(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestExpires(t *testing.T) {
	for _, tt := range []struct {
		name, token string
		want        int64
		why         string
	}{
		{"JWT", jwt(`{"exp":1700000000}`), 1700000000, "it says so"},
		{"JWT with a fraction", jwt(`{"exp":1700000000.9}`), 1700000000, "RFC 7519 allows it"},
		{"JWT without an end", jwt(`{"sub":"x"}`), 0, "it says nothing"},
		{"no number", jwt(`{"exp":"soon"}`), 0, "it says nothing that can be read"},
		{"beyond all calendars", jwt(`{"exp":1e300}`), 0, "no moment that can be written down"},
		{"negative", jwt(`{"exp":-1}`), 0, "no moment that can be meant"},
		{"not base64", "a.!.c", 0, "not a JWT"},
		{"two parts", "a.b", 0, "not a JWT"},
		{"opaque", "opaque", 0, "the global cluster alone knows"},
	} {
		got := TokenCredentials(tt.token).Expires()
		if (tt.want == 0) != got.IsZero() || (tt.want != 0 && got.Unix() != tt.want) {
			t.Errorf("%s: got %v, want %d: %s", tt.name, got, tt.want, tt.why)
		}
	}
}

// TestTokenThatExpires ends streams at the moment that the token says, even where
// its last review is still remembered; and no stream can begin with it any more.
func TestTokenThatExpires(t *testing.T) {
	u := User{Name: "alice"}
	s := &SessionChecker{
		Recheck: func(context.Context, Credentials) (User, error) { return u, nil },
		Review:  func(context.Context, User, ...string) (*Visibility, error) { return &Visibility{rules: &rules{}}, nil },
	}
	end := time.Now().Add(1100 * time.Millisecond)
	c := TokenCredentials(jwt(fmt.Sprintf(`{"exp":%d}`, end.Unix())))
	first, session := s.Begin(t.Context(), c, u)
	<-first.Done()
	if early := time.Until(time.Unix(end.Unix(), 0)); early > 0 {
		t.Errorf("the stream ended %s early", early)
	}
	second, again := s.Begin(t.Context(), c, u)
	for _, ctx := range []context.Context{first, second} {
		lapse, ok := errors.AsType[*SessionEndedError](context.Cause(ctx))
		if !ok || lapse.Kind != EndCredentialsExpired || !lapse.Caller || lapse.Err.Code != apierror.CodeUnauthenticated {
			t.Errorf("ended by %v", context.Cause(ctx))
		}
	}
	session.End()
	again.End()
	again.End()
	if n := s.Callers(); n != 0 {
		t.Errorf("%d callers are checked with no stream open", n)
	}
}

// TestTokenThatExpiresDuringACheck checks that a session ends when its token expires, without
// waiting for a review.
func TestTokenThatExpiresDuringACheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := User{Name: "alice"}
		s := &SessionChecker{
			Recheck: func(ctx context.Context, _ Credentials) (User, error) {
				<-ctx.Done()
				return User{}, ctx.Err()
			},
			Review: func(context.Context, User, ...string) (*Visibility, error) { return &Visibility{rules: &rules{}}, nil },
		}
		end := time.Now().Add(10 * time.Second)
		ctx, session := s.Begin(t.Context(), TokenCredentials(jwt(fmt.Sprintf(`{"exp":%d}`, end.Unix()))), u)
		<-ctx.Done()
		if late := time.Since(end); late > 0 {
			t.Errorf("the stream ended %s late", late)
		}
		if lapse, ok := errors.AsType[*SessionEndedError](context.Cause(ctx)); !ok || lapse.Kind != EndCredentialsExpired {
			t.Errorf("ended by %v", context.Cause(ctx))
		}
		session.End()
		synctest.Wait()
	})
}

// TestRecheckReplacesWhatIsRemembered checks that the answer of a recheck replaces the cached one
// for every caller.
func TestRecheckReplacesWhatIsRemembered(t *testing.T) {
	valid := true
	reviews := &fakeTokenReviews{answer: func(context.Context, string) (authenticationv1.TokenReviewStatus, error) {
		return authenticationv1.TokenReviewStatus{Authenticated: valid, User: authenticationv1.UserInfo{Username: "alice"}}, nil
	}}
	clock := &clock{t: time.Unix(0, 0)}
	a := NewAuthenticator(reviews, clock.now)
	c := TokenCredentials("t")
	for _, step := range []struct {
		name    string
		valid   bool
		ask     func(context.Context, Credentials) (User, error)
		refused bool
		reviews int64
	}{
		{"first", true, a.Authenticate, false, 1},
		{"remembered", false, a.Authenticate, false, 1},
		{"asked anew", false, a.Recheck, true, 2},
		{"the refusal is remembered", true, a.Authenticate, true, 2},
		{"asked anew", true, a.Recheck, false, 3},
		{"remembered", false, a.Authenticate, false, 3},
	} {
		valid = step.valid
		_, err := step.ask(t.Context(), c)
		if (err != nil) != step.refused || reviews.count.Load() != step.reviews {
			t.Fatalf("%s: %v after %d reviews, want refused %v after %d", step.name, err, reviews.count.Load(), step.refused, step.reviews)
		}
	}
}

func TestDependenciesAreShared(t *testing.T) {
	known := &Visibility{rules: &rules{instances: map[string]facts{"alpha": seeInstance | getObjects}}}
	s := &SessionChecker{
		Recheck:  func(context.Context, Credentials) (User, error) { return User{Name: "alice"}, nil },
		Review:   func(context.Context, User, ...string) (*Visibility, error) { return known, nil },
		Interval: time.Hour,
	}
	var all []*Session
	for range 100 {
		_, session := s.Begin(t.Context(), TokenCredentials("t"), User{Name: "alice"})
		session.depend(known, []string{"alpha", "beta"})
		session.depend(known, []string{"beta", "alpha", "alpha"})
		all = append(all, session)
	}
	c := all[0].caller
	if n := len(c.dependencies()); n != 1 {
		t.Errorf("%d dependencies of streams that depend on the same", n)
	}
	for _, session := range all {
		session.End()
		session.depend(known, []string{"late"})
	}
	if n := len(c.dependencies()); n != 0 {
		t.Errorf("%d dependencies without an owner", n)
	}
}
