package server_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/graph/server/internal/testschema"
	"github.com/kairship-io/kairship/graph/stream"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/live"
)

// consumedFeeds are the subscriptions to what the test says, which transports consume.
type consumedFeeds struct {
	mu  sync.Mutex
	all []*consumed
	// passed counts the events that had to be resolved.
	passed int
}

func (f *feed) consume(ctx context.Context) <-chan *testschema.Event {
	d := &consumed{feeds: &f.consumed, consumer: stream.ConsumerOf(ctx), out: make(chan *testschema.Event, 1)}
	f.consumed.mu.Lock()
	f.consumed.all = append(f.consumed.all, d)
	d.cursor = "own" + strconv.Itoa(len(f.consumed.all))
	f.consumed.mu.Unlock()
	f.running.Add(1)
	d.closed = func() { f.running.Add(-1) }
	d.consumer.Consume(ctx, d)
	return d.out
}

// tell sends an event to subscribers, to all of them if none are named; nil ends them.
func (f *consumedFeeds) tell(o *live.Object, to ...int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, d := range f.all {
		if to != nil && !slices.Contains(to, i) {
			continue
		}
		d.waiting = append(d.waiting, o)
		d.consumer.Wake()
	}
}

func (f *consumedFeeds) resolved() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.passed
}

type consumed struct {
	feeds    *consumedFeeds
	consumer changes.Consumer
	out      chan *testschema.Event
	cursor   string
	closed   func()

	waiting []*live.Object
	now     *live.Object
	over    bool
}

func (d *consumed) Pull(context.Context) bool {
	d.feeds.mu.Lock()
	defer d.feeds.mu.Unlock()
	if d.over {
		return true
	}
	if len(d.waiting) == 0 {
		return false
	}
	d.now, d.waiting = d.waiting[0], d.waiting[1:]
	d.over = d.now == nil
	return true
}

func (d *consumed) Content() (changes.Content, bool) {
	return changes.NewContent(changes.Added, d.now, nil), d.now != nil
}

func (d *consumed) Cursor() string { return d.cursor }

func (d *consumed) Send(context.Context) changes.SendResult {
	if d.over {
		close(d.out)
		return changes.Closed
	}
	d.feeds.mu.Lock()
	d.feeds.passed++
	d.feeds.mu.Unlock()
	if d.now.Meta.Name == "unreadable" {
		return changes.Skipped
	}
	n, _ := strconv.Atoi(d.now.Meta.Name)
	d.out <- &testschema.Event{N: n, Cursor: d.cursor, Text: "text \"of\" " + d.now.Meta.Name}
	return changes.Sent
}

func (d *consumed) Close() { d.closed() }

func numbered(name string) *live.Object {
	return live.NewObject(live.Source{}, "v1", "Thing", metav1.ObjectMeta{Name: name}, nil)
}

