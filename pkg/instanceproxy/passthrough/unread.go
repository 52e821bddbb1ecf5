package passthrough

import (
	"io"
	"net/http"
	"sync/atomic"
)

// inbound is the body of a request over HTTP/1, and knows whether it was read to
// its end.
type inbound struct {
	io.ReadCloser
	ended atomic.Bool
}

// Read implements io.Reader.
func (b *inbound) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended.Store(true)
	}
	return n, err
}

// inboundOf makes a request's body one; nil where there is nothing to know. HTTP/2
// has a stream for each request.
func inboundOf(r *http.Request) *inbound {
	if r.ProtoMajor != 1 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	body := &inbound{ReadCloser: r.Body}
	r.Body = body
	return body
}

// closeBehind has the connection end with an answer that comes before the end of
// the body. What is left of it net/http reads on its own, and in full duplex it then
// trips over its own reading when another request comes.
func (b *inbound) closeBehind(answer http.Header) {
	if b != nil && !b.ended.Load() {
		answer.Set("Connection", "close")
	}
}
