package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// patience is how long a test waits for what takes moments.
	patience = time.Minute
	// delay is for how long a process goes on serving after it was told to stop.
	delay = 5 * time.Second
)

// hold has requests to the index wait until released. Reached is closed when there is one.
type hold struct {
	next     http.Handler
	once     sync.Once
	reached  chan struct{}
	released chan struct{}
}

func (h *hold) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(func() { close(h.reached) })
	select {
	case <-h.released:
		h.next.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

// begin starts a process with one request in progress, which waits for the index.
func begin(t *testing.T) (p *fleet.Process, h *hold, answer chan error) {
	t.Helper()
	f := fleet.Open(t)
	g := f.NewGateway(t)
	p = f.Kairship(t, g, "--shutdown-delay="+delay.String(), "--shutdown-timeout=2m", "--request-timeout=2m", "--index-timeout=2m")
	h = &hold{next: g.At(f.Config(t, "global").Host), reached: make(chan struct{}), released: make(chan struct{})}
	g.Answer(fleet.IndexAPI, h)
	answer = make(chan error, 1)
	api := gql.New("http://"+p.Address, f.Token(t, "admin"))
	api.HTTP = &http.Client{Timeout: 2 * time.Minute}
	go func() {
		type data struct {
			Instance struct{ MemberClusters struct{ TotalCount int } }
		}
		got, result, err := gql.Query[data](context.WithoutCancel(t.Context()), api, `{ instance(name: "alpha") { memberClusters(first: 1) { totalCount } } }`, nil)
		switch {
		case err != nil:
		case len(result.Errors) > 0 || got.Instance.MemberClusters.TotalCount == 0:
			err = fmt.Errorf("HTTP %d: %s", result.Status, result.Body)
		}
		answer <- err
	}()
	select {
	case <-h.reached:
	case err := <-answer:
		t.Fatalf("the request did not wait for the index: %v", err)
	case <-time.After(patience):
		t.Fatalf("the request did not reach the index\n%s", p.Tail(20))
	}
	return p, h, answer
}

// TestDrain stops a process the way a rollout does: load balancers are told first,
// what is in progress is finished, and streams are told to go on elsewhere.
func TestDrain(t *testing.T) {
	p, h, answer := begin(t)
	f := fleet.Open(t)
	others := gql.New("http://"+p.Address, f.Token(t, "admin"))
	stream := others.MustSubscribe(t, gql.Request{Query: `subscription { instanceChanged { type } }`})
	if first := stream.Next(patience); first == nil || first.Lost != nil || len(first.Errors) > 0 {
		t.Fatalf("the subscription began with %+v", first)
	}

	reported := time.Now()
	ended := p.Terminate(t)
	poll.Until(t, patience, "/readyz reports that the process stops", func(ctx context.Context) error {
		status, err := readiness(ctx, p.Address)
		if err == nil && status != http.StatusServiceUnavailable {
			err = fmt.Errorf("HTTP %d", status)
		}
		return err
	})
	late := time.Since(reported) > delay/2 // On a machine that is so slow, the delay may be over now.
	fresh := gql.New("http://"+p.Address, f.Token(t, "admin"))
	fresh.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	if result, err := fresh.Do(t.Context(), gql.Request{Query: `{ viewer { username } }`}); !late && (err != nil || result.Status != http.StatusOK || len(result.Errors) > 0) {
		t.Errorf("a new connection while load balancers are told: %v, %+v", err, result)
	}
	for {
		e := stream.Next(patience)
		if e == nil {
			t.Fatal("the subscription was not told that the process stops")
		}
		if e.Complete || len(e.Errors) > 0 {
			t.Fatalf("the subscription was told that it is over, instead of to connect again: %+v", e)
		}
		if e.Lost != nil {
			break
		}
	}
	if streamed := time.Since(reported); streamed < delay {
		t.Errorf("the subscription ended after %s, while load balancers were still told", streamed)
	}
	poll.Until(t, patience, "nothing listens any longer", func(ctx context.Context) error {
		var d net.Dialer
		connection, err := d.DialContext(ctx, "tcp", p.Address)
		if err != nil {
			return nil //nolint:nilerr // That is what is waited for.
		}
		return errors.Join(errors.New("a connection was accepted"), connection.Close())
	})
	select {
	case err := <-answer:
		t.Fatalf("the request in progress was answered before the index did: %v", err)
	default:
	}
	close(h.released)
	if err := <-answer; err != nil {
		t.Errorf("the request in progress: %v", err)
	}
	if err := ended(); err != nil {
		t.Errorf("the process ended with %v\n%s", err, p.Tail(20))
	}
}

// TestSecondSignal stops a process that the user does not want to wait for.
func TestSecondSignal(t *testing.T) {
	p, h, answer := begin(t)
	defer close(h.released)
	ended := p.Terminate(t)
	poll.Until(t, patience, "/readyz reports that the process stops", func(ctx context.Context) error {
		status, err := readiness(ctx, p.Address)
		if err == nil && status != http.StatusServiceUnavailable {
			err = fmt.Errorf("HTTP %d", status)
		}
		return err
	})
	if err := syscall.Kill(p.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// The request in progress would hold it for two minutes.
	done := make(chan error, 1)
	go func() { done <- ended() }()
	select {
	case err := <-done:
		if exit, is := errors.AsType[*exec.ExitError](err); !is || exit.ExitCode() != 1 {
			t.Errorf("the process ended with %v, want exit code 1", err)
		}
	case <-time.After(patience):
		t.Fatal("the process goes on after a second signal")
	}
	if err := <-answer; err == nil {
		t.Error("the request in progress was answered")
	}
}
