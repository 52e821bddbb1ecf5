// Package websocket serves operations of every kind over WebSockets.
package websocket

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"github.com/kairship-io/kairship/graph/server/execution"
	"github.com/kairship-io/kairship/graph/server/identity"
	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/params"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// subprotocol is that of https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md.
const subprotocol = "graphql-transport-ws"

// Close codes of a WebSocket. The first are those of the protocol, which its
// clients know: graphql-ws gives up after them, except for 4403 and 4408. The
// others are Kairship's own; after them a client connects again.
const (
	closeBadRequest       = 4400
	closeUnauthorized     = 4401
	closeForbidden        = 4403
	closeSubprotocol      = 4406
	closeInitTimeout      = 4408
	closeSubscriberExists = 4409
	closeTooManyInits     = 4429
	closeInternal         = 4500

	closeTokenExpired = 4440
	closeMaxLife      = 4441
	closeTooSlow      = 4442
	closeGroups       = 4443
)

const (
	// readBuffer is small because messages of clients are rare and short.
	readBuffer = 512
	// closeWait is how long the other side may take to answer a close frame.
	closeWait = 2 * time.Second
	// maxCloseReason is what fits into a close frame.
	maxCloseReason = 123
	// missedPongs is how many intervals a client may stay silent.
	missedPongs = 2
)

// writeBuffers are shared by all sockets: one that is silent has none.
var writeBuffers = &sync.Pool{}

// IsUpgrade reports whether a request wants to become a WebSocket. What offers other
// protocols, as many clients offer HTTP/2, is answered as if it did not.
func IsUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && slices.ContainsFunc(r.Header.Values("Upgrade"), func(offered string) bool {
		return strings.Contains(strings.ToLower(offered), "websocket")
	})
}

// Transport serves operations of every kind over WebSockets. gqlgen's own
// transport has no write deadlines, so that one client that does not read holds a
// goroutine for ever, keeps a reader waiting after an init timeout, closes with
// codes that are not the protocol's, runs any number of operations per socket, and
// costs three goroutines where one and a timer do.
type Transport struct {
	execution.Executor

	Streams    *subscription.Manager
	Identifier identity.Identifier
	Recorder   *telemetry.Recorder
	NewTraceID func() string

	// unauthenticated limits the WebSockets whose callers are not known yet.
	unauthenticated *addressLimiter
}

// New returns the transport.
func New(t Transport) *Transport {
	t.unauthenticated = newAddressLimiter(t.Streams.Limits.MaxUnauthenticatedWebSockets)
	return &t
}

var _ graphql.Transport = (*Transport)(nil)

// Supports implements graphql.Transport.
func (*Transport) Supports(r *http.Request) bool { return IsUpgrade(r) }

// Do implements graphql.Transport. It returns as soon as the socket is there, so
// that what HTTP keeps for a request is given back.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	fail := func(status int, err error) { //nolint:contextcheck // The request carries it.
		w.Header().Set("Sec-WebSocket-Version", "13")
		t.Fail(r.Context(), w, mediatype.JSON, status, err)
	}
	if !t.Origins.Permits(r) {
		t.LimitMetrics.Refuse("origin")
		fail(http.StatusForbidden, apierror.New(apierror.CodeForbidden, "pages of other sites may not open WebSockets"))
		return
	}
	c := &socket{
		Transport: t, exec: exec, headers: subscription.KeptHeaders(r.Header),
		limiter:    rate.NewLimiter(rate.Limit(t.Streams.Limits.MessagesPerSecond), 4*t.Streams.Limits.MessagesPerSecond),
		operations: map[string]*operation{},
		begun:      time.Now(),
	}
	c.credentials = authz.RequestCredentials(r)
	// Nothing of the request but its values is kept, and not its end.
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(r.Context()))
	if limited := c.admit(r.RemoteAddr); limited != nil { //nolint:contextcheck // The connection has its own, made of the request's.
		fail(http.StatusTooManyRequests, limited)
		return
	}
	leave, ok := t.Streams.Enter(&subscription.Connection{Drain: c.drain, Cut: c.cut})
	if !ok {
		c.release()
		w.Header().Set("Retry-After", "1")
		fail(http.StatusServiceUnavailable, apierror.New(apierror.CodeTimeout, "the server is stopping: connect again, to another replica"))
		return
	}
	upgrader := websocket.Upgrader{
		HandshakeTimeout: t.Streams.Limits.WriteTimeout,
		ReadBufferSize:   readBuffer,
		WriteBufferPool:  writeBuffers,
		Subprotocols:     []string{subprotocol},
		CheckOrigin:      func(*http.Request) bool { return true }, // It was, above.
		Error: func(_ http.ResponseWriter, _ *http.Request, status int, err error) {
			fail(status, apierror.Invalid("", "%s", err))
		},
	}
	conn, err := upgrader.Upgrade(w, r, http.Header{trace.Header: w.Header()[trace.Header]})
	if err != nil {
		leave()
		c.release()
		return
	}
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	telemetry.From(r.Context()).Defer()
	go func() { //nolint:contextcheck // The connection outlives the request.
		defer leave()
		c.serve()
	}()
}

// admit gives the connection its place: among those of its user where the request has
// credentials that are good, and else among those of its address whose callers are not
// known. What is wrong with credentials is said after the handshake, as a close code.
func (c *socket) admit(address string) *apierror.Error {
	if user, ok := c.handshakeUser(); ok {
		disconnect, limited := c.Streams.Connect(subscription.ViaWebSocket, user.Name)
		c.disconnect, c.user = disconnect, &user
		return limited
	}
	leave, ok := c.unauthenticated.enter(address)
	if !ok {
		c.Streams.Refused(subscription.ViaWebSocket, "unauthenticated")
		limited := apierror.New(apierror.CodeRateLimited, "too many WebSockets from your address are waiting to say who they are: try again, or send the Authorization header with the request")
		limited.RetryAfter = time.Second
		return limited
	}
	c.identified = leave
	return nil
}

// handshakeUser returns the user of credentials that came with the request.
func (c *socket) handshakeUser() (authz.User, bool) {
	if c.credentials.Empty() {
		return authz.User{}, false
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.Streams.Limits.InitTimeout)
	defer cancel()
	known, err := c.Identifier.Identify(ctx, c.credentials)
	if err != nil {
		return authz.User{}, false
	}
	return authz.UserFrom(known)
}

// release gives back the places of the connection.
func (c *socket) release() {
	if c.identified != nil {
		c.identified()
	}
	if c.disconnect != nil {
		c.disconnect()
	}
}

// bearer finds the token in the payload of connection_init, under the name that
// it has as a header. ok is false for what is no such payload, or asks for
// impersonation. Other fields are left to other readers.
func bearer(payload []byte) (token string, ok bool) {
	if len(bytes.TrimSpace(payload)) == 0 {
		return "", true
	}
	var fields map[string]any
	if !params.Decode(payload, &fields) {
		return "", false
	}
	for name, value := range fields {
		switch text, isText := value.(string); {
		case identity.Impersonates(name):
			return "", false
		case !strings.EqualFold(name, "Authorization"):
		case !isText:
			return "", false
		default:
			header := http.Header{"Authorization": {text}}
			token = authz.RequestCredentials(&http.Request{Header: header}).Token()
		}
	}
	return token, true
}
