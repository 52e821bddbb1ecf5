package sse

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/graph/server/subscription"
)

// What http.Server keeps for a request, two buffers of 4 KiB and two goroutines with
// stacks that were grown by the way to the handler, is most of what a silent stream
// costs. So a stream takes its connection over once its headers are sent. HTTP/2
// carries many streams on one connection, which can't be taken over.

// maxUnasked is how much a client may send behind its request, which is not read.
const maxUnasked = 4 << 10

// detaches reports whether the connection of a request can be taken over.
func detaches(r *http.Request) bool { return r.ProtoMajor == 1 && r.ProtoMinor >= 1 }

// detach takes the connection over, and lets the handler return; false where that is
// not possible. The response is chunked by then, because its length is not known.
func (e *eventWriter) detach(r *http.Request) bool {
	if !detaches(r) {
		return false
	}
	conn, _, err := e.conn.Hijack()
	if err != nil {
		return false
	}
	e.mu.Lock()
	e.own, e.w, e.conn, e.deadline = conn, nil, nil, time.Time{}
	e.mu.Unlock()
	go e.attend(conn)
	return true
}

// attend ends the stream when the client closes the connection.
func (e *eventWriter) attend(conn net.Conn) {
	var unasked [64]byte
	for read := 0; read < maxUnasked; {
		n, err := conn.Read(unasked[:])
		if err != nil {
			break
		}
		read += n
	}
	e.cancel(subscription.ErrClientGone)
}

// sendChunk sends a chunk of the response; an empty one is the last.
func (e *eventWriter) sendChunk(p []byte) error {
	b := response.Buffer()
	defer response.Release(b)
	b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(len(p)), 16))
	b.WriteString("\r\n")
	b.Write(p)
	b.WriteString("\r\n")
	_, err := e.own.Write(b.Bytes())
	return err
}
