package podlog

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/quota"
)

const patience = 20 * time.Second

// node writes logs as a kubelet does that is asked to follow them.
type node struct {
	mu    sync.Mutex
	lines map[string][]string
	// finished are containers whose logs end.
	finished map[string]bool
	changed  chan struct{}
	// open counts the logs that are followed, asked all that were asked for.
	open, asked atomic.Int64
	queries     []string
}

func newNode() *node {
	return &node{lines: map[string][]string{}, finished: map[string]bool{}, changed: make(chan struct{})}
}

// write adds lines to the log of a container, and ends the log where it is over.
func (n *node) write(container string, over bool, lines ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines[container] = append(n.lines[container], lines...)
	n.finished[container] = over
	close(n.changed)
	n.changed = make(chan struct{})
}

// ServeHTTP implements http.Handler.
func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.asked.Add(1)
	n.open.Add(1)
	defer n.open.Add(-1)
	name := r.URL.Query().Get("container")
	n.mu.Lock()
	n.queries = append(n.queries, r.URL.RawQuery)
	n.mu.Unlock()
	_ = http.NewResponseController(w).Flush()
	for sent := 0; ; {
		n.mu.Lock()
		lines, over, changed := n.lines[name][sent:], n.finished[name], n.changed
		n.mu.Unlock()
		for _, line := range lines {
			if _, err := io.WriteString(w, line+"\n"); err != nil {
				return
			}
		}
		sent += len(lines)
		_ = http.NewResponseController(w).Flush()
		if over {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// following is a follower under test.
type following struct {
	*testing.T
	events <-chan *Event
	stop   context.CancelFunc
	ended  chan error
	users  *quota.Users
	mu     sync.Mutex
	there  *targets
	gone   error
}

// become sets the containers to follow.
func (f *following) become(err error, there ...target) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.there, f.gone = &targets{containers: there}, err
}

func (f *following) look(context.Context) (*targets, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &targets{containers: append([]target(nil), f.there.containers...)}, f.gone
}

// follow begins to follow containers of members that answer so.
func follow(t *testing.T, at map[string]http.HandlerFunc, single bool, a Args, limits quota.Limits, there ...target) *following {
	t.Helper()
	s, ctx := serviceOver(t, &members{at: at})
	f := &following{T: t, ended: make(chan error, 1), users: quota.New(limits, time.Now)}
	s.Quotas, s.Begin, s.LookAgain = f.users, func(ctx context.Context) context.Context { return ctx }, 20*time.Millisecond
	s.Logger, s.End = slog.New(slog.DiscardHandler), func(_ context.Context, err error) { f.ended <- err }
	ctx, f.stop = context.WithCancel(ctx)
	f.become(nil, there...)
	found, _ := f.look(ctx)
	var err error
	if f.events, err = s.start(ctx, &follower{user: "alice", args: a, tail: 10, look: f.look, single: single}, "alpha", found); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.stop)
	return f
}

// next is the next event as text; "end" when there is none.
func (f *following) next() string {
	f.Helper()
	select {
	case e, ok := <-f.events:
		switch {
		case !ok:
			return "end"
		case e.Type == EventLine:
			return texts([]Line{e.Line})[0]
		}
		return fmt.Sprintf("%s %s/%s/%s %s", e.Type, e.Cluster, e.Pod, e.Name, *e.Message)
	case <-time.After(patience):
		f.Fatal("nothing comes")
		return ""
	}
}

func (f *following) expect(want ...string) {
	f.Helper()
	for _, text := range want {
		if got := f.next(); got != text {
			f.Fatalf("got %q, want %q", got, text)
		}
	}
}

// expectEnd expects that a container has ended: which of its ends is seen first does not matter.
func (f *following) expectEnd(of string) {
	f.Helper()
	if got := f.next(); !strings.HasPrefix(got, "ENDED "+of+" ") {
		f.Fatalf("got %q, want the end of %s", got, of)
	}
}

