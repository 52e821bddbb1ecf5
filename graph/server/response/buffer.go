package response

import (
	"bytes"
	"sync"
)

// buffers are for messages on their way: a stream that is silent has none.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooledBuffer is the size of the largest buffer that is used again.
const maxPooledBuffer = 64 << 10

// Buffer returns an empty buffer for a message.
func Buffer() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

// Release takes a buffer back.
func Release(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBuffer {
		b.Reset()
		buffers.Put(b)
	}
}
