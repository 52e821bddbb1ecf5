package websocket

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"github.com/kairship-io/kairship/graph/server/presenter"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// socket is one WebSocket. Its goroutine reads; each operation has another one,
// which writes its own results. Pings are sent by a timer.
type socket struct {
	*Transport

	exec        graphql.GraphExecutor
	headers     http.Header
	credentials authz.Credentials
	limiter     *rate.Limiter
	begun       time.Time
	// identified releases the place of an unauthenticated connection; nil where the handshake was
	// authenticated. Once it was called, user is set.
	identified func()
	user       *authz.User
	ctx        context.Context //nolint:containedctx // It is the life of the connection.
	cancel     context.CancelCauseFunc

	writing sync.Mutex

	mu         sync.Mutex
	conn       *websocket.Conn
	acked      bool
	operations map[string]*operation
	// finite are the operations under way that end without the client.
	finite   int
	draining bool
	// closing is set once a close frame was sent, or the client went away.
	closing bool
	closed  closeNote
	served  int
	running sync.WaitGroup
	pings   *time.Timer
	// disconnect gives back the place of a user's connection.
	disconnect func()
}

// closeNote is how a socket was closed.
type closeNote struct {
	code   int
	reason string
}

// serve reads until the connection ends.
func (c *socket) serve() {
	limits := c.Streams.Limits
	// The operations are over before the place of the connection is given back.
	defer c.finish()
	defer func() {
		if v := recover(); v != nil {
			_ = c.Present(c.ctx, presenter.Recover(c.ctx, v)) // It goes to the log.
			c.closeWith(closeInternal, "INTERNAL: the connection failed", subscription.ErrProtocol)
		}
	}()
	if c.isClosing() {
		return // The process stops already.
	}
	c.conn.SetReadLimit(limits.MaxMessageBytes)
	subscription.LimitConnBuffer(c.conn.NetConn())
	if c.conn.Subprotocol() != subprotocol {
		c.closeWith(closeSubprotocol, "Subprotocol not acceptable: the only one is "+subprotocol, subscription.ErrProtocol)
	}
	c.addFinite(0)
	c.expectWithin(limits.InitTimeout)
	c.conn.SetPongHandler(func(string) error { c.extendDeadline(); return nil })
	c.mu.Lock()
	c.pings = time.AfterFunc(limits.KeepAlive, c.ping)
	c.mu.Unlock()
	defer c.pings.Stop()
	life := time.AfterFunc(limits.Life(), func() { c.closeWith(closeMaxLife, "MAX_LIFE: connect again and resume", subscription.ErrMaxLife) })
	defer life.Stop()
	for {
		kind, text, err := c.conn.ReadMessage()
		if err != nil {
			c.readFailed(err)
			return
		}
		if c.isClosing() {
			continue // What a client sends after the close frame does not count.
		}
		c.extendDeadline()
		if kind != websocket.TextMessage {
			c.closeWith(closeBadRequest, "INVALID: a message is text", subscription.ErrProtocol)
			continue
		}
		c.receive(text)
		if c.limiter.Wait(c.ctx) != nil {
			continue
		}
	}
}

// ping finds out whether the client is still there, and keeps what is between from
// taking the connection for dead.
func (c *socket) ping() {
	if c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.Streams.Limits.WriteTimeout)) != nil {
		c.abandon()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.pings.Reset(c.Streams.Limits.KeepAlive)
	}
}

// abandon closes the connection of a client that receives nothing.
func (c *socket) abandon() {
	c.note(closeNote{code: closeTooSlow, reason: subscription.ErrTooSlow.Reason})
	c.cancel(subscription.ErrTooSlow)
	_ = c.conn.Close()
}

// extendDeadline gives a client more time, because it is there. One that has not
// authenticated gets no more for talking.
func (c *socket) extendDeadline() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.acked && !c.closing {
		c.conn.SetReadDeadline(time.Now().Add(missedPongs*c.Streams.Limits.KeepAlive + c.Streams.Limits.WriteTimeout)) //nolint:errcheck // The next read tells.
	}
}

func (c *socket) expectWithin(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.conn.SetReadDeadline(time.Now().Add(d)) //nolint:errcheck // The next read tells.
	}
}

func (c *socket) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

