package balancer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/kairship-io/kairship/test/internal/gql"
)

const follow = `subscription($namespace: String!, $after: String) {
	told: resourceChanged(version: "v1", resource: "configmaps", after: $after,
		filter: {instances: ["alpha"], namespaces: [$namespace], nameContains: "balanced-"}) {
		type cursor message resource { name manifest }
	} }`

// event is what a subscriber is told.
type event struct {
	Told struct {
		Type     string `json:"type"`
		Cursor   string `json:"cursor"`
		Message  string `json:"message"`
		Resource *struct {
			Name     string `json:"name"`
			Manifest struct {
				Data map[string]string `json:"data"`
			} `json:"manifest"`
		} `json:"resource"`
	} `json:"told"`
}

// subscriber follows what the writers write. When its stream ends in a way that says
// "connect again" it does, and goes on after the last event that it was told.
type subscriber struct {
	*tally

	name      string
	namespace string
	// connect opens the stream at a cursor, hands on what is told, and returns when it
	// ends: errAgain where that is to be followed by another one.
	connect func(ctx context.Context, variables map[string]any, tell func(json.RawMessage)) error

	mu     sync.Mutex
	cursor string
	// known are the objects there are, at what value; ever those that it was told of.
	known     map[string]string
	ever      map[string]bool
	connected int
}

// errAgain is the end of a stream that is to go on elsewhere.
var errAgain = errors.New("connect again")

func (s *subscriber) run(ctx context.Context) {
	for ctx.Err() == nil {
		variables := map[string]any{"namespace": s.namespace}
		s.mu.Lock()
		if s.cursor != "" {
			variables["after"] = s.cursor
		}
		s.connected++
		s.mu.Unlock()
		switch err := s.connect(ctx, variables, s.fold); {
		case ctx.Err() != nil:
		case errors.Is(err, errAgain):
			s.did("streams that said connect again")
		default:
			s.failf("%s: %v", s.name, err)
			pause(ctx, time.Second)
		}
	}
}

// fold takes an event into what the subscriber knows. There are no two ways to do it,
// so what does not fit is an event too many or one too few.
func (s *subscriber) fold(data json.RawMessage) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		s.failf("%s: %v: %s", s.name, err, data)
		return
	}
	s.did("events told")
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Told.Cursor != "" {
		s.cursor = e.Told.Cursor
	}
	var name, value string
	if r := e.Told.Resource; r != nil {
		name, value = r.Name, r.Manifest.Data["value"]
	}
	before, known := s.known[name]
	switch e.Told.Type {
	case "SYNCED":
	case "ADDED":
		if known || s.ever[name] {
			s.failf("%s: %s is ADDED with %s, and was told before (there: %t)", s.name, name, value, known)
		}
		s.known[name], s.ever[name] = value, true
	case "MODIFIED":
		if !known || before == value {
			s.failf("%s: %s is MODIFIED to %s from %q (there: %t)", s.name, name, value, before, known)
		}
		s.known[name] = value
	case "DELETED":
		if !known {
			s.failf("%s: %s is DELETED, and is not there", s.name, name)
		}
		delete(s.known, name)
	default:
		// The instance is well, and remembers much longer than a subscriber is away.
		s.failf("%s: got %s: %s", s.name, e.Told.Type, e.Told.Message)
	}
}

// lacks compares what the subscriber knows with what there is.
func (s *subscriber) lacks(now map[string]string, ever map[string]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !maps.Equal(now, s.known) {
		var wrong []string
		for name, value := range now {
			if s.known[name] != value {
				wrong = append(wrong, fmt.Sprintf("%s is %q, told was %q", name, value, s.known[name]))
			}
		}
		for name := range s.known {
			if _, is := now[name]; !is {
				wrong = append(wrong, name+" is gone, told was "+s.known[name])
			}
		}
		return fmt.Errorf("%s: %s", s.name, text(wrong))
	}
	for name := range ever {
		if !s.ever[name] {
			return fmt.Errorf("%s was never told of %s", s.name, name)
		}
	}
	return nil
}

// streams connects by server-sent events.
func streams(c *gql.Client) func(context.Context, map[string]any, func(json.RawMessage)) error {
	return func(ctx context.Context, variables map[string]any, tell func(json.RawMessage)) error {
		stream, refused, err := c.Subscribe(ctx, gql.Request{Query: follow, Variables: variables})
		switch {
		case err != nil:
			return err
		case refused != nil:
			return fmt.Errorf("HTTP %d instead of a stream: %s", refused.Status, refused.Body)
		}
		defer stream.Close()
		for ctx.Err() == nil {
			switch e := stream.Next(time.Second); {
			case e == nil:
			case e.Lost != nil: // It ended without `complete`.
				return errAgain
			case e.Complete, len(e.Errors) > 0:
				return fmt.Errorf("the subscription ended: %v", e.Errors)
			default:
				tell(e.Data)
			}
		}
		return nil
	}
}

// sockets connects by WebSocket.
func (s *scene) sockets(token string) func(context.Context, map[string]any, func(json.RawMessage)) error {
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: requestTimeout, TLSClientConfig: s.trust}
	return func(ctx context.Context, variables map[string]any, tell func(json.RawMessage)) error {
		conn, response, err := dialer.DialContext(ctx, "wss://"+s.balancer.Address+"/graphql", http.Header{"Authorization": {"Bearer " + token}})
		if err != nil {
			return fmt.Errorf("no WebSocket: %w", err)
		}
		_ = response.Body.Close()
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		if err := conn.WriteJSON(map[string]any{"type": "connection_init"}); err != nil {
			return err
		}
		for {
			var m struct {
				Type    string
				Payload json.RawMessage
			}
			err := conn.ReadJSON(&m)
			switch {
			case websocket.IsCloseError(err, websocket.CloseGoingAway):
				return errAgain
			case err != nil:
				return fmt.Errorf("the WebSocket ended: %w", err)
			}
			switch m.Type {
			case "connection_ack":
				err = conn.WriteJSON(map[string]any{"id": "1", "type": "subscribe", "payload": map[string]any{"query": follow, "variables": variables}})
			case "ping":
				err = conn.WriteJSON(map[string]any{"type": "pong"})
			case "pong":
			case "next":
				var result struct {
					Data json.RawMessage `json:"data"`
				}
				if err = json.Unmarshal(m.Payload, &result); err == nil {
					tell(result.Data)
				}
			default:
				return fmt.Errorf("the subscription ended with %s: %s", m.Type, m.Payload)
			}
			if err != nil {
				return err
			}
		}
	}
}
