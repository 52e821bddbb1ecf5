package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/internal/poll"
)

const transportWS = "graphql-transport-ws"

// client is a WebSocket as a test uses it.
type client struct {
	*websocket.Conn
}

// dial opens a WebSocket; the header may be nil.
func (s testServer) dial(t *testing.T, header http.Header, protocols ...string) client {
	t.Helper()
	conn, status, err := s.tryDial(t, header, protocols...)
	if err != nil {
		t.Fatalf("%v: HTTP %d", err, status)
	}
	return conn
}

func (s testServer) tryDial(t *testing.T, header http.Header, protocols ...string) (c client, status int, err error) {
	t.Helper()
	if protocols == nil {
		protocols = []string{transportWS}
	}
	dialer := websocket.Dialer{Subprotocols: protocols}
	conn, resp, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/graphql", header)
	if resp != nil {
		status = resp.StatusCode
		_ = resp.Body.Close()
	}
	if err != nil {
		return client{}, status, err
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = conn.Close() })
	return client{conn}, status, nil
}

// known is a WebSocket whose server knows it as admin's.
func (s testServer) known(t *testing.T) client {
	t.Helper()
	c := s.dial(t, nil)
	c.send(t, `{"type":"connection_init","payload":{"Authorization":"Bearer admin"}}`)
	c.want(t, `{"type":"connection_ack"}`)
	return c
}

func (c client) send(t *testing.T, message string) {
	t.Helper()
	if err := c.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		t.Fatal(err)
	}
}

func (c client) subscribe(t *testing.T, id, document string) {
	t.Helper()
	c.send(t, marshal(t, map[string]any{"type": "subscribe", "id": id, "payload": map[string]any{"query": document}}))
}

// next is the next message, or how the connection was closed.
func (c client) next(t *testing.T) (message string, closed *websocket.CloseError) {
	t.Helper()
	_, text, err := c.ReadMessage()
	if err == nil {
		return string(text), nil
	}
	if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
		return "", closed
	}
	t.Fatalf("the connection broke: %v", err)
	return "", nil
}

func (c client) want(t *testing.T, messages ...string) {
	t.Helper()
	for _, want := range messages {
		got, closed := c.next(t)
		if closed != nil {
			t.Fatalf("closed with %v, want %s", closed, want)
		}
		if d := cmp.Diff(canonical(t, want), canonical(t, got)); d != "" {
			t.Fatalf("message (-want +got):\n%s", d)
		}
	}
}

func (c client) wantClose(t *testing.T, code int, reason string) {
	t.Helper()
	for {
		_, closed := c.next(t)
		if closed == nil {
			continue
		}
		if closed.Code != code || !strings.Contains(closed.Text, reason) {
			t.Errorf("closed with %d %q, want %d %q", closed.Code, closed.Text, code, reason)
		}
		return
	}
}

// canonical removes the locations of errors, which no client reads.
func canonical(t *testing.T, message string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(message), &v); err != nil {
		t.Fatalf("%q: %v", message, err)
	}
	if errs, ok := v.(map[string]any)["payload"].([]any); ok {
		for _, e := range errs {
			delete(e.(map[string]any), "locations")
		}
	}
	return v
}