// Lines of several containers come in the order of time, those of pods that appear too, and nothing is
// left when the subscriber leaves.
func TestFollowWorkload(t *testing.T) {
	one, two := newNode(), newNode()
	one.write("main", false, second(1)+"one", second(4)+"four")
	two.write("main", false, second(2)+"two", second(3)+"three")
	ignore := goleak.IgnoreCurrent()
	t.Run("follows", func(t *testing.T) {
		a, b, c := container("m1", "a", "main"), container("m2", "b", "main"), container("m1", "c", "side")
		f := follow(t, map[string]http.HandlerFunc{"m1": one.ServeHTTP, "m2": two.ServeHTTP}, false, Args{}, quota.Limits{}, a, b)
		f.expect("m1/a/main one", "m2/b/main two", "m2/b/main three", "m1/a/main four")
		one.write("side", false, second(6)+"six")
		f.become(nil, a, b, c)
		f.expect("m1/c/side six")
		two.write("main", false, second(7)+"seven")
		f.expect("m2/b/main seven")
		// b no longer exists; its log ends, and the others go on.
		f.become(nil, a, c)
		two.write("main", true, second(8)+"eight")
		f.expect("m2/b/main eight")
		f.expectEnd("m2/b/main")
		one.write("side", false, second(9)+"nine")
		f.expect("m1/c/side nine")
		if one.open.Load() != 2 || two.open.Load() != 0 || one.asked.Load() != 2 || two.asked.Load() != 1 {
			t.Errorf("%d and %d logs are open, of %d and %d", one.open.Load(), two.open.Load(), one.asked.Load(), two.asked.Load())
		}
		f.stop()
		f.expect("end")
		poll.True(t, patience, "no log is open", func() bool { return one.open.Load()+two.open.Load() == 0 })
	})
	poll.Until(t, patience, "no goroutine is left", func(context.Context) error { return goleak.Find(ignore) })
}

// The log of a container that restarts goes on, without the lines that were sent.
func TestFollowRestart(t *testing.T) {
	n := newNode()
	n.write("main", true, second(1)+"one", second(1)+"also one", "2026-01-01T00:00:01.5Z and a half")
	f := follow(t, map[string]http.HandlerFunc{"m1": n.ServeHTTP}, true, Args{}, quota.Limits{}, container("m1", "a", "main"))
	f.expect("m1/a/main one", "m1/a/main also one", "m1/a/main and a half")
	n.write("main", false, second(2)+"two")
	f.expect("m1/a/main two")
	n.mu.Lock()
	first, last := n.queries[0], n.queries[len(n.queries)-1]
	n.mu.Unlock()
	if first != "container=main&follow=true&tailLines=10&timestamps=true" || !strings.Contains(last, "sinceTime=2026-01-01T00%3A00%3A01Z") || strings.Contains(last, "tailLines") {
		t.Errorf("asked %s, and then %s", first, last)
	}
	over := container("m1", "a", "main")
	over.over = true
	f.become(nil, over)
	f.become(apierror.NotFound("Pod", "a"))
	n.write("main", true)
	f.expectEnd("m1/a/main")
	f.expect("end")
	if len(f.ended) > 0 {
		t.Errorf("it ended with %v", <-f.ended)
	}
}

func TestFollowPrevious(t *testing.T) {
	n := newNode()
	n.write("main", true, second(1)+"one")
	f := follow(t, map[string]http.HandlerFunc{"m1": n.ServeHTTP, "m2": refusing(http.StatusBadRequest, "")}, false, Args{Previous: true}, quota.Limits{},
		container("m1", "a", "main"))
	f.expect("m1/a/main one", "ENDED m1/a/main the container has ended", "end")
	if n.queries[0] != "container=main&previous=true&tailLines=10&timestamps=true" {
		t.Errorf("asked %s", n.queries[0])
	}
	f = follow(t, map[string]http.HandlerFunc{"m1": writing(withoutLog[1] + "\"/var/log/pods/a\"")}, false, Args{Previous: true}, quota.Limits{}, container("m1", "a", "main"))
	f.expect("ENDED m1/a/main the node no longer has it", "end")
}

