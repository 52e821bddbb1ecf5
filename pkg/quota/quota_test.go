package quota

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func enter(t *testing.T, u *Users, user string) *Operation {
	t.Helper()
	o, limited := u.Enter(user)
	if limited != nil {
		t.Fatal(limited)
	}
	return o
}

func TestConcurrency(t *testing.T) {
	refused := map[string]int{}
	u := New(Limits{MaxConcurrent: 2, MaxStreams: 1}, nil)
	u.OnRefusal(func(limit string) { refused[limit]++ })
	first := enter(t, u, "alice")
	enter(t, u, "alice")
	if _, limited := u.Enter("alice"); !apierror.Is(limited, apierror.CodeRateLimited) || limited.RetryAfter != retry {
		t.Errorf("a third operation: %v", limited)
	}
	enter(t, u, "bob") // Whose quota is his own.
	first.End()
	first.End() // Once is enough.
	enter(t, u, "alice")
	if _, limited := u.Enter("alice"); limited == nil {
		t.Error("a place was given back twice")
	}
	if _, limited := u.EnterStream("alice"); limited != nil {
		t.Errorf("a stream takes no place of operations: %v", limited)
	}
	if _, limited := u.EnterStream("alice"); !apierror.Is(limited, apierror.CodeRateLimited) {
		t.Errorf("a second stream: %v", limited)
	}
	if refused["concurrency"] != 2 || refused["streams"] != 1 {
		t.Errorf("counted %v", refused)
	}
}

// The cost is reserved before the operation is executed, so operations that begin at the same time
// cannot cost more than the account has.
func TestCostIsReserved(t *testing.T) {
	now := &clock{time.Unix(1000, 0)}
	u := New(Limits{CostPerSecond: 100, CostBurst: 1000}, now.now)
	first, second := enter(t, u, "alice"), enter(t, u, "alice")
	if limited := first.Reserve(800); limited != nil {
		t.Fatal(limited)
	}
	limited := second.Reserve(800)
	if !apierror.Is(limited, apierror.CodeRateLimited) || limited.RetryAfter != 6*time.Second {
		t.Fatalf("the account has 200 left, got %v, retry after %s", limited, limited.RetryAfter)
	}
	if limited := enter(t, u, "bob").Reserve(800); limited != nil {
		t.Errorf("the account of another user: %v", limited)
	}
	first.Charge(50)
	first.Charge(1000) // The first one counts.
	first.End()
	if limited := second.Reserve(950); limited != nil {
		t.Errorf("what was not used comes back at once: %v", limited)
	}
	second.Charge(2000)
	if _, limited := u.Enter("alice"); !apierror.Is(limited, apierror.CodeRateLimited) {
		t.Errorf("a user who owes something begins nothing: %v", limited)
	}
	now.at = now.at.Add(20 * time.Second)
	if limited := enter(t, u, "alice").Reserve(5000); limited != nil {
		t.Errorf("more than the burst is never asked for: %v", limited)
	}
}

// An operation that ends without its cost being known pays what it reserved.
func TestEndWithoutCharge(t *testing.T) {
	now := &clock{time.Unix(1000, 0)}
	u := New(Limits{CostPerSecond: 1, CostBurst: 1000}, now.now)
	o := enter(t, u, "alice")
	if limited := o.Reserve(900); limited != nil {
		t.Fatal(limited)
	}
	o.End()
	if limited := enter(t, u, "alice").Reserve(200); limited == nil {
		t.Error("the operation cost nothing")
	}
}

func TestPermits(t *testing.T) {
	l := Limits{Memory: 1000, OperationMemory: 300}
	for _, tt := range []struct {
		held shares
		more int64
		want memoryDecision
		why  string
	}{
		{shares{}, 300, permitted, "an operation may hold its limit"},
		{shares{}, 301, tooMuchForOne, "and no more, even where nothing else is held"},
		{shares{operation: 200, user: 200, all: 200}, 101, tooMuchForOne, "what it holds already counts"},
		{shares{user: 400, all: 400}, 100, permitted, "a user alone may hold half of all"},
		{shares{user: 400, all: 400}, 101, tooMuchNow, "and no more: the other half is for others"},
		{shares{user: 300, all: 600}, 50, permitted, "of two users each may hold a third"},
		{shares{user: 300, all: 600}, 51, tooMuchNow, "and the last third is for the next one"},
		{shares{user: 0, all: 750}, 125, permitted, "three users hold a quarter each, and a new one gets half of what is left"},
		{shares{user: 0, all: 750}, 126, tooMuchNow, "so that something is left after it, too"},
		{shares{user: 0, all: 1000}, 1, tooMuchNow, "all is held"},
	} {
		if got := permits(l, tt.held, tt.more); got != tt.want {
			t.Errorf("%s: %+v and %d more: %d, want %d", tt.why, tt.held, tt.more, got, tt.want)
		}
	}
}

