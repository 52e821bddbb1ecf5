package server_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/internal/poll"
)

const foreverDocument = `subscription Forever { events(topic: "forever") { n cursor } }`

// TestDrain checks that draining asks the clients of both transports to reconnect, waits for
// running queries, and refuses new ones.
func TestDrain(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.RequestTimeout = 2 * time.Second })
	events := s.open(t, call{body: operation(t, foreverDocument, nil)})
	if _, ok := events.next(t); !ok {
		t.Fatal("no first event")
	}
	idle, busy, waiting := s.known(t), s.known(t), s.dial(t, nil)
	idle.subscribe(t, "1", foreverDocument)
	idle.want(t, `{"type":"next","id":"1","payload":{"data":{"events":{"n":1,"cursor":"c1"}}}}`)
	busy.subscribe(t, "q", `{ slow }`)
	busy.send(t, `{"type":"ping"}`) // The answer comes after the query has begun.
	busy.want(t, `{"type":"pong"}`)

	drained := make(chan error, 1)
	go func() { drained <- s.handler.Drain(t.Context()) }()
	if rest := events.all(t); len(rest) != 0 {
		t.Errorf("the stream went on with %v: an EventSource takes complete for the end of everything", rest)
	}
	if d := cmp.Diff([]string{"SERVER_STOPPING"}, events.comments); d != "" {
		t.Errorf("comments (-want +got):\n%s", d)
	}
	idle.wantClose(t, 1001, "SERVER_STOPPING")
	waiting.wantClose(t, 1001, "SERVER_STOPPING")
	if got, closed := busy.next(t); closed != nil || !strings.Contains(got, `"TIMEOUT"`) {
		t.Errorf("the query under way: %s, %v, want its own answer", got, closed)
	}
	busy.wantClose(t, 1001, "SERVER_STOPPING")
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if got := s.do(t, call{method: http.MethodGet, path: "/readyz"}); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "draining") {
		t.Errorf("readyz: HTTP %d %s", got.status, got.body)
	}
	if late := s.open(t, call{body: operation(t, foreverDocument, nil)}); late.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a stream began while the server stops: HTTP %d", late.StatusCode)
	}
	if _, status, err := s.tryDial(t, nil); err == nil || status != http.StatusServiceUnavailable {
		t.Errorf("a WebSocket was opened while the server stops: %v", err)
	}
	if got := s.do(t, call{body: `{"query":"{hello}"}`}); got.status != http.StatusOK {
		t.Errorf("queries are answered until the process ends: HTTP %d", got.status)
	}
}

