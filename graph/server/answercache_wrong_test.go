package server_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/quota"
)

// inFlight sends a query in the background, and returns where its body will be. Unlike do,
// it does not wait for other requests.
func (s sharingServer) inFlight(ctx context.Context, t *testing.T, person string) <-chan string {
	t.Helper()
	return s.inFlightBody(ctx, t, person, `{"query":"{scope}"}`)
}

func (s sharingServer) inFlightBody(ctx context.Context, t *testing.T, person, body string) <-chan string {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/graphql", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+person)
	r.Header.Set("Content-Type", "application/json")
	answer := make(chan string, 1)
	go func() {
		resp, err := s.Client().Do(r)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		read, _ := io.ReadAll(resp.Body)
		answer <- string(read)
	}()
	return answer
}

// gated has `scope` wait, so that others ask meanwhile.
func gated(c *counting, _ *server.Config) {
	c.gate, c.entered = make(chan struct{}), make(chan struct{}, 100)
}

// held returns once a request is being executed.
func (s sharingServer) held(t *testing.T) {
	t.Helper()
	select {
	case <-s.entered:
	case <-time.After(heldWithin):
		t.Fatal("it is not executed")
	}
}

// waiting returns once n requests are being served.
func (s sharingServer) waiting(t *testing.T, n int) {
	t.Helper()
	poll.Until(t, patience, "the requests read their permissions", func(context.Context) error {
		if looked := s.looked.Load(); looked < int64(n) {
			return fmt.Errorf("%d of %d have", looked, n)
		}
		return nil
	})
}

// heldWithin is less than the timeout of an operation, which has others executed.
const heldWithin = 5 * time.Second

const (
	alphas = `{"data":{"scope":"alpha"}}`
	none   = `{"data":{"scope":""}}`
)

// TestInFlight checks that callers of a query wait for the answer of an equal one that is being
// executed; callers with other grants neither get it nor wait.
func TestInFlight(t *testing.T) {
	s := startSharing(t, gated)
	var equal []<-chan string
	equal = append(equal, s.inFlight(t.Context(), t, "alice"))
	s.held(t)
	for i := range 49 {
		equal = append(equal, s.inFlight(t.Context(), t, []string{"alice", "anna"}[i%2]))
	}
	bob, mallory := s.inFlight(t.Context(), t, "bob"), s.inFlight(t.Context(), t, "mallory")
	s.held(t)
	s.held(t) // Both are executed, while the others wait.
	s.waiting(t, 52)
	close(s.gate)
	for _, body := range equal {
		if got := <-body; got != alphas {
			t.Errorf("got %s", got)
		}
	}
	if d := cmp.Diff([]string{`{"data":{"scope":"beta"}}`, none}, []string{<-bob, <-mallory}); d != "" {
		t.Errorf("others (-want +got):\n%s", d)
	}
	if got := s.executed.get("scope"); got != 3 {
		t.Errorf("executed %d times, want once for each of three sets of grants", got)
	}
}

// TestRevokedWhileWaiting checks that a caller who loses a permission while waiting does not get
// the answer.
func TestRevokedWhileWaiting(t *testing.T) {
	for _, rules := range []string{"", "beta", "alpha:shop"} {
		s := startSharing(t, gated)
		alice := s.inFlight(t.Context(), t, "alice")
		s.held(t)
		anna := s.inFlight(t.Context(), t, "anna")
		s.waiting(t, 2)
		s.grants.set("anna", rules)
		close(s.gate)
		if got := <-alice; got != alphas {
			t.Errorf("alice got %s", got)
		}
		<-anna
		if got := s.executed.get("scope"); got != 2 {
			t.Errorf("%q: executed %d times: anna was sent what alice may read", rules, got)
		}
	}
}

