package authz

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// fakeRules counts reviews and answers them.
type fakeRules struct {
	answer func(context.Context, User) (*authorizationv1.SubjectRulesReviewStatus, error)
	count  atomic.Int64
}

func (f *fakeRules) Rules(ctx context.Context, u User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	f.count.Add(1)
	return f.answer(ctx, u)
}

func listed(all ...authorizationv1.ResourceRule) func(context.Context, User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	return func(context.Context, User) (*authorizationv1.SubjectRulesReviewStatus, error) {
		return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: all}, nil
	}
}

// noAccessReviews fails the test when a review is asked for that the rules answer.
func noAccessReviews(t *testing.T) *fakeAccessReviews {
	return &fakeAccessReviews{answer: func(_ context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
		t.Errorf("asked %+v, which the rules answer", spec.ResourceAttributes)
		return false, nil
	}}
}

func TestVisibilityCostsOneReview(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("instance-%03d", i)
	}
	bound := []string{"instance-007", "instance-500", "instance-999"}
	var all []authorizationv1.ResourceRule
	for _, name := range bound {
		all = append(all, viewerRules(name)...)
	}
	for _, tt := range []struct {
		name  string
		rules []authorizationv1.ResourceRule
		want  []string
	}{
		{"bound to three", all, bound},
		{"bound to none", nil, []string{}},
		{"all", []authorizationv1.ResourceRule{rule(reads, "instances instances/resources", "")}, names},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules := &fakeRules{answer: listed(tt.rules...)}
			resolver := NewResolver(rules, noAccessReviews(t), nil, nil)
			ctx := WithUser(t.Context(), User{Name: "alice"})
			v, err := resolver.For(ctx, names...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, v.Filter(names)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			// What a page asks of each of its instances costs nothing more.
			for _, name := range names {
				v, err := resolver.For(ctx, name)
				if err != nil {
					t.Fatal(err)
				}
				if g, ok := v.Instance(name); ok && !g.ViewerCan().View {
					t.Errorf("%s is visible and may not be viewed", name)
				}
			}
			if n := rules.count.Load(); n != 1 {
				t.Errorf("%d instances cost %d reviews, want 1", len(names), n)
			}
		})
	}
}

func TestVisibilityRemembers(t *testing.T) {
	away := errors.New("connection refused")
	for _, tt := range []struct {
		name  string
		rules []authorizationv1.ResourceRule
		err   error
		// steps are what happens between two questions.
		steps       []func(*clock, *Resolver)
		wantReviews int64
		wantCode    apierror.Code
		why         string
	}{
		{name: "in a burst", rules: viewerRules("alpha"), steps: []func(*clock, *Resolver){after(0), after(2999 * time.Millisecond)}, wantReviews: 1, why: "one review serves three seconds"},
		{name: "later", rules: viewerRules("alpha"), steps: []func(*clock, *Resolver){after(3 * time.Second)}, wantReviews: 2, why: "a role that was taken away by hand stops working after three seconds"},
		{name: "nothing visible", steps: []func(*clock, *Resolver){after(2 * time.Second)}, wantReviews: 1, why: "that nothing is visible is an answer"},
		{name: "nothing visible, later", steps: []func(*clock, *Resolver){after(3 * time.Second)}, wantReviews: 2, why: "a new role works after three seconds"},
		{name: "flushed", rules: viewerRules("alpha"), steps: []func(*clock, *Resolver){after(time.Second), flush}, wantReviews: 2, why: "a binding changed"},
		{name: "cluster away", err: away, steps: []func(*clock, *Resolver){after(0)}, wantReviews: 2, wantCode: apierror.CodeTimeout, why: "no answer is nothing to remember"},
		{
			name: "Kairship may not impersonate", err: apierrors.NewForbidden(schema.GroupResource{Resource: "users"}, "alice", nil),
			wantReviews: 1, wantCode: apierror.CodeTimeout, why: "a global cluster that is starting refuses everybody, and the user is not at fault",
		},
		{
			name: "a user who can't be asked about", err: apierror.New(apierror.CodeForbidden, "your identity can't be checked"),
			wantReviews: 1, wantCode: apierror.CodeForbidden, why: "this is about the user",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &clock{}
			rules := &fakeRules{answer: func(ctx context.Context, u User) (*authorizationv1.SubjectRulesReviewStatus, error) {
				if tt.err != nil {
					return nil, tt.err
				}
				return listed(tt.rules...)(ctx, u)
			}}
			resolver := NewResolver(rules, noAccessReviews(t), c.now, nil)
			check := func() {
				v, err := resolver.Visibility(t.Context(), User{Name: "alice"})
				if (err == nil) != (tt.wantCode == "") || (err != nil && apierror.CodeOf(err) != tt.wantCode) {
					t.Fatalf("got %v, want %q: %s", err, tt.wantCode, tt.why)
				}
				if err == nil && v.Sees("alpha") != (tt.rules != nil) {
					t.Errorf("alpha visible: %v", v.Sees("alpha"))
				}
			}
			check()
			for _, step := range tt.steps {
				step(c, resolver)
				check()
			}
			if n := rules.count.Load(); n != tt.wantReviews {
				t.Errorf("got %d reviews, want %d: %s", n, tt.wantReviews, tt.why)
			}
		})
	}
}

func after(d time.Duration) func(*clock, *Resolver) {
	return func(c *clock, _ *Resolver) { c.advance(d) }
}

func flush(_ *clock, r *Resolver) { r.Flush() }

