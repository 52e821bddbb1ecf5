package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/internal/poll"
)

const (
	eventStream = "text/event-stream"
	threeEvents = `subscription S($after: String) { events(topic: "three", after: $after) { n cursor } }`
	patience    = 20 * time.Second
)

// sse is what a stream of server-sent events held, as a browser reads it.
type sse struct {
	event, id, data string
}

// openStream is a response that goes on.
type openStream struct {
	*http.Response

	lines    *bufio.Reader
	comments []string
	retry    string
}

func (s testServer) open(t *testing.T, c call) *openStream {
	t.Helper()
	if c.method == "" {
		c.method = http.MethodPost
	}
	if c.path == "" {
		c.path = "/graphql"
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, c.method, s.URL+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, c.header)
	if c.token != "none" {
		req.Header.Set("Authorization", "Bearer admin")
	}
	req.Header.Set("Accept", eventStream)
	if c.accept != "" {
		req.Header.Set("Accept", c.accept)
	}
	if c.method == http.MethodPost {
		req.Header.Set("Content-Type", plainJSON)
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &openStream{Response: resp, lines: bufio.NewReader(resp.Body)}
}

// next is the next event; false at the end of the stream.
func (s *openStream) next(t *testing.T) (sse, bool) {
	t.Helper()
	var e sse
	var data []string
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			if err != io.EOF {
				t.Fatalf("the stream broke: %v", err)
			}
			return sse{}, false
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			// As the HTML standard has it, an event without a data line is none.
			if data != nil {
				e.data = strings.Join(data, "\n")
				return e, true
			}
			e = sse{}
		case name == "":
			s.comments = append(s.comments, value)
		case name == "event":
			e.event = value
		case name == "id":
			e.id = value
		case name == "data":
			data = append(data, value)
		case name == "retry":
			s.retry = value
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
}

func (s *openStream) all(t *testing.T) []sse {
	t.Helper()
	var events []sse
	for {
		e, ok := s.next(t)
		if !ok {
			return events
		}
		events = append(events, e)
	}
}

func get(query url.Values) call {
	return call{method: http.MethodGet, path: "/graphql?" + query.Encode()}
}

func TestServerSentEvents(t *testing.T) {
	complete := sse{event: "complete"}
	next := func(id, data string) sse { return sse{event: "next", id: id, data: data} }
	resume := get(url.Values{"query": {threeEvents}})
	resume.header = http.Header{"Last-Event-Id": {"c2"}}
	literal := get(url.Values{"query": {`subscription { ...F } fragment F on Subscription { events(after: "c0", topic: "three") { n } }`}})
	literal.header = http.Header{"Last-Event-Id": {"c2"}}
	for _, tt := range []struct {
		name string
		call call
		want []sse
		why  string
	}{
		{
			name: "POST", call: call{body: operation(t, threeEvents, nil)},
			want: []sse{
				next("c1", `{"data":{"events":{"n":1,"cursor":"c1"}}}`), next("c2", `{"data":{"events":{"n":2,"cursor":"c2"}}}`),
				next("c3", `{"data":{"events":{"n":3,"cursor":"c3"}}}`), complete,
			},
			why: "all results, and then the end",
		},
		{
			name: "GET with variables", call: get(url.Values{"query": {threeEvents}, "variables": {`{"after":"c2"}`}}),
			want: []sse{next("c3", `{"data":{"events":{"n":3,"cursor":"c3"}}}`), complete},
			why:  "an EventSource sends nothing but GET",
		},
		{
			name: "GET after the last event", call: resume,
			want: []sse{next("c3", `{"data":{"events":{"n":3,"cursor":"c3"}}}`), complete},
			why:  "an EventSource that connects again sends the same address, and the id of the last event",
		},
		{
			name: "the last event goes before the document", call: literal,
			want: []sse{next("", `{"data":{"events":{"n":3}}}`), complete},
			why:  "whatever the document said at first was long ago; without a cursor there are no ids",
		},
		{
			name: "alias", call: call{body: operation(t, `subscription { e: events(topic: "three", after: "c2") { text x: cursor } }`, nil)},
			want: []sse{next("c3", `{"data":{"e":{"text":"three","x":"c3"}}}`), complete},
			why:  "the id is the cursor, whatever it is called",
		},
		{
			name: "invalid document", call: call{body: operation(t, "subscription { nope }", nil)},
			want: []sse{next("", `{"errors":[{"message":"Cannot query field \"nope\" on type \"Subscription\".","locations":[{"line":1,"column":16}],"extensions":{"code":"INVALID","traceId":"`+traceID+`"}}]}`), complete},
			why:  "the protocol wants errors as events: an EventSource shows no other",
		},
		{
			name: "refused by the resolver", call: call{body: operation(t, `subscription { events(topic: "refused") { n } }`, nil)},
			want: []sse{next("", `{"errors":[{"message":"Instance \"hidden\" was not found","path":["events"],"extensions":{"code":"NOT_FOUND","traceId":"`+traceID+`"}}]}`), complete},
			why:  "nothing was subscribed to",
		},
		{
			name: "ends by the resolver", call: call{body: operation(t, `subscription { events(topic: "fails") { n } }`, nil)},
			want: []sse{
				next("", `{"data":{"events":{"n":1}}}`),
				next("", `{"errors":[{"message":"The instance went away","extensions":{"code":"INSTANCE_UNAVAILABLE","reason":"FAILED","traceId":"`+traceID+`"}}]}`), complete,
			},
			why: "the last result says why there are no more",
		},
		{
			name: "panic", call: call{body: operation(t, `subscription { events(topic: "panics") { n } }`, nil)},
			want: []sse{next("", `{"errors":[{"message":"internal error","path":["events"],"extensions":{"code":"INTERNAL","traceId":"`+traceID+`"}}]}`), complete},
			why:  "the cause is for the log",
		},
		{
			name: "query", call: call{body: operation(t, "{ hello }", nil)},
			want: []sse{next("", `{"data":{"hello":"hello"}}`), complete},
			why:  "who accepts nothing but events gets them",
		},
		{
			name: "mutation", call: call{body: operation(t, "mutation { touch }", nil)},
			want: []sse{next("", `{"data":{"touch":true}}`), complete},
			why:  "who accepts nothing but events gets them",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, nil, nil)
			open := s.open(t, tt.call)
			if open.StatusCode != http.StatusOK || !strings.HasPrefix(open.Header.Get("Content-Type"), eventStream) {
				t.Fatalf("HTTP %d, %s", open.StatusCode, open.Header.Get("Content-Type"))
			}
			got := open.all(t)
			for i, e := range got {
				if i < len(tt.want) && strings.Contains(tt.want[i].data, `"errors"`) && !strings.Contains(tt.want[i].data, "locations") {
					got[i].data = withoutLocations(t, e.data)
				}
			}
			if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(sse{})); d != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, d)
			}
			if open.retry == "" {
				t.Error("nothing says when to connect again")
			}
		})
	}
}

