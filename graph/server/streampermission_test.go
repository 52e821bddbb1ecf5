package server_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// globalCluster authenticates callers and returns their permissions, which the test can change.
type globalCluster struct {
	fakeAuth

	mu      sync.Mutex
	rules   []authorizationv1.ResourceRule
	revoked bool
	away    bool
	groups  []string

	reviews, checks atomic.Int64
}

func (g *globalCluster) set(change func(*globalCluster)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(g)
}

// Rules implements authz.RulesReviewer.
func (g *globalCluster) Rules(context.Context, authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	g.reviews.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away {
		return nil, errors.New("dial tcp: connection refused")
	}
	return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: g.rules}, nil
}

func (g *globalCluster) Recheck(ctx context.Context, c authz.Credentials) (authz.User, error) {
	g.checks.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.away:
		return authz.User{}, errUndecided
	case g.revoked:
		return authz.User{}, apierror.New(apierror.CodeUnauthenticated, "the token is not valid")
	}
	u, err := g.Authenticate(ctx, c)
	u.Groups = g.groups
	return u, err
}

func mayRead(resource string, names ...string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"kairship.io"}, Resources: []string{resource}, ResourceNames: names}
}

func reads(names ...string) []authorizationv1.ResourceRule {
	return []authorizationv1.ResourceRule{mayRead("instances", names...), mayRead("instances/resources", names...)}
}

// watched is a server whose callers are checked again and again.
func watched(t *testing.T, change func(*authz.SessionChecker)) (testServer, *globalCluster) {
	t.Helper()
	g := &globalCluster{rules: reads("alpha", "other")}
	resolver := authz.NewResolver(g, nil, nil, nil)
	sessions := &authz.SessionChecker{Recheck: g.Recheck, Review: resolver.Review, Interval: 20 * time.Millisecond}
	if change != nil {
		change(sessions)
	}
	s := start(t, nil, func(c *server.Config) { c.Sessions = sessions })
	s.feed.granted, s.feed.instance, s.feed.pushed = resolver, "alpha", make(chan int)
	t.Cleanup(func() {
		poll.True(t, patience, "no caller to be checked any longer", func() bool { s.CloseClientConnections(); return sessions.Callers() == 0 })
	})
	return s, g
}

const pushedDocument = `subscription { events(topic: "pushed") { n fail(name: "permission") } }`

func TestStreamsEndWithWhatWasPermitted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*globalCluster)
		reason string
		// code is that of the last error, closed how a WebSocket is closed; zero where
		// only the subscription ends.
		code   string
		closed int
		why    string
	}{
		{
			name: "revoked", change: func(g *globalCluster) { g.rules = nil },
			reason: "ACCESS_REVOKED", code: "FORBIDDEN", why: "the instance may no longer be seen",
		},
		{
			name: "narrowed to a namespace", change: func(g *globalCluster) {
				g.rules = []authorizationv1.ResourceRule{mayRead("instances", "alpha", "other"), mayRead("instances/namespaces", "alpha:shop")}
			},
			reason: "PERMISSIONS_CHANGED", code: "FORBIDDEN", why: "the stream would carry more than may be seen",
		},
		{
			name: "widened", change: func(g *globalCluster) { g.rules = append(g.rules, mayRead("instances/secrets", "alpha")) },
			reason: "PERMISSIONS_CHANGED", code: "FORBIDDEN", why: "the stream would carry less than may be seen",
		},
		{
			name: "token revoked", change: func(g *globalCluster) { g.revoked = true },
			reason: "TOKEN_EXPIRED", code: "UNAUTHENTICATED", closed: 4440, why: "the user is not known any longer",
		},
		{
			name: "other groups", change: func(g *globalCluster) { g.groups = []string{"new"} },
			reason: "PERMISSIONS_CHANGED", code: "FORBIDDEN", closed: 4443, why: "it is another user, as far as permissions go",
		},
		{
			name: "undecided for too long", change: func(g *globalCluster) { g.away = true },
			reason: "UNDECIDED", code: "TIMEOUT", closed: 1013, why: "it is not confirmed that they may go on",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, g := watched(t, func(sessions *authz.SessionChecker) {
				sessions.HoldAfter, sessions.GiveUpAfter = 50*time.Millisecond, 100*time.Millisecond
			})
			events := s.open(t, call{body: operation(t, foreverDocument, nil)})
			socket := s.known(t)
			socket.subscribe(t, "1", foreverDocument)
			if e, _ := events.next(t); !strings.Contains(e.data, `"n":1`) {
				t.Fatalf("first event: %v", e)
			}
			if got, _ := socket.next(t); !strings.Contains(got, `"n":1`) {
				t.Fatalf("first event: %s", got)
			}
			g.set(tt.change)
			poll.True(t, patience, "both streams to end", func() bool { return s.feed.running.Load() == 0 })

			rest := events.all(t)
			if len(rest) != 2 || rest[1].event != "complete" {
				t.Fatalf("the stream went on with %v, want an error and complete", rest)
			}
			last := decode(t, rest[0].data)["errors"].([]any)[0].(map[string]any)
			if d := cmp.Diff(map[string]any{"code": tt.code, "reason": tt.reason, "traceId": traceID}, last["extensions"]); d != "" {
				t.Errorf("last error (-want +got):\n%s\n%s", d, tt.why)
			}
			if tt.closed != 0 {
				socket.wantClose(t, tt.closed, "")
				return
			}
			got, closed := socket.next(t)
			if closed != nil || !strings.Contains(got, `"type":"error"`) || !strings.Contains(got, tt.reason) {
				t.Errorf("WebSocket: %s, %v, want an error with %s: %s", got, closed, tt.reason, tt.why)
			}
			socket.subscribe(t, "2", "{ hello }")
			if got, closed := socket.next(t); closed != nil {
				t.Errorf("the WebSocket was closed (%v) with one subscription of it: %s", closed, got)
			}
		})
	}
}