func TestVisibilityIsServedWhileTheClusterIsAway(t *testing.T) {
	c := &clock{}
	var away bool
	rules := &fakeRules{answer: func(ctx context.Context, u User) (*authorizationv1.SubjectRulesReviewStatus, error) {
		if away {
			return nil, errors.New("connection refused")
		}
		return listed(viewerRules("alpha")...)(ctx, u)
	}}
	resolver := NewResolver(rules, noAccessReviews(t), c.now, nil)
	for i, want := range []apierror.Code{"", "", apierror.CodeTimeout} {
		_, err := resolver.Visibility(t.Context(), User{Name: "alice"})
		if (err == nil) != (want == "") || (err != nil && apierror.CodeOf(err) != want) {
			t.Errorf("question %d: got %v, want %q", i, err, want)
		}
		away = true
		c.advance(2 * time.Second)
	}
}

func TestVisibilityIsOnesOwn(t *testing.T) {
	rules := &fakeRules{answer: func(_ context.Context, u User) (*authorizationv1.SubjectRulesReviewStatus, error) {
		return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: viewerRules(map[string]string{"alice": "alpha", "bob": "beta"}[u.Name])}, nil
	}}
	resolver := NewResolver(rules, noAccessReviews(t), nil, nil)
	for range 2 {
		for user, want := range map[string][]string{"alice": {"alpha"}, "bob": {"beta"}} {
			v, err := resolver.Visibility(t.Context(), User{Name: user})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, v.Filter([]string{"alpha", "beta"})); d != "" {
				t.Errorf("%s sees (-want +got):\n%s", user, d)
			}
		}
	}
	if _, err := resolver.For(t.Context()); apierror.CodeOf(err) != apierror.CodeUnauthenticated {
		t.Errorf("without a user: got %v, want %s", err, apierror.CodeUnauthenticated)
	}
	if n := rules.count.Load(); n != 2 {
		t.Errorf("got %d reviews, want one for each user", n)
	}
}

func TestResolverServesWhoeverIsKnown(t *testing.T) {
	var away error
	rules := &fakeRules{answer: func(ctx context.Context, u User) (*authorizationv1.SubjectRulesReviewStatus, error) {
		if away != nil {
			return nil, away
		}
		return listed()(ctx, u)
	}}
	resolver := NewResolver(rules, noAccessReviews(t), nil, nil)
	if err := resolver.CanServe(t.Context(), User{Name: "mallory"}); err != nil {
		t.Errorf("a user who sees nothing: %v", err)
	}
	if _, err := resolver.Visibility(t.Context(), User{Name: "mallory"}, "alpha"); err != nil || rules.count.Load() != 1 {
		t.Errorf("%v, %d reviews: what was asked to serve is not asked again", err, rules.count.Load())
	}
	away = errors.New("connection refused")
	if err := resolver.CanServe(t.Context(), User{Name: "alice"}); apierror.CodeOf(err) != apierror.CodeTimeout {
		t.Errorf("undecided: got %v, want %s", err, apierror.CodeTimeout)
	}
}

func TestVisibilityIsAskedOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := &fakeRules{answer: func(ctx context.Context, u User) (*authorizationv1.SubjectRulesReviewStatus, error) {
			time.Sleep(time.Second)
			return listed(viewerRules("alpha")...)(ctx, u)
		}}
		resolver := NewResolver(rules, noAccessReviews(t), nil, nil)
		impatient, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		if _, err := resolver.Visibility(impatient, User{Name: "alice"}); apierror.CodeOf(err) != apierror.CodeTimeout {
			t.Errorf("a caller who left got %v", err)
		}
		errs := make(chan error)
		for range 50 {
			go func() {
				_, err := resolver.Visibility(t.Context(), User{Name: "alice"})
				errs <- err
			}()
		}
		for range 50 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if n := rules.count.Load(); n != 1 {
			t.Errorf("51 callers cost %d reviews, want 1", n)
		}
	})
}

// An answer that was on its way when a role was taken away may still be the old
// one. It must serve no later request.
func TestFlushDropsWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var revoked atomic.Bool
		rules := &fakeRules{answer: func(context.Context, User) (*authorizationv1.SubjectRulesReviewStatus, error) {
			status := &authorizationv1.SubjectRulesReviewStatus{}
			if !revoked.Load() {
				status.ResourceRules = viewerRules("alpha")
			}
			time.Sleep(time.Second)
			return status, nil
		}}
		resolver := NewResolver(rules, noAccessReviews(t), nil, nil)
		before := make(chan bool)
		go func() {
			v, err := resolver.Visibility(t.Context(), User{Name: "alice"})
			before <- err == nil && v.Sees("alpha")
		}()
		synctest.Wait()
		revoked.Store(true)
		resolver.Flush()
		after, err := resolver.Visibility(t.Context(), User{Name: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		if after.Sees("alpha") {
			t.Error("who asked after the flush shared an answer from before it")
		}
		if !<-before {
			t.Error("who asked before the flush got no answer")
		}
		again, err := resolver.Visibility(t.Context(), User{Name: "alice"})
		if err != nil || again.Sees("alpha") {
			t.Errorf("an answer from before the flush was remembered: %v, %v", again, err)
		}
		if n := rules.count.Load(); n != 2 {
			t.Errorf("got %d reviews, want 2", n)
		}
	})
}

func TestVisibilityStaysBounded(t *testing.T) {
	resolver := NewResolver(&fakeRules{answer: listed()}, noAccessReviews(t), nil, nil)
	for i := range visibilityMemory.size + 100 {
		if _, err := resolver.Visibility(t.Context(), User{Name: fmt.Sprint("user-", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := resolver.known.positive.len(); n != visibilityMemory.size {
		t.Errorf("%d users are remembered, want the bound of %d", n, visibilityMemory.size)
	}
	resolver.Flush()
	if n := resolver.known.positive.len(); n != 0 {
		t.Errorf("%d users are remembered after a flush", n)
	}
}
