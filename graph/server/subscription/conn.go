package subscription

import (
	"context"
	"net"
	"net/http"
	"strings"
)

type socketKey struct{}

// socketBuffer is how much a kernel keeps of what a stream's client does not read.
// Events are small, and a client that falls behind gets the latest state instead
// of all of them, so there is no use in a large one.
const socketBuffer = 64 << 10

// ConnContext is for http.Server.ConnContext: it lets streams limit what the
// kernel keeps for clients that do not read.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, socketKey{}, conn)
}

// LimitBuffer limits the send buffer of the connection that a request came by.
func LimitBuffer(ctx context.Context) {
	conn, ok := ctx.Value(socketKey{}).(net.Conn)
	if !ok {
		return
	}
	LimitConnBuffer(conn)
}

// LimitConnBuffer limits the send buffer of a connection.
func LimitConnBuffer(conn net.Conn) {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapped.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetWriteBuffer(socketBuffer) //nolint:errcheck // The kernel's own bound holds then.
	}
}

// KeptHeaders returns the headers that are kept with a subscription: Kairship's own.
func KeptHeaders(h http.Header) http.Header {
	kept := http.Header{}
	for name, values := range h {
		if strings.HasPrefix(name, "Kairship-") {
			kept[name] = values
		}
	}
	return kept
}