// withoutLocations removes the locations of errors in the document, which other tests check.
func withoutLocations(t *testing.T, data string) string {
	t.Helper()
	var result struct {
		Errors []struct {
			Message    string         `json:"message"`
			Path       []any          `json:"path,omitempty"`
			Extensions map[string]any `json:"extensions"`
		} `json:"errors"`
	}
	if err := json.Unmarshal([]byte(data), &result); err != nil {
		t.Fatal(err)
	}
	return marshal(t, result)
}

// TestEventsAreRefusedByHTTP is about what HTTP refuses whatever the client accepts.
func TestEventsAreRefusedByHTTP(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.Streams.MaxConnectionsPerUser = 1 })
	subscription := operation(t, `subscription { events(topic: "forever") { n } }`, nil)
	first := s.open(t, call{body: subscription})
	if _, ok := first.next(t); !ok {
		t.Fatal("no first event")
	}
	for _, tt := range []struct {
		name   string
		call   call
		status int
		code   string
		why    string
	}{
		{"no token", call{token: "none", body: subscription}, 401, "UNAUTHENTICATED", "no user is known"},
		{"another site", call{body: subscription, header: http.Header{"Sec-Fetch-Site": {"cross-site"}}}, 403, "FORBIDDEN", "a browser sends a certificate for whatever page asks"},
		{"another origin", call{body: subscription, header: http.Header{"Origin": {"https://evil.example"}}}, 403, "FORBIDDEN", "the same, in a browser that says less"},
		{"JSON alone", call{accept: plainJSON, body: subscription}, 400, "INVALID", "one response cannot carry it"},
		{"anything", call{accept: "*/*", body: subscription}, 400, "INVALID", "who does not name events waits for an end"},
		{"malformed", call{body: `{"query":3}`}, 400, "INVALID", "it is not a request of GraphQL"},
		{"GET mutation", get(url.Values{"query": {"mutation{touch}"}}), 405, "INVALID", "a link must not change anything"},
		{"one too many", call{body: subscription}, 429, "RATE_LIMITED", "the limit is one connection"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refused := s.open(t, tt.call)
			body, _ := io.ReadAll(refused.Body)
			if refused.StatusCode != tt.status || !strings.Contains(string(body), `"code":"`+tt.code+`"`) {
				t.Errorf("HTTP %d %s, want %d %s: %s", refused.StatusCode, body, tt.status, tt.code, tt.why)
			}
			if again := refused.Header.Get("Retry-After"); (again != "") != (tt.status == 429) {
				t.Errorf("Retry-After: %q", again)
			}
		})
	}
	if n := s.feed.begun.Load(); n != 1 {
		t.Errorf("%d subscriptions began, want the first alone", n)
	}
}