func TestWebSocketOperations(t *testing.T) {
	s := start(t, nil, nil)
	c := s.known(t)
	c.subscribe(t, "1", `subscription { events(topic: "three") { n } }`)
	c.want(t,
		`{"type":"next","id":"1","payload":{"data":{"events":{"n":1}}}}`, `{"type":"next","id":"1","payload":{"data":{"events":{"n":2}}}}`,
		`{"type":"next","id":"1","payload":{"data":{"events":{"n":3}}}}`, `{"type":"complete","id":"1"}`)
	// The id is free again.
	c.subscribe(t, "1", `{ hello viewer { username } }`)
	c.want(t, `{"type":"next","id":"1","payload":{"data":{"hello":"hello","viewer":{"username":"admin"}}}}`, `{"type":"complete","id":"1"}`)
	c.subscribe(t, "\"<2>\"", `mutation { touch }`)
	c.want(t, `{"type":"next","id":"\"<2>\"","payload":{"data":{"touch":true}}}`, `{"type":"complete","id":"\"<2>\""}`)
	extensions := func(code string) string { return `"extensions":{"code":"` + code + `","traceId":"` + traceID + `"}` }
	c.subscribe(t, "3", `subscription { nope }`)
	c.want(t, `{"type":"error","id":"3","payload":[{"message":"Cannot query field \"nope\" on type \"Subscription\".",`+extensions("INVALID")+`}]}`)
	c.subscribe(t, "4", `subscription { events(topic: "refused") { n } }`)
	c.want(t, `{"type":"error","id":"4","payload":[{"message":"Instance \"hidden\" was not found","path":["events"],`+extensions("NOT_FOUND")+`}]}`)
	c.subscribe(t, "5", `subscription { events(topic: "panics") { n } }`)
	c.want(t, `{"type":"error","id":"5","payload":[{"message":"internal error","path":["events"],`+extensions("INTERNAL")+`}]}`)
	c.subscribe(t, "6", `subscription { events(topic: "fails") { n } }`)
	c.want(t, `{"type":"next","id":"6","payload":{"data":{"events":{"n":1}}}}`,
		`{"type":"error","id":"6","payload":[{"message":"The instance went away","extensions":{"code":"INSTANCE_UNAVAILABLE","reason":"FAILED","traceId":"`+traceID+`"}}]}`)
	c.send(t, `{"type":"ping","payload":{"a":1}}`)
	c.want(t, `{"type":"pong","payload":{"a":1}}`)
	c.send(t, `{"type":"pong"}`)
	// What no caller waits for any longer stops, and nothing more is heard of it.
	c.subscribe(t, "7", `subscription { events(topic: "forever") { n } }`)
	c.want(t, `{"type":"next","id":"7","payload":{"data":{"events":{"n":1}}}}`)
	c.send(t, `{"type":"complete","id":"7"}`)
	c.send(t, `{"type":"complete","id":"never there"}`)
	c.subscribe(t, "7", `{ hello }`)
	c.want(t, `{"type":"next","id":"7","payload":{"data":{"hello":"hello"}}}`, `{"type":"complete","id":"7"}`)
	poll.True(t, patience, "no subscription to run", func() bool { return s.feed.running.Load() == 0 })
}