// TestSharesResults checks that a result for many subscribers is resolved once and sent to each
// with its own cursor, and that results which depend on the user are resolved for each.
func TestSharesResults(t *testing.T) {
	const plain = `{ n text cursor }`
	for _, tt := range []struct {
		name string
		// first and second are what two subscribers select of an event.
		first, second string
		want          []string
		resolved      int
	}{
		{"the same", plain, plain, []string{
			`{"data":{"events":{"n":7,"text":"text \"of\" 7","cursor":"own1"}}}`,
			`{"data":{"events":{"n":7,"text":"text \"of\" 7","cursor":"own2"}}}`,
		}, 1},
		{"without cursors", `{ n }`, `{ n }`, []string{`{"data":{"events":{"n":7}}}`, `{"data":{"events":{"n":7}}}`}, 1},
		{"something else", plain, `{ n }`, []string{
			`{"data":{"events":{"n":7,"text":"text \"of\" 7","cursor":"own1"}}}`, `{"data":{"events":{"n":7}}}`,
		}, 2},
		{"the cursor under two names", `{ a: cursor b: cursor }`, `{ a: cursor b: cursor }`, []string{
			`{"data":{"events":{"a":"own1","b":"own1"}}}`, `{"data":{"events":{"a":"own2","b":"own2"}}}`,
		}, 2},
		{"who asks", `{ n fail(name: "user") }`, `{ n fail(name: "user") }`, []string{
			`{"data":{"events":{"n":7,"fail":"admin"}}}`, `{"data":{"events":{"n":7,"fail":"admin"}}}`,
		}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, nil, nil)
			first := s.open(t, call{body: operation(t, `subscription { events(topic: "driven") `+tt.first+` }`, nil)})
			poll.True(t, patience, "the first to be there", func() bool { return s.feed.running.Load() == 1 })
			second := s.known(t)
			second.subscribe(t, "1", `subscription { events(topic: "driven") `+tt.second+` }`)
			poll.True(t, patience, "the second to be there", func() bool { return s.feed.running.Load() == 2 })
			s.feed.consumed.tell(numbered("unreadable")) // It is not sent.
			// One after the other: two that are sent it at once may both be the first.
			seven := numbered("7")
			s.feed.consumed.tell(seven, 0)
			got, _ := first.next(t)
			s.feed.consumed.tell(seven, 1)
			second.want(t, `{"type":"next","id":"1","payload":`+tt.want[1]+`}`)
			if got.data != tt.want[0] {
				t.Errorf("the first was sent %s", got.data)
			}
			if n := s.feed.consumed.resolved(); n != tt.resolved+2 {
				t.Errorf("resolved %d times, want %d", n-2, tt.resolved)
			}
			s.feed.consumed.tell(nil)
			second.want(t, `{"type":"complete","id":"1"}`)
			if d := cmp.Diff([]sse{{event: "complete"}}, first.all(t), cmp.AllowUnexported(sse{})); d != "" {
				t.Errorf("the end of the first (-want +got):\n%s", d)
			}
			poll.True(t, patience, "nothing to be left", func() bool { return s.feed.running.Load() == 0 })
		})
	}
}

// TestVariablesSeparateResults: those that a selection uses, and not those of the filter.
func TestVariablesSeparateResults(t *testing.T) {
	s := start(t, nil, nil)
	const document = `subscription S($text: Boolean!, $after: String) { events(topic: "driven", after: $after) { n text @include(if: $text) } }`
	var streams []*openStream
	for i, variables := range []map[string]any{{"text": true}, {"text": false}, {"text": true, "after": "c1"}} {
		streams = append(streams, s.open(t, call{body: operation(t, document, variables)}))
		poll.True(t, patience, "it to be there", func() bool { return s.feed.running.Load() == int64(i+1) })
	}
	var got []string
	seven := numbered("7")
	for i, each := range streams {
		s.feed.consumed.tell(seven, i)
		e, _ := each.next(t)
		got = append(got, e.data)
	}
	with, without := `{"data":{"events":{"n":7,"text":"text \"of\" 7"}}}`, `{"data":{"events":{"n":7}}}`
	if d := cmp.Diff([]string{with, without, with}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := s.feed.consumed.resolved(); n != 2 {
		t.Errorf("resolved %d times, want once for each of two selections", n)
	}
}

// TestSharedResultsOverHTTP2: many streams share a connection, which is not taken over.
func TestSharedResultsOverHTTP2(t *testing.T) {
	s := start(t, nil, nil)
	secure := httptest.NewUnstartedServer(s.handler)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	s.Server = secure
	var streams []*openStream
	for i := range 3 {
		open := s.open(t, call{body: operation(t, `subscription { events(topic: "driven") { n } }`, nil)})
		if open.ProtoMajor != 2 {
			t.Fatalf("served over %s", open.Proto)
		}
		streams = append(streams, open)
		poll.True(t, patience, "it to be there", func() bool { return s.feed.running.Load() == int64(i+1) })
	}
	s.feed.consumed.tell(numbered("7"))
	for _, open := range streams {
		if e, ok := open.next(t); !ok || e.data != `{"data":{"events":{"n":7}}}` {
			t.Errorf("got %v", e)
		}
		_ = open.Body.Close()
	}
	poll.True(t, patience, "nothing to be left", func() bool { return s.feed.running.Load() == 0 })
}
