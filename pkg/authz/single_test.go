package authz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// cluster is a global cluster that can't list the rules of its users: it lists
// some and judges by others.
type cluster struct {
	listed, judged []authorizationv1.ResourceRule
	fail           func(*authorizationv1.ResourceAttributes) error
}

func (c *cluster) Rules(context.Context, User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: c.listed, Incomplete: true}, nil
}

func (c *cluster) access(_ context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	a := spec.ResourceAttributes
	if c.fail != nil {
		if err := c.fail(a); err != nil {
			return false, err
		}
	}
	if a.Group != "kairship.io" || a.Resource != "instances" || a.Namespace != "" {
		return false, fmt.Errorf("asked about %+v", a)
	}
	return rbacAllows(c.judged, a.Verb, a.Subresource, a.Name), nil
}

func TestIncompleteRules(t *testing.T) {
	see := rule("get", "instances", "alpha")
	inShop := rule(reads, "instances/namespaces", "alpha:shop")
	for _, tt := range []struct {
		name           string
		listed, judged []authorizationv1.ResourceRule
		// alpha and beta say what is permitted there, asked about each alone.
		alpha, beta string
		all         bool
		// wantReviews are those of the question about both.
		wantReviews int64
		why         string
	}{
		{
			name: "nothing", alpha: "hidden", beta: "hidden",
			wantReviews: 3, why: "one question about all instances and one about each",
		},
		{
			name: "listed and permitted", listed: viewerRules("alpha"), judged: viewerRules("alpha"),
			alpha: viewerSummary, beta: "hidden", wantReviews: 3 + 21, why: "everything is asked about an instance that may be seen",
		},
		{
			name: "permitted by what can't be listed", judged: adminRules("alpha"),
			alpha: adminSummary, beta: "hidden", wantReviews: 3 + 21, why: "rules that are not listed hold",
		},
		{
			name: "listed, and refused by what can't be listed", listed: adminRules("alpha"),
			alpha: "hidden", beta: "hidden", wantReviews: 3, why: "another authorizer may refuse what RBAC permits",
		},
		{
			name: "administrator", judged: []authorizationv1.ResourceRule{groupRule("*", "*", "*", "")},
			alpha: ownerSummary, beta: ownerSummary, all: true, wantReviews: 1 + 21, why: "what is permitted for all is not asked about single ones",
		},
		{
			name: "namespaces", listed: []authorizationv1.ResourceRule{see, inShop}, judged: []authorizationv1.ResourceRule{see, inShop},
			alpha: "view=shop watch=shop", beta: "hidden", wantReviews: 3 + 21 + 3, why: "namespaces that a rule names are asked about, as far as it says",
		},
		{
			name: "namespaces, refused", listed: []authorizationv1.ResourceRule{see, inShop}, judged: []authorizationv1.ResourceRule{see},
			alpha: "seen", beta: "hidden", wantReviews: 3 + 21 + 3, why: "another authorizer may refuse what RBAC permits",
		},
		{
			name:   "every namespace",
			listed: []authorizationv1.ResourceRule{see, rule(reads, "instances/namespaces", "")},
			judged: []authorizationv1.ResourceRule{see, rule(reads, "instances/namespaces", "")},
			alpha:  "view=+ watch=+", beta: "hidden", wantReviews: 3 + 21 + 3, why: "a listed rule about all namespaces is asked about once",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &cluster{listed: tt.listed, judged: tt.judged}
			access := &fakeAccessReviews{answer: c.access}
			resolver := NewResolver(c, access, nil, nil)
			v, err := resolver.Visibility(t.Context(), User{Name: "alice"}, "alpha", "beta")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{tt.alpha, tt.beta}, []string{summary(v, "alpha"), summary(v, "beta")}); d != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, d)
			}
			if v.All() != tt.all {
				t.Errorf("All() = %v, want %v", v.All(), tt.all)
			}
			if v.Sees("gamma") {
				t.Error("an instance that was not asked about is visible")
			}
			if n := access.count.Load(); n != tt.wantReviews {
				t.Errorf("got %d reviews, want %d: %s", n, tt.wantReviews, tt.why)
			}
			one, err := resolver.Visibility(t.Context(), User{Name: "alice"}, "alpha")
			if err != nil || summary(one, "alpha") != tt.alpha {
				t.Errorf("asked about alpha alone: %v, %v", one, err)
			}
			if n := access.count.Load(); n != tt.wantReviews {
				t.Errorf("%d reviews for what was asked a moment ago", n-tt.wantReviews)
			}
		})
	}
}

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("instance-%04d", i)
	}
	return names
}

