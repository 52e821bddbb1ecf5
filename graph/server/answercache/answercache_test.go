package answercache

import (
	"context"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
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
	fresh := func(stale bool, observed time.Duration) func(context.Context) (*Answer, error) {
		return func(ctx context.Context) (*Answer, error) {
			at := begun.Add(observed)
			NoteFreshness(ctx, &freshness.Freshness{ObservedAt: &at, Stale: stale})
			NoteFreshness(ctx, freshness.Freshness{ObservedAt: &begun})
			return &Answer{Response: &graphql.Response{Data: []byte(`{}`)}}, nil
		}
	}
	withLag := func(ctx context.Context) (*Answer, error) {
		of := &graphql.FieldContext{Object: "Freshness", Field: graphql.CollectedField{Field: &ast.Field{Name: "lag"}}}
		NoteFreshness(graphql.WithFieldContext(ctx, of), new(float64))
		return &Answer{Response: &graphql.Response{Data: []byte(`{}`)}}, nil
	}
	plain := &Answer{Response: &graphql.Response{Data: []byte(`{}`)}}
	failed := &Answer{Response: &graphql.Response{Data: []byte(`{}`), Errors: gqlerror.List{{}}}}
	live := &Answer{Response: &graphql.Response{Data: []byte(`{}`)}, Live: true}
	returns := func(a *Answer) func(context.Context) (*Answer, error) {
		return func(context.Context) (*Answer, error) { return a, nil }
	}
	for _, tt := range []struct {
		why    string
		run    func(context.Context) (*Answer, error)
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
		{"it says how old it is", withLag, false, 0, false},
		{"stale already", fresh(true, -time.Minute), false, 999 * time.Millisecond, true},
	} {
		now := begun
		s := &Cache{maxBytes: 1 << 20, now: func() time.Time { return now }, current: map[operationKey]*evaluation{}, permissions: permitted{}}
		s.Forget()
		other, _ := s.find(operationKey{2}, false)
		s.finish(other, plain, time.Time{}) // It is kept before, and longer.
		ctx, cancel := context.WithCancel(t.Context())
		e, first := s.find(operationKey{1}, false)
		if tt.cancel {
			cancel()
		}
		if _, err := s.make(ctx, e, &authz.Visibility{}, tt.run); err != nil || !first {
			t.Fatal(err)
		}
		cancel()
		now = now.Add(tt.later)
		if _, first := s.find(operationKey{1}, false); first == tt.want {
			t.Errorf("%s: found: %t, want %t", tt.why, !first, tt.want)
		}
	}
}

// TestForgottenIsNotKept: what was under way when everything was forgotten takes no memory.
func TestForgottenIsNotKept(t *testing.T) {
	s := &Cache{maxBytes: 1 << 20, now: time.Now, current: map[operationKey]*evaluation{}}
	s.Forget()
	e, _ := s.find(operationKey{1}, false)
	s.Forget()
	later, first := s.find(operationKey{1}, false)
	if !first {
		t.Fatal("what began before is found")
	}
	s.finish(e, &Answer{body: []byte("{}")}, time.Time{})
	if s.kept.Len() != 0 || s.bytes != 0 || s.current[operationKey{1}] != later {
		t.Errorf("%d kept, %d bytes", s.kept.Len(), s.bytes)
	}
	s.finish(later, &Answer{body: []byte("{}")}, time.Time{})
	if s.kept.Len() != 1 || s.bytes == 0 {
		t.Errorf("%d kept, %d bytes: the later one is", s.kept.Len(), s.bytes)
	}
}