// TestRevokedAfterwards checks that a cached answer is not returned to users who may now see less.
func TestRevokedAfterwards(t *testing.T) {
	for _, tt := range []struct{ rules, want string }{{"", none}, {"beta", `{"data":{"scope":"beta"}}`}, {"alpha:shop", alphas}, {"alpha", alphas}} {
		s := startSharing(t, nil)
		s.ask(t, "alice", "{scope hello}", nil)
		s.ask(t, "anna", "{scope hello}", nil)
		s.grants.set("anna", tt.rules)
		got := s.ask(t, "anna", "{scope hello}", nil)
		executed := map[bool]int{true: 1, false: 2}[tt.rules == "alpha"]
		if want := strings.TrimSuffix(tt.want, "}}") + fmt.Sprintf(`,"hello":"hello %d"}}`, executed); got != want {
			t.Errorf("%q: got %s, want %s", tt.rules, got, want)
		}
	}
}

// TestGrantsChangeDuringExecution: what was read with rights that come or go meanwhile is
// for the one request alone, under either set of rights.
func TestGrantsChangeDuringExecution(t *testing.T) {
	for _, tt := range []struct{ name, during, after, want string }{
		{"more", "alpha beta", "alpha beta", "alpha/alpha beta"},
		{"less", "", "", "alpha/"},
		{"more, and back before the end", "alpha beta", "alpha", "alpha/alpha beta"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s sharingServer
			s = startSharing(t, func(c *counting, _ *server.Config) {
				c.during = func() {
					if c.executed.get("scope") == 1 {
						s.grants.set("alice", tt.during)
					}
				}
				c.after = func() { s.grants.set("alice", tt.after) }
			})
			if got := s.ask(t, "alice", "{scope}", nil); got != `{"data":{"scope":"`+tt.want+`"}}` {
				t.Fatalf("alice got %s", got)
			}
			if got := s.ask(t, "anna", "{scope}", nil); got != `{"data":{"scope":"alpha/alpha"}}` {
				t.Errorf("anna, who has what alice had, got %s", got)
			}
			s.grants.set("bob", tt.during)
			if got, want := s.ask(t, "bob", "{scope}", nil), fmt.Sprintf(`{"data":{"scope":"%s/%[1]s"}}`, tt.during); got != want {
				t.Errorf("bob, who has what alice has now, got %s, want %s", got, want)
			}
		})
	}
}

// TestRulesThatCannotBeListed: where users can't be compared, no users share.
func TestRulesThatCannotBeListed(t *testing.T) {
	s := startSharing(t, func(c *counting, _ *server.Config) { c.grants.incomplete = true })
	s.ask(t, "alice", "{hello}", nil)
	s.ask(t, "alice", "{hello}", nil)
	if got := s.executed.get("hello"); got != 2 {
		t.Errorf("executed %d times, want 2", got)
	}
}

// TestCanceledFirstRequest checks that one of the waiting requests executes the query for all of
// them when the first client disconnects.
func TestCanceledFirstRequest(t *testing.T) {
	s := startSharing(t, gated)
	ctx, cancel := context.WithCancel(t.Context())
	first := s.inFlight(ctx, t, "alice")
	s.held(t)
	var others []<-chan string
	for i := range 10 {
		others = append(others, s.inFlight(t.Context(), t, []string{"alice", "anna"}[i%2]))
	}
	s.waiting(t, 11)
	cancel()
	<-first
	s.held(t)
	close(s.gate)
	for _, body := range others {
		if got := <-body; got != alphas {
			t.Errorf("got %s", got)
		}
	}
	if got := s.executed.get("scope"); got != 2 {
		t.Errorf("executed %d times, want 2", got)
	}
}

// TestWaitingEndsWithTheRequest checks that a client that disconnects stops waiting, and disturbs
// no other.
func TestWaitingEndsWithTheRequest(t *testing.T) {
	s := startSharing(t, gated)
	first := s.inFlight(t.Context(), t, "alice")
	s.held(t)
	ctx, cancel := context.WithCancel(t.Context())
	second := s.inFlight(ctx, t, "alice")
	s.waiting(t, 2)
	cancel()
	<-second
	close(s.gate)
	if got := <-first; got != alphas {
		t.Errorf("got %s", got)
	}
	s.busy.Wait()
	if got := s.executed.get("scope"); got != 1 {
		t.Errorf("executed %d times, want 1", got)
	}
}