// TestDrainIsBounded cuts off clients that do not go.
func TestDrainIsBounded(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.RequestTimeout = time.Minute })
	c := s.known(t)
	c.subscribe(t, "q", `{ slow }`)
	c.send(t, `{"type":"ping"}`)
	c.want(t, `{"type":"pong"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.handler.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, _, err := c.ReadMessage(); err == nil {
		t.Error("the connection goes on")
	}
}

func TestMaxLifeOfWebSockets(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.Streams.MaxLife = 2 * time.Second })
	c := s.known(t)
	c.subscribe(t, "1", foreverDocument)
	c.want(t, `{"type":"next","id":"1","payload":{"data":{"events":{"n":1,"cursor":"c1"}}}}`)
	c.wantClose(t, 4441, "MAX_LIFE")
}

// TestSilentClientsAreClosed: a client that is there answers pings, and one that is
// not must not be waited for.
func TestSilentClientsAreClosed(t *testing.T) {
	s := start(t, nil, func(c *server.Config) {
		c.Streams.KeepAlive = 50 * time.Millisecond
		c.Streams.WriteTimeout = 2 * time.Second
	})
	silent := s.known(t)
	silent.subscribe(t, "1", foreverDocument)
	poll.True(t, patience, "the subscription", func() bool { return s.feed.begun.Load() == 1 })

	// As many pings as take longer than a client may be silent.
	const most = 60
	alive := s.known(t)
	pinged := 0
	alive.SetPingHandler(func(string) error {
		pinged++
		if pinged == most {
			_ = alive.SetReadDeadline(time.Now())
		}
		return alive.WriteControl(10, nil, time.Now().Add(time.Second))
	})
	_, _, err := alive.ReadMessage()
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() || pinged < most {
		t.Errorf("%d pings, then %v: a client that answers stays", pinged, err)
	}
	// The client does not read, so it does not answer pings.
	poll.True(t, patience, "the client to be let go", func() bool { return s.feed.running.Load() == 0 })
}

// TestSlowClients do not read what is sent to them: they cost what the kernel
// buffers and one message, and are let go.
func TestSlowClients(t *testing.T) {
	const flood = `subscription { events(topic: "flood") { n text } }`
	limits := func(c *server.Config) { c.Streams.WriteTimeout = 300 * time.Millisecond }
	check := func(t *testing.T, s testServer) {
		t.Helper()
		poll.True(t, patience, "the client to be let go", func() bool { return s.feed.begun.Load() == 1 && s.feed.running.Load() == 0 })
		poll.True(t, patience, "the line about it", func() bool { return strings.Contains(s.log.String(), `"reason":"TOO_SLOW"`) })
		// An event has 64 KiB. The kernels of both sides hold some; nothing else may.
		if n := s.feed.taken.Load(); n > 200 {
			t.Errorf("%d events were taken for a client that reads none", n)
		}
	}
	t.Run("server-sent events", func(t *testing.T) {
		s := start(t, nil, limits)
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		body := operation(t, flood, nil)
		fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		check(t, s)
	})
	t.Run("WebSocket", func(t *testing.T) {
		s := start(t, nil, limits)
		c := s.known(t)
		c.subscribe(t, "1", flood)
		check(t, s)
	})
}

// TestNothingIsLeft opens and closes many connections of both kinds, in every
// unfriendly way, and counts what is left of them.
func TestNothingIsLeft(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := start(t, nil, func(c *server.Config) { c.Registerer = registry; c.Streams.InitTimeout = time.Second })
	before := runtime.NumGoroutine()
	for i := range 200 {
		switch i % 5 {
		case 0:
			c := s.known(t)
			c.subscribe(t, "1", foreverDocument)
			c.want(t, `{"type":"next","id":"1","payload":{"data":{"events":{"n":1,"cursor":"c1"}}}}`)
			_ = c.Close()
		case 1:
			c := s.known(t)
			c.subscribe(t, "1", foreverDocument)
			_ = c.NetConn().Close()
		case 2:
			c := s.dial(t, nil)
			_ = c.Close()
		case 3:
			open := s.open(t, call{body: operation(t, foreverDocument, nil)})
			open.next(t)
			_ = open.Body.Close()
		case 4:
			s.open(t, call{body: operation(t, threeEvents, nil)}).all(t)
		}
	}
	poll.True(t, patience, "no subscription to run", func() bool { return s.feed.running.Load() == 0 })
	s.Client().CloseIdleConnections()
	poll.True(t, patience, "no goroutine to be left", func() bool { return runtime.NumGoroutine() <= before+3 })
	gauges := 0
	// One goroutine may still be giving back what it had.
	poll.True(t, patience, "all gauges to be zero", func() bool {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		gauges = 0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if g := m.GetGauge(); g != nil {
					gauges++
					open += int(g.GetValue())
				}
			}
		}
		return open == 0
	})
	if gauges != 4 {
		t.Errorf("%d gauges, want those of connections and of subscriptions for both transports", gauges)
	}
}

func TestLinesOfSubscriptions(t *testing.T) {
	s := start(t, nil, nil)
	s.open(t, call{body: operation(t, threeEvents, nil)}).all(t)
	s.busy.Wait()
	// The stream has outlived its handler.
	poll.True(t, patience, "the line of the end", func() bool { return strings.Contains(s.log.String(), `"phase":"end"`) })
	line := func(more map[string]any) map[string]any {
		l := map[string]any{
			"level": "INFO", "msg": "audit", "user": "admin", "via": "graphql-sse", "operation": "S", "type": "subscription", "decision": "allowed",
			"instances": []any{}, "instanceCount": 0.0, "status": 200.0, "durationMs": 0.0, "traceId": traceID, "from": loopback,
		}
		maps.Copy(l, more)
		return l
	}
	if d := cmp.Diff([]map[string]any{
		line(map[string]any{"phase": "begin"}),
		line(map[string]any{"phase": "end", "reason": "COMPLETED", "events": 3.0, "outcome": "ok"}),
	}, s.log.lines(t)); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}

	s = start(t, nil, func(c *server.Config) {
		id := 0
		c.NewTraceID = func() string { id++; return fmt.Sprintf("%032d", id) }
	})
	c := s.known(t)
	c.subscribe(t, "1", `subscription { events(topic: "refused") { n } }`)
	if got, _ := c.next(t); !strings.Contains(got, "NOT_FOUND") {
		t.Errorf("got %s", got)
	}
	_ = c.Close()
	poll.True(t, patience, "the line of the connection", func() bool { return strings.Contains(s.log.String(), "websocket closed") })
	lines := s.log.lines(t)
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one of the subscription and one of the connection:\n%s", len(lines), s.log)
	}
	delete(lines[1], "durationMs")
	if d := cmp.Diff([]map[string]any{
		line(map[string]any{
			"via": "graphql-websocket", "operation": "", "status": 101.0, "phase": "end", "reason": "REFUSED", "events": 0.0, "outcome": "refused",
			"errors": map[string]any{"NOT_FOUND": 1.0}, "traceId": fmt.Sprintf("%032d", 2), "connection": fmt.Sprintf("%032d", 1),
		}),
		{"level": "INFO", "msg": "websocket closed", "code": 1006.0, "reason": "CLIENT_GONE", "operations": 1.0, "traceId": fmt.Sprintf("%032d", 1), "from": loopback},
	}, lines); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
}