// readFailed finds out why there is nothing more to read.
func (c *socket) readFailed(err error) {
	var timeout net.Error
	switch silent := errors.As(err, &timeout) && timeout.Timeout(); {
	case c.isClosing():
	case silent && !c.isAcked():
		c.closeWith(closeInitTimeout, "Connection initialisation timeout", subscription.ErrSilent)
		c.drainReads()
	case silent:
		c.note(closeNote{reason: subscription.ErrSilent.Reason})
		c.cancel(subscription.ErrSilent)
	case errors.Is(err, websocket.ErrReadLimit):
		// The library has sent the close frame.
		c.note(closeNote{code: websocket.CloseMessageTooBig, reason: "INVALID: the message is too large"})
		c.cancel(subscription.ErrProtocol)
		c.drainReads()
	default:
		note := closeNote{reason: subscription.ErrClientGone.Reason}
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
			note.code = closed.Code
		}
		c.note(note)
		c.cancel(subscription.ErrClientGone)
		c.drainReads()
	}
}

// drainReads reads what the client has sent already. To close a connection with data
// unread resets it, and the other side may never see the close frame before that.
func (c *socket) drainReads() {
	conn := c.conn.NetConn()
	conn.SetReadDeadline(time.Now().Add(closeWait))                               //nolint:errcheck // The copy tells.
	io.Copy(io.Discard, io.LimitReader(conn, c.Streams.Limits.MaxMessageBytes*4)) //nolint:errcheck // Either way it is over.
}

func (c *socket) isAcked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acked
}

// note remembers the first reason why the connection ended.
func (c *socket) note(n closeNote) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.closing, c.closed = true, n
	return true
}

// closeWith sends the client why the connection ends, and gives it a moment to answer:
// a connection that is torn down at once may take the last frame with it. The
// first reason counts.
func (c *socket) closeWith(code int, reason string, cause error) {
	if len(reason) > maxCloseReason {
		reason = reason[:maxCloseReason]
	}
	if !c.note(closeNote{code: code, reason: reason}) {
		return
	}
	c.cancel(cause)
	deadline := time.Now().Add(closeWait)
	if c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), deadline) != nil {
		_ = c.conn.Close()
		return
	}
	c.conn.SetReadDeadline(deadline) //nolint:errcheck // The next read tells.
}

// cut ends the connection without a word.
func (c *socket) cut() {
	c.note(closeNote{reason: subscription.ErrDraining.Reason})
	c.cancel(subscription.ErrDraining)
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
}

// drain ends the connection once queries and mutations under way are answered.
// Subscriptions can be resumed elsewhere.
func (c *socket) drain() {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	c.addFinite(0)
}

// addFinite changes the number of operations that end without the client. A connection that is being
// drained ends with the last of them.
func (c *socket) addFinite(by int) {
	c.mu.Lock()
	c.finite += by
	idle := c.draining && c.finite == 0 && c.conn != nil
	c.mu.Unlock()
	if idle {
		c.closeWith(websocket.CloseGoingAway, "SERVER_STOPPING: connect again and resume", subscription.ErrDraining)
	}
}

// finish waits for the operations to end, and writes down what the connection was.
func (c *socket) finish() {
	c.cancel(subscription.ErrClientGone)
	_ = c.conn.Close()
	c.running.Wait()
	c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Recorder.Logger.LogAttrs(c.ctx, slog.LevelInfo, "websocket closed",
		slog.Int("code", c.closed.code), slog.String("reason", c.closed.reason), slog.Int("operations", c.served),
		slog.Float64("durationMs", float64(time.Since(c.begun).Microseconds())/1000))
}

// message is one of the protocol, from a client.
type message struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// maxOperationID is the length of the longest id of an operation.
const maxOperationID = 128

// receive does what a message asks for.
func (c *socket) receive(text []byte) {
	var m message
	if json.Unmarshal(text, &m) != nil {
		c.closeWith(closeBadRequest, "INVALID: the message is no JSON of this protocol", subscription.ErrProtocol)
		return
	}
	switch m.Type {
	case "connection_init":
		c.initialise(m.Payload)
	case "ping":
		c.send("pong", "", m.Payload)
	case "pong":
	case "subscribe":
		c.subscribe(m)
	case "complete":
		c.mu.Lock()
		op := c.operations[m.ID]
		c.mu.Unlock()
		if op != nil {
			c.forget(op)
			op.cancel(subscription.ErrClientDone)
		}
	default:
		c.closeWith(closeBadRequest, "INVALID: unknown type of message", subscription.ErrProtocol)
	}
}