func TestWebSocketsAreClosed(t *testing.T) {
	const initialise = `{"type":"connection_init","payload":{"Authorization":"Bearer admin"}}`
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	forever := `{"type":"subscribe","id":"1","payload":{"query":"subscription{events(topic:\"forever\"){n}}"}}`
	for _, tt := range []struct {
		name     string
		header   http.Header
		protocol string
		messages []string
		// init is how long the server waits for it; zero for the default.
		init   time.Duration
		code   int
		reason string
		why    string
	}{
		{name: "no init", init: 500 * time.Millisecond, code: 4408, reason: "timeout", why: "a place is not held for an unknown user"},
		{name: "subscribe before init", messages: []string{forever}, code: 4401, reason: "Unauthorized", why: "the protocol says so"},
		{name: "no credentials", messages: []string{`{"type":"connection_init"}`}, code: 4401, reason: "UNAUTHENTICATED", why: "no user is known"},
		{name: "wrong token", messages: []string{`{"type":"connection_init","payload":{"authorization":"Bearer wrong"}}`}, code: 4401, reason: "UNAUTHENTICATED", why: "no user is known"},
		{name: "not served", messages: []string{`{"type":"connection_init","payload":{"authorization":"Bearer mallory"}}`}, code: 4403, reason: "FORBIDDEN", why: "the user is known and not permitted"},
		{name: "undecided", messages: []string{`{"type":"connection_init","payload":{"authorization":"Bearer undecided"}}`}, code: 1013, reason: "TIMEOUT", why: "no review said that the token is bad"},
		{name: "wrong token in the header", header: bearer("wrong"), messages: []string{`{"type":"connection_init"}`}, code: 4401, reason: "UNAUTHENTICATED", why: "browsers hear close codes only"},
		{name: "two identities", header: bearer("mallory"), messages: []string{initialise}, code: 4400, reason: "other credentials", why: "one of them would be ignored"},
		{name: "init twice", messages: []string{initialise, initialise}, code: 4429, reason: "Too many initialisation", why: "the protocol says so"},
		{name: "same id twice", messages: []string{initialise, forever, forever}, code: 4409, reason: "already exists", why: "the protocol says so"},
		{name: "no JSON", messages: []string{initialise, "{"}, code: 4400, reason: "INVALID", why: "the protocol says so"},
		{name: "unknown message", messages: []string{initialise, `{"type":"start"}`}, code: 4400, reason: "INVALID", why: "the protocol says so"},
		{name: "no id", messages: []string{initialise, `{"type":"subscribe","payload":{"query":"{hello}"}}`}, code: 4400, reason: "INVALID", why: "it would be unclear whose the result is"},
		{name: "long id", messages: []string{initialise, `{"type":"subscribe","id":"` + strings.Repeat("x", 129) + `","payload":{"query":"{hello}"}}`}, code: 4400, reason: "INVALID", why: "every message repeats it"},
		{name: "no query", messages: []string{initialise, `{"type":"subscribe","id":"1","payload":{}}`}, code: 4400, reason: "query", why: "malformed parameters"},
		{name: "payload of another type", messages: []string{initialise, `{"type":"subscribe","id":"1","payload":[]}`}, code: 4400, reason: "INVALID", why: "malformed parameters"},
		{name: "init with another type", messages: []string{`{"type":"connection_init","payload":{"Authorization":3}}`}, code: 4400, reason: "INVALID", why: "that is no token"},
		{name: "too large", messages: []string{initialise, `{"type":"ping","payload":"` + strings.Repeat("x", 3000) + `"}`}, code: 1009, reason: "", why: "a message is read into memory"},
		{name: "another protocol", protocol: "graphql-ws", code: 4406, reason: "graphql-transport-ws", why: "the client would not understand a word"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, nil, func(c *server.Config) {
				c.Streams.InitTimeout = tt.init
				c.Streams.MaxMessageBytes = 2000
			})
			protocol := transportWS
			if tt.protocol != "" {
				protocol = tt.protocol
			}
			c := s.dial(t, tt.header, protocol)
			for _, m := range tt.messages {
				c.send(t, m)
			}
			c.wantClose(t, tt.code, tt.reason)
			if t.Failed() {
				t.Log(tt.why)
			}
			poll.True(t, patience, "no subscription to run", func() bool { return s.feed.running.Load() == 0 })
			if log := s.log.String(); strings.Contains(log, "Bearer") {
				t.Errorf("the log has a token: %s", log)
			}
		})
	}
}

func TestWebSocketHeaderCredentials(t *testing.T) {
	s := start(t, nil, nil)
	for name, payload := range map[string]string{"alone": "", "and the same again": `,"payload":{"AUTHORIZATION":"bearer admin","x":1}`} {
		c := s.dial(t, http.Header{"Authorization": {"Bearer admin"}})
		c.send(t, `{"type":"connection_init"`+payload+`}`)
		if got, closed := c.next(t); closed != nil {
			t.Errorf("%s: got %s, %v", name, got, closed)
		}
	}
}

func TestWebSocketsAreRefused(t *testing.T) {
	s := start(t, nil, nil)
	for _, tt := range []struct {
		name   string
		header http.Header
		status int
		why    string
	}{
		{"another site", http.Header{"Origin": {"https://evil.example"}}, 403, "a browser sends a certificate for whatever page asks"},
		{"no site at all", http.Header{"Origin": {"null"}}, 403, "a sandboxed page has no origin"},
		{"its own site", http.Header{"Origin": {s.URL}}, 101, "GraphiQL is such a page"},
	} {
		if _, status, err := s.tryDial(t, tt.header); status != tt.status {
			t.Errorf("%s: HTTP %d, %v, want HTTP %d: %s", tt.name, status, err, tt.status, tt.why)
		}
	}
	other := s.do(t, call{method: http.MethodGet, path: "/graphql?query={hello}", header: http.Header{"Upgrade": {"h2c"}, "Connection": {"Upgrade"}}})
	if other.status != http.StatusOK {
		t.Errorf("a client that offers HTTP/2: HTTP %d, want an answer over HTTP/1.1", other.status)
	}
	broken := s.do(t, call{method: http.MethodGet, header: http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}}})
	if broken.status != http.StatusBadRequest || !strings.Contains(broken.body, `"code":"INVALID"`) {
		t.Errorf("half a handshake: HTTP %d %s", broken.status, broken.body)
	}
}

