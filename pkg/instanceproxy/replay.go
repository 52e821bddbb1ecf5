package instanceproxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// maxReplay is how much of a body is remembered. Kubernetes accepts 3 MiB.
const maxReplay = 3 << 20

var errDetached = errors.New("the request is being sent again")

// recording is a request body that can be sent once more: it remembers what was
// read of it, and the rest is still to be read.
type recording struct {
	mu       sync.Mutex
	source   io.Reader
	seen     bytes.Buffer
	tooLong  bool
	detached bool
	// broken is set when the source failed. It is not under mu, which the caller that waits
	// for the source holds.
	broken atomic.Bool
}

// Read implements io.Reader.
func (b *recording) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.detached {
		return 0, errDetached
	}
	n, err := b.source.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.broken.Store(true)
	}
	if b.seen.Len()+n > maxReplay {
		b.tooLong = true
		b.seen.Reset()
	} else if !b.tooLong {
		b.seen.Write(p[:n])
	}
	return n, err
}

// Close implements io.Closer. The source stays open: it may be read again, and
// the caller that began the request closes it.
func (*recording) Close() error { return nil }

// again returns the body from its beginning, and takes it away from a reader that
// still reads it; false when it was too long to be remembered.
func (b *recording) again() (*recording, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.detached = true
	if b.tooLong {
		return nil, false
	}
	return &recording{source: io.MultiReader(bytes.NewReader(b.seen.Bytes()), b.source)}, true
}

// replay is a request that may be sent several times, one after the other.
type replay struct {
	request *http.Request
	body    *recording
	sent    bool
}

// next returns the request for sending it once more; false when its body can't
// be had again.
func (p *replay) next() (*http.Request, bool) {
	r := p.request
	repeated := p.sent
	p.sent = true
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		return r, true
	case r.GetBody != nil && !repeated:
		return r, true
	case r.GetBody != nil:
		body, err := r.GetBody()
		if err != nil {
			return nil, false
		}
		return withBody(r, body), true
	case !repeated:
		p.body = &recording{source: r.Body}
	default:
		again, ok := p.body.again()
		if !ok {
			return nil, false
		}
		p.body = again
	}
	return withBody(r, p.body), true
}

func withBody(r *http.Request, body io.ReadCloser) *http.Request {
	out := r.Clone(r.Context())
	out.Body = body
	return out
}