// initialise authenticates the client.
func (c *socket) initialise(payload []byte) {
	c.mu.Lock()
	again := c.acked
	c.mu.Unlock()
	if again {
		c.closeWith(closeTooManyInits, "Too many initialisation requests", subscription.ErrProtocol)
		return
	}
	token, ok := bearer(payload)
	own := authz.TokenCredentials(token)
	switch {
	case !ok:
		c.closeWith(closeBadRequest, `INVALID: the payload of connection_init is an object, with "Authorization" as a string and no Impersonate fields`, subscription.ErrProtocol)
		return
	case token != "" && c.credentials.Empty():
		c.credentials = own
	case token != "" && !c.credentials.Same(own):
		// One of them would be ignored, and the client would be another user than it expects.
		c.closeWith(closeBadRequest, "INVALID: connection_init has other credentials than the request", subscription.ErrProtocol)
		return
	}
	if c.user != nil {
		c.acknowledge(*c.user)
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.Streams.Limits.InitTimeout)
	defer cancel()
	known, err := c.Identifier.Identify(ctx, c.credentials)
	if err != nil {
		c.refuseIdentity(err)
		return
	}
	user, _ := authz.UserFrom(known)
	disconnect, limited := c.Streams.Connect(subscription.ViaWebSocket, user.Name)
	if limited != nil {
		c.closeWith(websocket.CloseTryAgainLater, string(limited.Code)+": "+limited.Message, subscription.ErrProtocol)
		return
	}
	c.disconnect = disconnect
	c.identified()
	c.acknowledge(user)
}

func (c *socket) refuseIdentity(err error) {
	shown := c.Present(c.ctx, err)
	reason := apierror.CodeOf(err)
	text := string(reason) + ": " + shown.Message
	switch reason {
	case apierror.CodeUnauthenticated:
		c.closeWith(closeUnauthorized, text, subscription.ErrProtocol)
	case apierror.CodeForbidden:
		c.closeWith(closeForbidden, text, subscription.ErrProtocol)
	default:
		// The check failed: that is nothing against the client.
		c.closeWith(websocket.CloseTryAgainLater, text, subscription.ErrProtocol)
	}
}

// acknowledge lets the client send operations, and has its credentials checked from now on.
func (c *socket) acknowledge(user authz.User) {
	ctx, callerSession := c.Streams.Sessions.Begin(authz.WithUser(c.ctx, user), c.credentials, user)
	context.AfterFunc(ctx, func() {
		defer callerSession.End()
		if ended, ok := errors.AsType[*authz.SessionEndedError](context.Cause(ctx)); ok {
			c.closeWith(closeCodeOf(ended), string(ended.Kind)+": "+ended.Err.Message, ended)
		}
	})
	c.mu.Lock()
	c.ctx, c.acked = authz.Unbound(authz.WithUser(c.ctx, user)), true
	c.mu.Unlock()
	c.extendDeadline()
	c.send("connection_ack", "", nil)
}

// closeCodeOf returns the code with which a connection ends when the session of its caller does.
func closeCodeOf(l *authz.SessionEndedError) int {
	switch l.Kind {
	case authz.EndCredentialsExpired:
		return closeTokenExpired
	case authz.EndPermissionsChanged, authz.EndAccessRevoked:
		return closeGroups
	default:
		return websocket.CloseTryAgainLater
	}
}

// send writes a message without results.
func (c *socket) send(kind, id string, payload json.RawMessage) {
	b := append([]byte(`{"type":`), strconv.Quote(kind)...)
	if id != "" {
		text, _ := json.Marshal(id) //nolint:errchkjson // A string always marshals.
		b = append(append(b, `,"id":`...), text...)
	}
	if len(payload) > 0 {
		b = append(append(b, `,"payload":`...), payload...)
	}
	_ = c.write(append(b, '}')) // write closes the connection of a client that does not receive.
}

// write sends a message. It closes the connection of a client that does not receive
// it in time.
func (c *socket) write(p []byte) *subscription.EndError {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.conn.SetWriteDeadline(time.Now().Add(c.Streams.Limits.WriteTimeout)) //nolint:errcheck // The write tells.
	err := c.conn.WriteMessage(websocket.TextMessage, p)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.abandon()
		return subscription.ErrTooSlow
	}
	return subscription.ErrClientGone
}
