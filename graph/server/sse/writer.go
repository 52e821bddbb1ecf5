package sse

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/graph/server/subscription"
)

// closeWait is how long a client may take to receive the end of a response.
const closeWait = 2 * time.Second

// eventWriter writes server-sent events, and a comment now and then when there
// are none. A timer does that and no goroutine, because most streams are silent
// nearly always.
type eventWriter struct {
	w    http.ResponseWriter
	conn *http.ResponseController
	// own is the connection itself, once it was detached.
	own    net.Conn
	limits *subscription.Limits
	// cancel ends the stream when its client has closed it or is too slow.
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	broken bool
	last   time.Time
	// deadline is that of writing to the connection.
	deadline time.Time
	alive    *time.Timer
}

var _ subscription.Sink = (*eventWriter)(nil)

func newEventWriter(w http.ResponseWriter, limits *subscription.Limits, cancel context.CancelCauseFunc) *eventWriter {
	return &eventWriter{w: w, conn: http.NewResponseController(w), limits: limits, cancel: cancel}
}

// begin sends the headers, so that the client knows that it is connected, and how
// long to wait before it connects again.
func (e *eventWriter) begin(r *http.Request) *subscription.EndError {
	h := e.w.Header()
	h.Set("Content-Type", mediatype.Events+"; charset=utf-8")
	// A cache or a proxy that collects or compresses a response would hold events back.
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept, Authorization, Cookie")
	if detaches(r) {
		h.Set("Connection", "close")
	}
	e.w.WriteHeader(http.StatusOK)
	e.mu.Lock()
	e.alive = time.AfterFunc(e.limits.KeepAlive, e.keepAlive)
	e.mu.Unlock()
	return e.write([]byte("retry: " + e.retry() + "\n\n"))
}

func (e *eventWriter) retry() string {
	return strconv.FormatInt(e.limits.Reconnect().Milliseconds(), 10)
}

// Next implements subscription.Sink.
func (e *eventWriter) Next(resp *graphql.Response, id string) *subscription.EndError {
	b := response.Buffer()
	defer response.Release(b)
	if id != "" {
		b.WriteString("id: ")
		b.WriteString(id)
		b.WriteByte('\n')
	}
	b.WriteString("event: next\ndata: ")
	from := b.Len()
	response.AppendResult(b, resp)
	return e.finish(b, from)
}

// finish writes the event in a buffer whose data begins somewhere. A line break
// in JSON is a space, and would end the line of the event.
func (e *eventWriter) finish(b *bytes.Buffer, from int) *subscription.EndError {
	data := b.Bytes()[from:]
	for i, c := range data {
		if c == '\n' || c == '\r' {
			data[i] = ' '
		}
	}
	b.WriteString("\n\n")
	return e.write(b.Bytes())
}

// end sends how the stream ended, if the client has to know. A stream that can be resumed ends
// without the event complete, after which clients would not reconnect.
func (e *eventWriter) end(out subscription.Outcome) {
	if out.End.Again {
		_ = e.write([]byte("retry: " + e.retry() + "\n: " + out.End.Reason + "\n\n"))
		return
	}
	if out.End == subscription.ErrClientGone {
		return
	}
	if len(out.Errors) > 0 {
		b := response.Buffer()
		defer response.Release(b)
		b.WriteString("event: next\ndata: ")
		from := b.Len()
		response.AppendErrors(b, out.Errors)
		if e.finish(b, from) != nil {
			return
		}
	}
	// Without a data line, a browser's EventSource sees no event.
	_ = e.write([]byte("event: complete\ndata:\n\n"))
}

// keepAlive writes a comment when nothing else was written for long.
func (e *eventWriter) keepAlive() {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return
	}
	silent := time.Since(e.last)
	if silent < e.limits.KeepAlive {
		e.alive.Reset(e.limits.KeepAlive - silent)
		e.mu.Unlock()
		return
	}
	e.alive.Reset(e.limits.KeepAlive)
	e.mu.Unlock()
	if end := e.write([]byte(":\n\n")); end != nil {
		e.cancel(end)
	}
}

// write sends bytes at once, and fails for a client that does not receive them in time.
func (e *eventWriter) write(p []byte) *subscription.EndError {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.broken {
		return subscription.ErrClientGone
	}
	e.last = time.Now()
	err := e.send(p)
	e.broken = err != nil
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return subscription.ErrTooSlow
	}
	return subscription.ErrClientGone
}

// send is called with the lock held.
func (e *eventWriter) send(p []byte) error {
	// Setting a deadline costs as much as a small write, so it is set once for several writes.
	if spare := e.limits.WriteTimeout / 10; e.deadline.Sub(e.last) < e.limits.WriteTimeout {
		e.deadline = e.last.Add(e.limits.WriteTimeout + spare)
		e.setDeadline(e.deadline)
	}
	if e.own != nil {
		return e.sendChunk(p)
	}
	if _, err := e.w.Write(p); err != nil {
		return err
	}
	return e.conn.Flush()
}

// close has no more written, so that the handler may return.
func (e *eventWriter) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.alive != nil {
		e.alive.Stop()
	}
	if e.own != nil {
		if !e.broken {
			e.setDeadline(time.Now().Add(closeWait))
			e.sendChunk(nil) //nolint:errcheck // It is over either way.
		}
		_ = e.own.Close()
		return
	}
	if e.broken {
		return
	}
	// The connection may be used for another request.
	e.setDeadline(time.Time{})
}

// setDeadline has no effect on a server that can't set deadlines (in tests).
func (e *eventWriter) setDeadline(at time.Time) {
	if e.own != nil {
		e.own.SetWriteDeadline(at) //nolint:errcheck // The next write tells.
		return
	}
	e.conn.SetWriteDeadline(at) //nolint:errcheck // See above.
}