// A member that refuses or fails costs its own lines alone.
func TestFollowPartially(t *testing.T) {
	n := newNode()
	f := follow(t, map[string]http.HandlerFunc{"m1": n.ServeHTTP, "m2": refusing(http.StatusServiceUnavailable, ""), "m3": refusing(http.StatusForbidden, "")}, false, Args{}, quota.Limits{},
		container("m1", "a", "main"), container("m2", "b", "main"), container("m3", "c", "main"))
	got := map[string]bool{f.next(): true, f.next(): true}
	for _, want := range []string{
		`INTERRUPTED m2/b/main member cluster "m2" does not answer through instance "alpha"`,
		`INTERRUPTED m3/c/main the roles that you have inside member cluster "m3" do not let you read logs there (pods/log)`,
	} {
		if !got[want] {
			t.Errorf("not said: %s", want)
		}
	}
	n.write("main", false, second(1)+"one")
	f.expect("m1/a/main one")
}

func TestFollowRefused(t *testing.T) {
	f := follow(t, map[string]http.HandlerFunc{"m1": refusing(http.StatusForbidden, "cluster.karmada.io")}, false, Args{}, quota.Limits{},
		container("m1", "a", "main"), container("m1", "b", "main"))
	for got := ""; got != "end"; {
		got = f.next()
	}
	if err := <-f.ended; apierror.CodeOf(err) != apierror.CodeForbidden {
		t.Errorf("it ended with %v", err)
	}
}

// What is beyond a limit is named once, and followed when there is room.
func TestFollowLimits(t *testing.T) {
	n := newNode()
	var there []target
	for i := range mostContainers + 1 {
		there = append(there, container("m1", fmt.Sprintf("p%02d", i), "main"))
	}
	f := follow(t, map[string]http.HandlerFunc{"m1": n.ServeHTTP}, false, Args{}, quota.Limits{}, there...)
	f.expect("OMITTED m1/p50/main " + tooMany)
	poll.True(t, patience, "all others are followed", func() bool { return n.open.Load() == mostContainers })
	f.stop()
	f.expect("end")

	f = follow(t, map[string]http.HandlerFunc{"m1": n.ServeHTTP}, false, Args{}, quota.Limits{MaxStreams: 1}, there[:2]...)
	if got := f.next(); !strings.HasPrefix(got, "OMITTED m1/p01/main you have 1 watches and sessions open") {
		t.Errorf("got %s", got)
	}
	f.stop()
	f.expect("end")
	entered, limited := f.users.EnterStream("alice")
	if limited != nil {
		t.Errorf("the place was not given back: %v", limited)
	}
	entered.End()
}

// While the subscriber does not read, nothing more is read of the member than fits into the buffers on the way.
func TestFollowSlowReader(t *testing.T) {
	var written atomic.Int64
	var done atomic.Bool
	text := second(1) + strings.Repeat("x", 1000) + "\n"
	f := follow(t, map[string]http.HandlerFunc{"m1": func(w http.ResponseWriter, r *http.Request) {
		defer done.Store(true)
		for r.Context().Err() == nil {
			n, err := io.WriteString(w, text)
			if err != nil {
				return
			}
			written.Add(int64(n))
		}
	}}, false, Args{}, quota.Limits{}, container("m1", "a", "main"))
	f.next()
	last := int64(-1)
	poll.True(t, patience, "the member waits", func() bool {
		before := last
		last = written.Load()
		time.Sleep(100 * time.Millisecond)
		return before == last && written.Load() == last
	})
	f.stop()
	for range f.events {
		continue
	}
	poll.True(t, patience, "the member is left alone", done.Load)
}
