package server

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

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// socket is one WebSocket. Its goroutine reads; each operation has another one,
// which writes its own results. Pings are sent by a timer.
type socket struct {
	*socketTransport

	exec        graphql.GraphExecutor
	headers     http.Header
	credentials authz.Credentials
	limiter     *rate.Limiter
	begun       time.Time
	// identified gives back the place of those who have not said who they are; nil where
	// the handshake did. user is then who it is.
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
	limits := c.streams.limits
	// The operations are over before the place of the connection is given back.
	defer c.finish()
	defer func() {
		if v := recover(); v != nil {
			_ = c.present(c.ctx, recoverPanic(c.ctx, v)) // It goes to the log.
			c.shut(closeInternal, "INTERNAL: the connection failed", errProtocol)
		}
	}()
	if c.isClosing() {
		return // The process stops already.
	}
	c.conn.SetReadLimit(limits.MaxMessageBytes)
	boundConn(c.conn.NetConn())
	if c.conn.Subprotocol() != subprotocol {
		c.shut(closeSubprotocol, "Subprotocol not acceptable: the only one is "+subprotocol, errProtocol)
	}
	c.settle(0)
	c.expectWithin(limits.InitTimeout)
	c.conn.SetPongHandler(func(string) error { c.heard(); return nil })
	c.mu.Lock()
	c.pings = time.AfterFunc(limits.KeepAlive, c.ping)
	c.mu.Unlock()
	defer c.pings.Stop()
	life := time.AfterFunc(limits.life(), func() { c.shut(closeMaxLife, "MAX_LIFE: connect again and resume", errMaxLife) })
	defer life.Stop()
	for {
		kind, text, err := c.conn.ReadMessage()
		if err != nil {
			c.readFailed(err)
			return
		}
		if c.isClosing() {
			continue // What a client sends after it was told to go does not count.
		}
		c.heard()
		if kind != websocket.TextMessage {
			c.shut(closeBadRequest, "INVALID: a message is text", errProtocol)
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
	if c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.streams.limits.WriteTimeout)) != nil {
		c.abandon()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.pings.Reset(c.streams.limits.KeepAlive)
	}
}

// abandon gives up a client that receives nothing.
func (c *socket) abandon() {
	c.note(closeNote{code: closeTooSlow, reason: errTooSlow.reason})
	c.cancel(errTooSlow)
	_ = c.conn.Close()
}

// heard gives the client more time: it is there. Who has not said who they are
// gets no more for talking.
func (c *socket) heard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.acked && !c.closing {
		c.conn.SetReadDeadline(time.Now().Add(missedPongs*c.streams.limits.KeepAlive + c.streams.limits.WriteTimeout)) //nolint:errcheck // The next read tells.
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
		c.shut(closeInitTimeout, "Connection initialisation timeout", errSilent)
		c.linger()
	case silent:
		c.note(closeNote{reason: errSilent.reason})
		c.cancel(errSilent)
	case errors.Is(err, websocket.ErrReadLimit):
		// The library has sent the close frame.
		c.note(closeNote{code: websocket.CloseMessageTooBig, reason: "INVALID: the message is too large"})
		c.cancel(errProtocol)
		c.linger()
	default:
		note := closeNote{reason: errClientGone.reason}
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
			note.code = closed.Code
		}
		c.note(note)
		c.cancel(errClientGone)
		c.linger()
	}
}