// TestMutationDuringExecution checks that a query sent after a mutation does not get an answer
// whose execution began before.
func TestMutationDuringExecution(t *testing.T) {
	s := startSharing(t, gated)
	first := s.inFlight(t.Context(), t, "alice")
	s.held(t)
	r := s.inFlightBody(t.Context(), t, "anna", `{"query":"mutation{touch}"}`)
	<-r
	second := s.inFlight(t.Context(), t, "anna")
	s.held(t) // It does not wait for the first one.
	close(s.gate)
	<-first
	<-second
	s.busy.Wait()
	if got := s.executed.get("scope"); got != 2 {
		t.Errorf("executed %d times, want 2", got)
	}
}

// TestLongExecution: no request joins an execution that began more than a second ago, which
// may hang, and its answer does not replace that of a later one.
func TestLongExecution(t *testing.T) {
	s := startSharing(t, gated)
	first := s.inFlight(t.Context(), t, "alice")
	s.held(t)
	s.clock.advance(time.Second)
	second := s.inFlight(t.Context(), t, "alice")
	s.held(t)
	close(s.gate)
	<-first
	<-second
	if got := s.executed.get("scope"); got != 2 {
		t.Errorf("executed %d times, want 2", got)
	}
}

// TestErrorInFlight checks that callers that wait for an execution that fails are executed
// themselves, each with its own errors.
func TestErrorInFlight(t *testing.T) {
	for _, document := range []string{`{scope fail(name:\"boom\")}`, `{scope panic}`} {
		s := startSharing(t, gated)
		var answers []<-chan string
		body := `{"query":"` + document + `"}`
		answers = append(answers, s.inFlightBody(t.Context(), t, "alice", body))
		s.held(t)
		answers = append(answers, s.inFlightBody(t.Context(), t, "anna", body), s.inFlightBody(t.Context(), t, "alice", body))
		s.waiting(t, 3)
		close(s.gate)
		for _, answer := range answers {
			if got := <-answer; !strings.Contains(got, `"errors"`) {
				t.Errorf("got %s", got)
			}
		}
		if got := s.executed.get("scope"); got != 3 {
			t.Errorf("%s: executed %d times, want 3", document, got)
		}
	}
}

// TestUsersGetTheirOwnAnswers has people ask the same at once while their rights change.
// Time stands still, so no answer expires: each person always gets what they may see then.
func TestUsersGetTheirOwnAnswers(t *testing.T) {
	const rounds = 150
	s := startSharing(t, func(_ *counting, c *server.Config) {
		c.Quotas = quota.New(quota.Limits{OperationsBurst: 100_000}, c.Now)
	})
	var people sync.WaitGroup
	for i, person := range []string{"alice", "anna", "bob", "both", "mallory"} {
		people.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			rules := []string{"", "alpha", "beta", "alpha beta"}
			may := rules[0]
			s.grants.set(person, may)
			for range rounds {
				switch random.IntN(8) {
				case 0:
					may = rules[random.IntN(len(rules))]
					s.grants.set(person, may)
				case 1:
					<-s.inFlightBody(t.Context(), t, person, `{"query":"mutation{touch}"}`)
				case 2:
					ctx, cancel := context.WithCancel(t.Context())
					gone := s.inFlight(ctx, t, person)
					cancel()
					<-gone
				default:
					if got, want := <-s.inFlight(t.Context(), t, person), `{"data":{"scope":"`+may+`"}}`; got != want {
						t.Errorf("%s got %s, want %s", person, got, want)
						return
					}
				}
			}
		})
	}
	people.Wait()
	s.busy.Wait()
	if executed := s.executed.get("scope"); executed == 0 || executed >= 5*rounds/2 {
		t.Errorf("executed %d times: nothing was shared", executed)
	}
}
