package server

import (
	"context"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
)

// permitted says the same of each caller.
type permitted struct{ *authz.Visibility }

func (p permitted) For(context.Context, ...string) (*authz.Visibility, error) {
	return p.Visibility, nil
}

// TestKept makes one answer, and looks for it later.
func TestKept(t *testing.T) {
	begun := time.Unix(1000, 0)
	fresh := func(stale bool, observed time.Duration) func(context.Context) (*answer, error) {
		return func(ctx context.Context) (*answer, error) {
			at := begun.Add(observed)
			_, _ = noteFreshness(ctx, func(context.Context) (any, error) { return &freshness.Freshness{ObservedAt: &at, Stale: stale}, nil })
			_, _ = noteFreshness(ctx, func(context.Context) (any, error) { return freshness.Freshness{ObservedAt: &begun}, nil })
			return &answer{resp: &graphql.Response{Data: []byte(`{}`)}}, nil
		}
	}
	plain := &answer{resp: &graphql.Response{Data: []byte(`{}`)}}
	failed := &answer{resp: &graphql.Response{Data: []byte(`{}`), Errors: gqlerror.List{{}}}}
	live := &answer{resp: &graphql.Response{Data: []byte(`{}`)}, live: true}
	returns := func(a *answer) func(context.Context) (*answer, error) {
		return func(context.Context) (*answer, error) { return a, nil }
	}
	for _, tt := range []struct {
		why    string
		run    func(context.Context) (*answer, error)
		cancel bool
		later  time.Duration
		want   bool
	}{
		{"within a second", returns(plain), false, 999 * time.Millisecond, true},
		{"after a second", returns(plain), false, time.Second, false},
		{"errors", returns(failed), false, 0, false},
		{"an instance was asked as the caller", returns(live), false, 0, false},
		{"the request has ended, and what is missing for that may not show", returns(plain), true, 0, false},
		{"proven until just now", fresh(false, 0), false, 999 * time.Millisecond, true},
		{"not stale, and stale half a second later", fresh(false, 500*time.Millisecond-freshness.StaleAfter), false, 499 * time.Millisecond, true},
		{"not stale, and stale by now", fresh(false, 500*time.Millisecond-freshness.StaleAfter), false, 500 * time.Millisecond, false},
		{"stale already", fresh(true, -time.Minute), false, 999 * time.Millisecond, true},
	} {
		now := begun
		s := &answers{maxBytes: 1 << 20, now: func() time.Time { return now }, current: map[question]*evaluation{}, permissions: permitted{}}
		s.forget()
		other, _ := s.find(question{2}, false)
		s.finish(other, plain, time.Time{}) // It is kept before, and longer.
		ctx, cancel := context.WithCancel(t.Context())
		e, first := s.find(question{1}, false)
		if tt.cancel {
			cancel()
		}
		if _, err := s.make(ctx, e, &authz.Visibility{}, tt.run); err != nil || !first {
			t.Fatal(err)
		}
		cancel()
		now = now.Add(tt.later)
		if _, first := s.find(question{1}, false); first == tt.want {
			t.Errorf("%s: found: %t, want %t", tt.why, !first, tt.want)
		}
	}
}

// TestForgottenIsNotKept: what was under way when everything was forgotten takes no memory.
func TestForgottenIsNotKept(t *testing.T) {
	s := &answers{maxBytes: 1 << 20, now: time.Now, current: map[question]*evaluation{}}
	s.forget()
	e, _ := s.find(question{1}, false)
	s.forget()
	later, first := s.find(question{1}, false)
	if !first {
		t.Fatal("what began before is found")
	}
	s.finish(e, &answer{body: []byte("{}")}, time.Time{})
	if s.kept.Len() != 0 || s.bytes != 0 || s.current[question{1}] != later {
		t.Errorf("%d kept, %d bytes", s.kept.Len(), s.bytes)
	}
	s.finish(later, &answer{body: []byte("{}")}, time.Time{})
	if s.kept.Len() != 1 || s.bytes == 0 {
		t.Errorf("%d kept, %d bytes: the later one is", s.kept.Len(), s.bytes)
	}
}