func TestMemory(t *testing.T) {
	u := New(Limits{Memory: 64 * step, OperationMemory: 20 * step}, nil)
	var alice []*Operation
	codes := map[apierror.Code]int{}
	for range 10 {
		o, limited := u.Enter("alice")
		if limited != nil {
			codes[limited.Code]++
			continue
		}
		alice = append(alice, o)
		for range 10 {
			if err := o.Hold(step); err != nil {
				codes[apierror.CodeOf(err)]++
				break
			}
		}
	}
	if held := u.Held(); held > 32*step || held < 30*step {
		t.Errorf("one user holds %d of 64 steps, want half", held/step)
	}
	if codes[apierror.CodeRateLimited] == 0 || len(codes) != 1 {
		t.Errorf("refused with %v", codes)
	}
	bob := enter(t, u, "bob")
	if err := bob.Hold(15 * step); err != nil {
		t.Errorf("another user: %v", err)
	}
	for _, o := range alice {
		o.End()
	}
	err := bob.Hold(5 * step)
	if !apierror.Is(err, apierror.CodeQueryTooComplex) || bob.Refusal() == nil || !errors.Is(bob.Hold(0), err) {
		t.Errorf("an operation may hold 20 steps: %v, and then %v", err, bob.Hold(0))
	}
	bob.End()
	bob.End()
	if held := u.Held(); held != 0 {
		t.Errorf("%d bytes are held and no operation is under way", held)
	}
	if err := alice[0].Hold(1 << 30); err == nil {
		t.Error("an operation that is over may hold more")
	}
}

func TestBody(t *testing.T) {
	u := New(Limits{Memory: 64 * step, OperationMemory: 12 * step}, nil)
	o := enter(t, u, "alice")
	ctx := With(t.Context(), o)
	of := func(bytes int) io.ReadCloser { return io.NopCloser(strings.NewReader(strings.Repeat("x", bytes))) }
	if n, err := io.Copy(io.Discard, Body(ctx, of(step))); n != step || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	n, err := io.Copy(io.Discard, Body(ctx, of(8*step)))
	if !apierror.Is(err, apierror.CodeQueryTooComplex) || n >= step {
		t.Errorf("read %d, %v: each byte counts %d times", n, err, Expansion)
	}
	if n, err := io.Copy(io.Discard, Body(t.Context(), of(100*step))); n != 100*step || err != nil {
		t.Errorf("without an operation: read %d, %v", n, err)
	}
}

// Users come and go; the memory of them does not grow.
func TestAccountsAreBounded(t *testing.T) {
	u := New(Limits{}, nil)
	for i := range maxAccounts + 100 {
		enter(t, u, fmt.Sprint("user-", i)).End()
	}
	if n := u.accounts.Len(); n != maxAccounts {
		t.Errorf("%d accounts, want %d", n, maxAccounts)
	}
}

// Without an operation, as in a subscription, nothing is counted.
func TestNoOperation(t *testing.T) {
	var o *Operation
	if o.Hold(math.MaxInt64) != nil || o.Reserve(math.MaxInt) != nil || o.Refusal() != nil || From(t.Context()) != nil {
		t.Error("what is no operation has a limit")
	}
	o.Charge(1)
	o.End()
}

// The requests of one user wait for each other, and those of another one do not.
func TestAcquire(t *testing.T) {
	u := New(Limits{MaxIndexRequests: 1}, nil)
	o := enter(t, u, "alice")
	ctx := With(t.Context(), o)
	done, err := Acquire(ctx, ToIndex)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := Acquire(With(t.Context(), enter(t, u, "bob")), ToIndex); err != nil {
		t.Errorf("another user: %v", err)
	} else {
		done()
	}
	if done, err := Acquire(ctx, ToDatabase); err != nil {
		t.Errorf("the other line: %v", err)
	} else {
		done()
	}
	gone, cancel := context.WithCancel(With(t.Context(), enter(t, u, "alice")))
	cancel()
	if _, err := Acquire(gone, ToIndex); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who went away: %v", err)
	}
	turn, next := make(chan error, 1), With(t.Context(), enter(t, u, "alice"))
	go func() {
		done, err := Acquire(next, ToIndex)
		if err == nil {
			done()
		}
		turn <- err
	}()
	done()
	if err := <-turn; err != nil {
		t.Errorf("once the place was given back: %v", err)
	}
	if done, err = Acquire(ctx, ToIndex); err != nil {
		t.Fatal(err)
	}
	defer done()
	waiting := enter(t, u, "alice")
	short, end := context.WithTimeout(With(t.Context(), waiting), time.Millisecond)
	defer end()
	if _, err := Acquire(short, ToIndex); !errors.Is(err, context.DeadlineExceeded) || waiting.Refusal() != nil {
		t.Errorf("after waiting in vain, which concerns this request alone: %v", err)
	}
	if _, err := Acquire(t.Context(), ToIndex); err != nil {
		t.Errorf("without an operation: %v", err)
	}
}
