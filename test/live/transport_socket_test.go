package live

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// socket is a WebSocket that speaks graphql-transport-ws.
type socket struct {
	*websocket.Conn
	t testing.TB
}

func dial(t testing.TB, server string) *socket {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: within}
	conn, resp, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(server, "http")+"/graphql", nil)
	if err != nil {
		t.Fatalf("no WebSocket: %v", err)
	}
	_ = resp.Body.Close()
	t.Cleanup(func() { _ = conn.Close() })
	return &socket{conn, t}
}

func (s *socket) send(message map[string]any) {
	s.t.Helper()
	if err := s.WriteJSON(message); err != nil {
		s.t.Fatal(err)
	}
}

// init says who the client is, and waits until it is known.
func (s *socket) init(token string) {
	s.t.Helper()
	s.send(map[string]any{"type": "connection_init", "payload": map[string]any{"Authorization": "Bearer " + token}})
	if kind, _ := s.next(within); kind != "connection_ack" {
		s.t.Fatalf("got %s instead of an acknowledgement", kind)
	}
}

func (s *socket) subscribe(id, query string) {
	s.t.Helper()
	s.send(map[string]any{"type": "subscribe", "id": id, "payload": map[string]any{"query": query}})
}

// next is the type and the payload of the next message.
func (s *socket) next(within time.Duration) (kind string, payload json.RawMessage) {
	s.t.Helper()
	_ = s.SetReadDeadline(time.Now().Add(within))
	var m struct {
		Type    string
		Payload json.RawMessage
	}
	if err := s.ReadJSON(&m); err != nil {
		s.t.Fatalf("no message: %v", err)
	}
	return m.Type, m.Payload
}

// closed reads until the server closes the connection, and returns how.
func (s *socket) closed(within time.Duration) (code int, reason string) {
	s.t.Helper()
	_ = s.SetReadDeadline(time.Now().Add(within))
	for {
		if _, _, err := s.ReadMessage(); err != nil {
			if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
				return closed.Code, closed.Text
			}
			s.t.Fatalf("not closed: %v", err)
		}
	}
}
