package live

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// footprint is what Kairship's API server holds.
type footprint struct {
	goroutines, files, watches int
}

var (
	goroutines = regexp.MustCompile(`^goroutine profile: total (\d+)`)
	watching   = regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{[^}]*resource="configmaps"[^}]*verb="WATCH"[^}]*\} (\d+)`)
)

func footprintOf(t *testing.T) footprint {
	t.Helper()
	f := fleet.Open(t)
	profile := read(t, "http://"+f.KairshipPprof+"/debug/pprof/goroutine?debug=1")
	found := goroutines.FindStringSubmatch(profile)
	if found == nil {
		t.Fatalf("no number of goroutines in %.200s", profile)
	}
	var p footprint
	p.goroutines, _ = strconv.Atoi(found[1])
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", f.PID(t, "kairship-apiserver")))
	if err != nil {
		t.Fatal(err)
	}
	p.files = len(files)
	metrics, err := f.Kubernetes(t, "alpha").Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range watching.FindAllStringSubmatch(string(metrics), -1) {
		n, _ := strconv.Atoi(m[1])
		p.watches += n
	}
	return p
}

func read(t *testing.T, address string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: HTTP %d, %v", address, resp.StatusCode, err)
	}
	return string(raw)
}

// visitor connects and leaves, in one of the ways there are.
type visitor struct {
	server, token, query string
}

func (v visitor) visit(ctx context.Context, way int) error {
	switch way % 6 {
	case 0: // A WebSocket with a subscription that is dropped without a word.
		return v.socket(ctx, func(c *websocket.Conn) error {
			if err := v.subscribed(c); err != nil {
				return err
			}
			return c.NetConn().Close()
		})
	case 1: // The same, before anything comes back.
		return v.socket(ctx, func(c *websocket.Conn) error {
			_ = c.WriteJSON(v.init())
			_ = c.WriteJSON(v.subscribe())
			return c.NetConn().Close()
		})
	case 2: // A silent client.
		return v.socket(ctx, func(*websocket.Conn) error { return nil })
	case 3: // A wrong token.
		return v.socket(ctx, func(c *websocket.Conn) error {
			_ = c.WriteJSON(map[string]any{"type": "connection_init", "payload": map[string]any{"Authorization": "Bearer wrong"}})
			_, _, err := c.ReadMessage()
			if !websocket.IsCloseError(err, 4401) {
				return fmt.Errorf("a wrong token: %w", err)
			}
			return nil
		})
	case 4: // Events, of which the first is read.
		return v.events(ctx, true)
	default: // Events, of which nothing is read.
		return v.events(ctx, false)
	}
}

func (v visitor) init() map[string]any {
	return map[string]any{"type": "connection_init", "payload": map[string]any{"Authorization": "Bearer " + v.token}}
}

func (v visitor) subscribe() map[string]any {
	return map[string]any{"type": "subscribe", "id": "1", "payload": map[string]any{"query": v.query}}
}

func (v visitor) subscribed(c *websocket.Conn) error {
	_ = c.WriteJSON(v.init())
	_ = c.WriteJSON(v.subscribe())
	for range 2 {
		if _, _, err := c.ReadMessage(); err != nil {
			return err
		}
	}
	return nil
}

func (v visitor) socket(ctx context.Context, use func(*websocket.Conn) error) error {
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}}
	c, resp, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(v.server, "http")+"/graphql", nil)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	defer func() { _ = c.Close() }()
	_ = c.SetReadDeadline(time.Now().Add(within))
	return use(c)
}

func (v visitor) events(ctx context.Context, wait bool) error {
	u, err := url.Parse(v.server)
	if err != nil {
		return err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(within))
	fmt.Fprintf(conn, "GET /graphql?%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n",
		url.Values{"query": {v.query}}.Encode(), u.Host, v.token)
	for lines := bufio.NewScanner(conn); wait && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			return nil
		}
	}
	if wait {
		return fmt.Errorf("no event came")
	}
	return nil
}

// TestNothingIsLeftOfVisitors connects and disconnects a hundred times, ten
// thousand with KAIRSHIP_LONG=1, and counts goroutines, open files and the watches
// that the instance has.
func TestNothingIsLeftOfVisitors(t *testing.T) {
	visits := 100
	if longtest.On() {
		visits = 10_000
	}
	f := fleet.Open(t)
	v := visitor{server: f.KairshipURL, token: f.Token(t, "admin"), query: fmt.Sprintf(
		`subscription { resourceChanged(version: "v1", resource: "configmaps", filter: {instances: ["alpha"], namespaces: [%q]}) { type cursor resource { name } } }`,
		namespaceIn(t, "alpha"))}
	quiet := footprint{goroutines: 1 << 30, files: 1 << 30, watches: footprintOf(t).watches}
	// What is made once, at the first visit, is there before.
	for way := range 6 {
		if err := v.visit(t.Context(), way); err != nil {
			t.Fatal(err)
		}
	}
	before := atRest(t, quiet)
	most := before

	ways := make(chan int)
	failed := make(chan error, 1)
	var busy sync.WaitGroup
	for range 40 {
		busy.Go(func() {
			for way := range ways {
				if err := v.visit(t.Context(), way); err != nil {
					select {
					case failed <- fmt.Errorf("visit %d: %w", way, err):
					default:
					}
				}
			}
		})
	}
	for i := range visits {
		ways <- i
		if i%(visits/10) == visits/20 {
			now := footprintOf(t)
			most = footprint{max(most.goroutines, now.goroutines), max(most.files, now.files), max(most.watches, now.watches)}
		}
	}
	close(ways)
	busy.Wait()
	select {
	case err := <-failed:
		t.Error(err)
	default:
	}
	after := atRest(t, before)
	t.Logf("%d visits: before %+v, meanwhile up to %+v, after %+v", visits, before, most, after)
	if most.watches > before.watches+1 {
		t.Errorf("%d watches for subscribers to the same", most.watches-before.watches)
	}
}

// atRest waits until nothing is left that was not there before. Connections to
// what is behind Kairship, and what works beside the test, come and go.
func atRest(t *testing.T, before footprint) footprint {
	t.Helper()
	const others = 30
	var now footprint
	poll.Until(t, 90*time.Second, "nothing to be left", func(context.Context) error {
		now = footprintOf(t)
		if now.goroutines > before.goroutines+others || now.files > before.files+others || now.watches > before.watches {
			return fmt.Errorf("%+v, and before %+v", now, before)
		}
		return nil
	})
	return now
}

// TestWhoSendsNothingIsLetGo sends the beginning of a request and then nothing.
func TestWhoSendsNothingIsLetGo(t *testing.T) {
	f := fleet.Open(t)
	u, err := url.Parse(f.KairshipURL)
	if err != nil {
		t.Fatal(err)
	}
	token := f.Token(t, "admin")
	for name, begin := range map[string]string{
		"nothing":                         "",
		"half headers":                    "GET /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n",
		"half a body without credentials": "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"half a body":                     "POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"half a WebSocket": "GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
			"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n\x81\xfe\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			begun := time.Now()
			if _, err := conn.Write([]byte(begin)); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(begun.Add(10*time.Second + within))
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Errorf("after %s: %v, want the server to close the connection", time.Since(begun), err)
			}
			t.Logf("closed after %s", time.Since(begun).Round(time.Millisecond))
		})
	}
}