func TestEventsOrJSON(t *testing.T) {
	s := start(t, nil, nil)
	for _, tt := range []struct {
		accept, document, want string
	}{
		{"application/graphql-response+json, application/json, text/event-stream, multipart/mixed", "{hello}", graphQLJSON},
		{"application/graphql-response+json, application/json, text/event-stream, multipart/mixed", threeEvents, eventStream},
		{"text/event-stream, application/json", "{hello}", eventStream},
		{"text/event-stream;q=0.5, application/json", "{hello}", plainJSON},
		{"text/event-stream;q=0, */*", "{hello}", plainJSON},
	} {
		open := s.open(t, call{accept: tt.accept, body: operation(t, tt.document, nil)})
		if got, _, _ := strings.Cut(open.Header.Get("Content-Type"), ";"); got != tt.want {
			t.Errorf("%s of %s: got %s, want %s", tt.accept, tt.document, got, tt.want)
		}
	}
}

func TestSilentStreamsAreKeptAlive(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.Streams.KeepAlive = 20 * time.Millisecond; c.Streams.MaxLife = time.Second })
	open := s.open(t, call{body: operation(t, `subscription { events(topic: "forever") { n } }`, nil)})
	events := open.all(t)
	if len(events) != 1 {
		t.Errorf("got %v, want the one event", events)
	}
	if len(open.comments) < 3 {
		t.Errorf("%d comments in a second of silence, want one each 20 ms", len(open.comments))
	}
	if last := open.comments[len(open.comments)-1]; last != "MAX_LIFE" {
		t.Errorf("the stream ended with %q, and not by its age", last)
	}
}

// TestEventsOverHTTP2 is how a browser has more than six streams.
func TestEventsOverHTTP2(t *testing.T) {
	s := start(t, nil, nil)
	secure := httptest.NewUnstartedServer(s.handler)
	secure.EnableHTTP2 = true
	secure.Config.ConnContext = subscription.ConnContext
	secure.StartTLS()
	t.Cleanup(secure.Close)
	s.Server = secure
	var streams []*openStream
	for range 20 {
		open := s.open(t, call{body: operation(t, `subscription { events(topic: "forever") { n } }`, nil)})
		if open.ProtoMajor != 2 {
			t.Fatalf("served over %s", open.Proto)
		}
		if e, ok := open.next(t); !ok || e.data != `{"data":{"events":{"n":1}}}` {
			t.Fatalf("first event: %v", e)
		}
		streams = append(streams, open)
	}
	for _, open := range streams[1:] {
		_ = open.Body.Close()
	}
	poll.True(t, patience, "all but one to end", func() bool { return s.feed.running.Load() == 1 })
	if err := s.handler.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if rest := streams[0].all(t); len(rest) != 0 {
		t.Errorf("the stream went on with %v", rest)
	}
}