func TestIncompleteRulesStayBounded(t *testing.T) {
	names := manyNames(3000)
	// The last name would not make it among the first thousand, but a rule names it.
	last := names[len(names)-1]
	for _, tt := range []struct {
		name           string
		listed, judged []authorizationv1.ResourceRule
		wantVisible    int
		wantReviews    int64
		wantWarning    bool
		why            string
	}{
		{
			name: "bound to one", listed: viewerRules(last), judged: viewerRules(last),
			wantVisible: 1, wantReviews: 1 + maxReviewedInstances + 3, wantWarning: true,
			why: "of many instances, a bounded number is asked about, those that a rule names first",
		},
		{
			name: "bound to all", judged: []authorizationv1.ResourceRule{rule(reads, "instances instances/resources", "")},
			wantVisible: len(names), wantReviews: 1 + 21 + maxReviewedInstances,
			why: "that they may be seen is known, and what else reading needs is asked about each: the values of Secrets",
		},
		{
			name: "administrator", judged: []authorizationv1.ResourceRule{groupRule("*", "*", "*", "")},
			wantVisible: len(names), wantReviews: 1 + 21, why: "nothing is left to ask about single ones",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			c := &cluster{listed: tt.listed, judged: tt.judged}
			access := &fakeAccessReviews{answer: c.access}
			resolver := NewResolver(c, access, nil, slog.New(slog.NewTextHandler(&log, nil)))
			for range 2 {
				v, err := resolver.Visibility(t.Context(), User{Name: "alice"}, names...)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(v.Filter(names)); n != tt.wantVisible {
					t.Errorf("%d are visible, want %d: %s", n, tt.wantVisible, tt.why)
				}
				if g, ok := v.Instance(last); ok && !g.CanRead("shop") {
					t.Errorf("%s can be seen and not read", last)
				}
			}
			if n := access.count.Load(); n != tt.wantReviews {
				t.Errorf("got %d reviews, want %d: %s", n, tt.wantReviews, tt.why)
			}
			if n := strings.Count(log.String(), "level=WARN"); (n == 1) != tt.wantWarning {
				t.Errorf("got %d warnings:\n%s", n, log.String())
			}
		})
	}
}

func TestSingleReviewsAreParallelWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		var running, most atomic.Int64
		access := &fakeAccessReviews{answer: func(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for {
				m := most.Load()
				if n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			time.Sleep(10 * time.Millisecond)
			return c.access(ctx, spec)
		}}
		resolver := NewResolver(c, access, nil, nil)
		errs := make(chan error)
		for i := range 4 {
			go func() {
				_, err := resolver.Visibility(t.Context(), User{Name: fmt.Sprint("user-", i)}, manyNames(40)...)
				errs <- err
			}()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if n := most.Load(); n != maxParallelReviews {
			t.Errorf("%d reviews were under way at a time, want the bound of %d", n, maxParallelReviews)
		}
	})
}

func TestSingleReviewFails(t *testing.T) {
	c := &cluster{judged: adminRules("alpha"), fail: func(a *authorizationv1.ResourceAttributes) error {
		if a.Subresource == "secrets" {
			return errors.New("connection refused")
		}
		return nil
	}}
	resolver := NewResolver(c, &fakeAccessReviews{answer: c.access}, nil, nil)
	if _, err := resolver.Visibility(t.Context(), User{Name: "alice"}, "alpha"); apierror.CodeOf(err) != apierror.CodeTimeout {
		t.Errorf("got %v, want %s: half an answer is none", err, apierror.CodeTimeout)
	}
	c.fail = nil
	v, err := resolver.Visibility(t.Context(), User{Name: "alice"}, "alpha")
	if err != nil || summary(v, "alpha") != adminSummary {
		t.Errorf("got %v: a failure must not be remembered", err)
	}
}

// Both caches may hold an answer from before a role was revoked, one built on the other. The sum of
// their lifetimes must not exceed five seconds.
func TestSingleReviewsForgetInTime(t *testing.T) {
	clk := &clock{}
	c := &cluster{judged: []authorizationv1.ResourceRule{groupRule("*", "*", "*", "")}}
	resolver := NewResolver(c, &fakeAccessReviews{answer: c.access}, clk.now, nil)
	sees := func(names ...string) bool {
		v, err := resolver.Visibility(t.Context(), User{Name: "alice"}, names...)
		if err != nil {
			t.Fatal(err)
		}
		return v.Sees("alpha")
	}
	if !sees("beta", "alpha") {
		t.Fatal("alpha is not visible")
	}
	c.judged = nil
	for range 50 {
		clk.advance(100 * time.Millisecond)
		sees("alpha")
	}
	if sees("alpha") {
		t.Error("five seconds after the role was taken away, alpha is visible")
	}
	c.judged = viewerRules("alpha")
	resolver.Flush()
	if !sees("alpha") {
		t.Error("after a flush, an old answer is used")
	}
}