// linger takes what the client has sent already. To close a connection with data
// unread resets it, and the other side may never see the close frame before that.
func (c *socket) linger() {
	conn := c.conn.NetConn()
	conn.SetReadDeadline(time.Now().Add(closeWait))                               //nolint:errcheck // The copy tells.
	io.Copy(io.Discard, io.LimitReader(conn, c.streams.limits.MaxMessageBytes*4)) //nolint:errcheck // Either way it is over.
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

// shut tells the client why the connection ends, and gives it a moment to answer:
// a connection that is torn down at once may take the last frame with it. The
// first reason counts.
func (c *socket) shut(code int, reason string, cause error) {
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
	c.note(closeNote{reason: errDraining.reason})
	c.cancel(errDraining)
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
	c.settle(0)
}

// settle changes the number of operations that end without the client; with the last of
// them a connection ends that is being drained.
func (c *socket) settle(by int) {
	c.mu.Lock()
	c.finite += by
	idle := c.draining && c.finite == 0 && c.conn != nil
	c.mu.Unlock()
	if idle {
		c.shut(websocket.CloseGoingAway, "SERVER_STOPPING: connect again and resume", errDraining)
	}
}

// finish waits for the operations to end, and writes down what the connection was.
func (c *socket) finish() {
	c.cancel(errClientGone)
	_ = c.conn.Close()
	c.running.Wait()
	c.giveUp()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.journal.logger.LogAttrs(c.ctx, slog.LevelInfo, "websocket closed",
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
		c.shut(closeBadRequest, "INVALID: the message is no JSON of this protocol", errProtocol)
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
			op.cancel(errClientDone)
		}
	default:
		c.shut(closeBadRequest, "INVALID: unknown type of message", errProtocol)
	}
}

// initialise finds out who the client is.
func (c *socket) initialise(payload []byte) {
	c.mu.Lock()
	again := c.acked
	c.mu.Unlock()
	if again {
		c.shut(closeTooManyInits, "Too many initialisation requests", errProtocol)
		return
	}
	token, ok := bearer(payload)
	own := authz.TokenCredentials(token)
	switch {
	case !ok:
		c.shut(closeBadRequest, `INVALID: the payload of connection_init is an object, with "Authorization" as a string and no Impersonate fields`, errProtocol)
		return
	case token != "" && c.credentials.Empty():
		c.credentials = own
	case token != "" && !c.credentials.Same(own):
		// One of them would be ignored, and the client would be another user than it expects.
		c.shut(closeBadRequest, "INVALID: connection_init has other credentials than the request", errProtocol)
		return
	}
	if c.user != nil {
		c.welcome(*c.user)
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.streams.limits.InitTimeout)
	defer cancel()
	known, err := c.who.identify(ctx, c.credentials)
	if err != nil {
		c.refuseIdentity(err)
		return
	}
	user, _ := authz.UserFrom(known)
	disconnect, limited := c.streams.connect(viaWebSocket, user.Name)
	if limited != nil {
		c.shut(websocket.CloseTryAgainLater, string(limited.Code)+": "+limited.Message, errProtocol)
		return
	}
	c.disconnect = disconnect
	c.identified()
	c.welcome(user)
}

func (c *socket) refuseIdentity(err error) {
	shown := c.present(c.ctx, err)
	reason := apierror.CodeOf(err)
	text := string(reason) + ": " + shown.Message
	switch reason {
	case apierror.CodeUnauthenticated:
		c.shut(closeUnauthorized, text, errProtocol)
	case apierror.CodeForbidden:
		c.shut(closeForbidden, text, errProtocol)
	default:
		// The check failed: that is nothing against the client.
		c.shut(websocket.CloseTryAgainLater, text, errProtocol)
	}
}

// welcome lets the client send operations, and has its credentials checked from now on.
func (c *socket) welcome(user authz.User) {
	ctx, standing := c.streams.sentry.Begin(authz.WithUser(c.ctx, user), c.credentials, user)
	context.AfterFunc(ctx, func() {
		defer standing.End()
		if lapse, ok := errors.AsType[*authz.SessionEndedError](context.Cause(ctx)); ok {
			c.shut(closeCodeOf(lapse), string(lapse.Kind)+": "+lapse.Err.Message, lapse)
		}
	})
	c.mu.Lock()
	c.ctx, c.acked = authz.Unbound(authz.WithUser(c.ctx, user)), true
	c.mu.Unlock()
	c.heard()
	c.send("connection_ack", "", nil)
}

// closeCodeOf is the code with which a connection ends whose caller is not what they were.
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
	_ = c.write(append(b, '}')) // Who can't be written to is let go by write.
}

// write sends a message. A client that does not receive it in time is let go.
func (c *socket) write(p []byte) *endError {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.conn.SetWriteDeadline(time.Now().Add(c.streams.limits.WriteTimeout)) //nolint:errcheck // The write tells.
	err := c.conn.WriteMessage(websocket.TextMessage, p)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.abandon()
		return errTooSlow
	}
	return errClientGone
}