// TestStreamsGoOn where nothing changed that they depend on.
func TestStreamsGoOn(t *testing.T) {
	s, g := watched(t, nil)
	events := s.open(t, call{body: operation(t, pushedDocument, nil)})
	// The events read other, but the stream does not depend on it.
	g.set(func(g *globalCluster) { g.rules = reads("alpha", "third") })
	before := g.reviews.Load()
	poll.True(t, patience, "three checks", func() bool { return g.reviews.Load() >= before+3 })
	s.feed.pushed <- 1
	if e, ok := events.next(t); !ok || strings.Contains(e.data, "reason") {
		t.Errorf("the stream ended: %v", e)
	}
}

// TestOneReviewForAllStreams of one user, however many there are.
func TestOneReviewForAllStreams(t *testing.T) {
	s, g := watched(t, func(sessions *authz.SessionChecker) { sessions.Interval = 100 * time.Millisecond })
	for range 4 {
		c := s.known(t)
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			c.subscribe(t, id, pushedDocument)
		}
	}
	poll.True(t, patience, "20 subscriptions", func() bool { return s.feed.running.Load() == 20 })
	reviews, checks := g.reviews.Load(), g.checks.Load()
	poll.True(t, patience, "three more checks", func() bool { return g.checks.Load() >= checks+3 })
	// One may have begun that has not asked its second question.
	if n, m := g.reviews.Load()-reviews, g.checks.Load()-checks; n > m+1 || m > 4 {
		t.Errorf("%d reviews and %d checks in three intervals for 20 streams of one user", n, m)
	}
}

// TestNoEventWithoutConfirmation: while it cannot be confirmed whether a stream may go on,
// it waits, and then goes on where it stood.
func TestNoEventWithoutConfirmation(t *testing.T) {
	s, g := watched(t, func(sessions *authz.SessionChecker) {
		sessions.HoldAfter, sessions.GiveUpAfter = 100*time.Millisecond, time.Hour
	})
	events := s.open(t, call{body: operation(t, pushedDocument, nil)})
	poll.True(t, patience, "the subscription", func() bool { return s.feed.running.Load() == 1 })
	g.set(func(g *globalCluster) { g.away = true })
	checks := g.checks.Load()
	// The confirmation is older than 100 ms once there were that many checks without one.
	poll.True(t, patience, "checks without an answer", func() bool { return g.checks.Load() >= checks+10 })
	s.feed.pushed <- 7
	got := make(chan sse, 1)
	go func() { e, _ := events.next(t); got <- e }()
	select {
	case e := <-got:
		t.Fatalf("an event that was not confirmed: %v", e)
	case <-time.After(200 * time.Millisecond):
	}
	g.set(func(g *globalCluster) { g.away = false })
	if e := <-got; !strings.Contains(e.data, `"n":7`) {
		t.Errorf("got %v, want the event that waited", e)
	}
}
