package server_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// TestWhatRequestsBring: what a request brings beside its operation is taken once, by
// what is for queries and mutations or by what is for subscriptions, and refused before
// anything begins.
func TestWhatRequestsBring(t *testing.T) {
	var mu sync.Mutex
	var taken []string
	take := func(as string) func(context.Context, http.Header, map[string]any) (context.Context, error) {
		return func(ctx context.Context, headers http.Header, extensions map[string]any) (context.Context, error) {
			header, extension := headers.Get("Kairship-Brought"), extensions["brought"]
			if extension == nil {
				extension = "none"
			}
			mu.Lock()
			taken = append(taken, as+" "+header+" "+extension.(string))
			mu.Unlock()
			if extension == "bad" {
				return nil, apierror.Invalid("brought", "it is bad")
			}
			return ctx, nil
		}
	}
	s := start(t, nil, func(c *server.Config) { c.Begin, c.BeginStream = take("operation"), take("stream") })
	wantTaken := func(want ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if d := cmp.Diff(want, taken); d != "" {
			t.Errorf("what was taken (-want +got):\n%s", d)
		}
		taken = nil
	}
	brought := http.Header{"Kairship-Brought": {"header"}}

	events := s.open(t, call{header: brought, body: operation(t, threeEvents, nil)}).all(t)
	wantTaken("stream header none")
	if len(events) != 4 {
		t.Errorf("what is good came with %v", events)
	}
	s.open(t, get(url.Values{"query": {threeEvents}, "extensions": {`{"brought":"good"}`}})).all(t)
	wantTaken("stream  good")
	s.do(t, call{header: brought, body: operation(t, "{ hello }", nil)})
	wantTaken("operation header none")

	begun := s.feed.begun.Load()
	bad := `{"query":` + marshal(t, threeEvents) + `,"extensions":{"brought":"bad"}}`
	events = s.open(t, call{body: bad}).all(t)
	wantTaken("stream  bad")
	if len(events) != 2 || events[0].event != "next" || !strings.Contains(events[0].data, `"code":"INVALID"`) || events[1].event != "complete" {
		t.Errorf("what is bad came with %v", events)
	}
	c := s.dial(t, brought)
	c.send(t, `{"type":"connection_init","payload":{"Authorization":"Bearer admin"}}`)
	c.want(t, `{"type":"connection_ack"}`)
	c.send(t, `{"type":"subscribe","id":"1","payload":`+bad+`}`)
	message, _ := c.next(t)
	if !strings.Contains(message, `"type":"error"`) || !strings.Contains(message, `"code":"INVALID"`) {
		t.Errorf("what is bad came with %s", message)
	}
	wantTaken("stream header bad")
	if now := s.feed.begun.Load(); now != begun {
		t.Errorf("%d subscriptions began that were refused", now-begun)
	}
}
