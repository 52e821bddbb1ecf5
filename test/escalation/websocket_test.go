package escalation

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	attackers = 16
	// maxUnauthenticated is --max-unauthenticated-websockets as it is by default.
	maxUnauthenticated = 400
)

// dialFrom opens a WebSocket from an address of the loopback interface.
func dialFrom(ctx context.Context, server, address string, header http.Header) (*websocket.Conn, int, error) {
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, NetDialContext: from.DialContext, HandshakeTimeout: 10 * time.Second}
	c, resp, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(server, "http")+"/graphql", header)
	status := 0
	if resp != nil {
		status = resp.StatusCode
		_ = resp.Body.Close()
	}
	return c, status, err
}

// subscribed says whose the WebSocket is, subscribes, and waits for the first event.
func subscribed(c *websocket.Conn, init string) error {
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	for _, step := range []struct{ send, want string }{
		{init, "connection_ack"},
		{`{"type":"subscribe","id":"1","payload":{"query":"subscription { instanceChanged { type } }"}}`, "next"},
	} {
		if err := c.WriteMessage(websocket.TextMessage, []byte(step.send)); err != nil {
			return err
		}
		_, text, err := c.ReadMessage()
		if err != nil {
			return err
		}
		var got struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(text, &got); err != nil || got.Type != step.want {
			return fmt.Errorf("got %s, want %s", text, step.want)
		}
	}
	return nil
}

// TestWebSocketsWithoutToken has an attacker open as many WebSockets as possible that
// never say whose they are, again and again. People with a token still subscribe.
func TestWebSocketsWithoutToken(t *testing.T) {
	on := fleet.Open(t)
	ctx, stop := context.WithCancel(t.Context())
	var (
		opened, refused atomic.Int64
		all             sync.WaitGroup
	)
	defer all.Wait()
	defer stop()
	for range attackers {
		all.Go(func() {
			for ctx.Err() == nil {
				c, status, err := dialFrom(ctx, on.KairshipURL, "127.0.0.1", nil)
				switch {
				case err == nil:
					opened.Add(1)
					all.Go(func() {
						defer func() { _ = c.Close() }()
						context.AfterFunc(ctx, func() { _ = c.Close() })
						for {
							if _, _, err := c.ReadMessage(); err != nil {
								return // It was open for as long as it might.
							}
						}
					})
				case status == http.StatusTooManyRequests:
					refused.Add(1)
				case ctx.Err() == nil:
					t.Errorf("HTTP %d, %v", status, err)
					return
				}
			}
		})
	}
	inFull := func() {
		t.Helper()
		before := refused.Load()
		poll.Until(t, 30*time.Second, "the attacker is refused", func(context.Context) error {
			if refused.Load() < before+attackers {
				return fmt.Errorf("%d are open, %d were refused", opened.Load(), refused.Load())
			}
			return nil
		})
	}
	inFull()
	if n := opened.Load(); n > maxUnauthenticated {
		t.Errorf("the attacker opened %d WebSockets before the first refusals, want half of %d", n, maxUnauthenticated)
	}
	token := on.Token(t, "alice")
	for _, tt := range []struct {
		name, address, init string
		header              http.Header
	}{
		{"token in the request, from the attacker's own address", "127.0.0.1", `{"type":"connection_init"}`, http.Header{"Authorization": {"Bearer " + token}}},
		{"token in connection_init, from another address", "127.0.0.2", `{"type":"connection_init","payload":{"Authorization":"Bearer ` + token + `"}}`, nil},
	} {
		for range 5 {
			inFull()
			c, status, err := dialFrom(t.Context(), on.KairshipURL, tt.address, tt.header)
			if err != nil {
				t.Fatalf("%s: HTTP %d, %v", tt.name, status, err)
			}
			if err := subscribed(c, tt.init); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			_ = c.Close()
		}
	}
	inFull()
	events := gql.New(on.KairshipURL, token).MustSubscribe(t, gql.Request{Query: `subscription { instanceChanged { type } }`})
	defer events.Close()
	if event := events.Next(20 * time.Second); event == nil || event.Data == nil {
		t.Errorf("over server-sent events: %+v", event)
	}
	t.Logf("the attacker opened %d WebSockets and was refused %d times", opened.Load(), refused.Load())
}
