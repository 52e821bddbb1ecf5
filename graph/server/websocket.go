package server

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/gorilla/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"golang.org/x/time/rate"

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

// isUpgrade tells that a request wants to become a WebSocket. What offers other
// protocols, as many clients offer HTTP/2, is answered as if it did not.
func isUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && slices.ContainsFunc(r.Header.Values("Upgrade"), func(offered string) bool {
		return strings.Contains(strings.ToLower(offered), "websocket")
	})
}

// sameOrigin tells that a request does not say that a page of another site sends it.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// socketTransport serves operations of every kind over WebSockets. gqlgen's own
// transport has no write deadlines, so that one client that does not read holds a
// goroutine for ever, keeps a reader waiting after an init timeout, closes with
// codes that are not the protocol's, runs any number of operations per socket, and
// costs three goroutines where one and a timer do.
type socketTransport struct {
	execution

	streams    *streams
	who        who
	journal    *journal
	newTraceID func() string
}

var _ graphql.Transport = (*socketTransport)(nil)

// Supports implements graphql.Transport.
func (*socketTransport) Supports(r *http.Request) bool { return isUpgrade(r) }

// Do implements graphql.Transport. It returns as soon as the socket is there, so
// that what HTTP keeps for a request is given back.
func (t *socketTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	fail := func(status int, err error) { //nolint:contextcheck // The request carries it.
		w.Header().Set("Sec-WebSocket-Version", "13")
		writeErrors(w, mediaJSON, status, gqlerror.List{t.present(r.Context(), err)})
	}
	if !t.origins.permits(r) {
		t.metrics.refuse("origin")
		fail(http.StatusForbidden, apierror.New(apierror.CodeForbidden, "pages of other sites may not open WebSockets"))
		return
	}
	done, ok := t.streams.await()
	if !ok {
		w.Header().Set("Retry-After", "1")
		limited := apierror.New(apierror.CodeRateLimited, "too many WebSockets are waiting to say who they are: try again")
		limited.RetryAfter = time.Second
		fail(http.StatusTooManyRequests, limited)
		return
	}
	c := &socket{
		socketTransport: t, exec: exec, headers: keptHeaders(r.Header), identified: done,
		limiter:    rate.NewLimiter(rate.Limit(t.streams.limits.MessagesPerSecond), 4*t.streams.limits.MessagesPerSecond),
		operations: map[string]*operation{},
		begun:      time.Now(),
	}
	c.credentials = authz.RequestCredentials(r)
	// Nothing of the request but its values is kept, and not its end.
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(r.Context()))
	leave, ok := t.streams.enter(&connection{drain: c.drain, cut: c.cut})
	if !ok {
		done()
		w.Header().Set("Retry-After", "1")
		fail(http.StatusServiceUnavailable, apierror.New(apierror.CodeTimeout, "the server is stopping: connect again, to another replica"))
		return
	}
	upgrader := websocket.Upgrader{
		HandshakeTimeout: t.streams.limits.WriteTimeout,
		ReadBufferSize:   readBuffer,
		WriteBufferPool:  writeBuffers,
		Subprotocols:     []string{subprotocol},
		CheckOrigin:      func(*http.Request) bool { return true }, // It was, above.
		Error: func(_ http.ResponseWriter, _ *http.Request, status int, err error) {
			fail(status, apierror.Invalid("", "%s", err))
		},
	}
	conn, err := upgrader.Upgrade(w, r, http.Header{TraceHeader: w.Header()[TraceHeader]})
	if err != nil {
		leave()
		done()
		return
	}
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	requestFrom(r.Context()).takeOver()
	go func() { //nolint:contextcheck // The connection outlives the request.
		defer leave()
		c.serve()
	}()
}

// keptHeaders are those that say something about operations.
func keptHeaders(h http.Header) http.Header {
	kept := http.Header{}
	for name, values := range h {
		if strings.HasPrefix(name, "Kairship-") {
			kept[name] = values
		}
	}
	return kept
}

// bearer finds the token in the payload of connection_init, under the name that
// it has as a header. Anything else in there is somebody else's.
func bearer(payload []byte) (token string, ok bool) {
	if len(bytes.TrimSpace(payload)) == 0 {
		return "", true
	}
	var fields map[string]any
	if !decodeParam(payload, &fields) {
		return "", false
	}
	for name, value := range fields {
		if !strings.EqualFold(name, "Authorization") {
			continue
		}
		text, isText := value.(string)
		if !isText {
			return "", false
		}
		header := http.Header{"Authorization": {text}}
		return authz.RequestCredentials(&http.Request{Header: header}).Token(), true
	}
	return "", true
}