func TestLimitsOfWebSockets(t *testing.T) {
	s := start(t, nil, func(c *server.Config) {
		c.Streams.MaxConnectionsPerUser = 2
		c.Streams.MaxSubscriptionsPerUser = 3
		c.Streams.MaxOperationsPerSocket = 2
	})
	forever := `subscription { events(topic: "forever") { n } }`
	first, second := s.known(t), s.known(t)
	third := s.dial(t, nil)
	third.send(t, `{"type":"connection_init","payload":{"Authorization":"Bearer admin"}}`)
	third.wantClose(t, 1013, "RATE_LIMITED")
	for _, id := range []string{"1", "2"} {
		first.subscribe(t, id, forever)
		first.want(t, `{"type":"next","id":"`+id+`","payload":{"data":{"events":{"n":1}}}}`)
	}
	first.subscribe(t, "3", forever)
	limited(t, first, "2 operations under way")
	second.subscribe(t, "1", forever)
	second.want(t, `{"type":"next","id":"1","payload":{"data":{"events":{"n":1}}}}`)
	second.subscribe(t, "2", forever)
	limited(t, second, "3 subscriptions open")
	// What is given back can be had again.
	first.send(t, `{"type":"complete","id":"1"}`)
	poll.True(t, patience, "the subscription to end", func() bool { return s.feed.running.Load() == 2 })
	poll.True(t, patience, "its place", func() bool {
		second.subscribe(t, "3", forever)
		got, _ := second.next(t)
		return strings.Contains(got, `"next"`)
	})
	_ = first.Close()
	poll.True(t, patience, "a place for a connection", func() bool {
		c := s.dial(t, nil)
		c.send(t, `{"type":"connection_init","payload":{"Authorization":"Bearer admin"}}`)
		_, closed := c.next(t)
		return closed == nil
	})
}

// limited expects an error about a limit.
func limited(t *testing.T, c client, message string) {
	t.Helper()
	got, closed := c.next(t)
	if closed != nil || !strings.Contains(got, "RATE_LIMITED") || !strings.Contains(got, message) {
		t.Errorf("got %s, %v, want RATE_LIMITED with %q", got, closed, message)
	}
}

// Connections without a token take no places of those with one.
func TestUnauthenticatedWebSocketsTakeNoPlaces(t *testing.T) {
	s := start(t, nil, func(c *server.Config) {
		c.Streams.MaxUnauthenticatedWebSockets = 1
		c.Streams.MaxConnectionsPerUser = 2
	})
	silent := s.dial(t, nil)
	if _, status, err := s.tryDial(t, nil); err == nil || status != http.StatusTooManyRequests {
		t.Errorf("a second one that says nothing: HTTP %d, %v", status, err)
	}
	if _, status, err := s.tryDial(t, http.Header{"Authorization": {"Bearer wrong"}}); err == nil || status != http.StatusTooManyRequests {
		t.Errorf("one with a wrong token: HTTP %d, %v", status, err)
	}
	header := http.Header{"Authorization": {"Bearer admin"}}
	first := s.dial(t, header)
	first.send(t, `{"type":"connection_init"}`)
	first.want(t, `{"type":"connection_ack"}`)
	s.dial(t, header)
	if _, status, err := s.tryDial(t, header); err == nil || status != http.StatusTooManyRequests {
		t.Errorf("a third one of the same user: HTTP %d, %v", status, err)
	}
	_ = silent.Close()
	poll.True(t, patience, "the place of the one that said nothing", func() bool {
		_, _, err := s.tryDial(t, nil)
		return err == nil
	})
}
