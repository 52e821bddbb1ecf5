package response

import (
	"bytes"
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// compressFrom is the size in bytes from which a result is compressed: a shorter one fits into
// one packet either way.
const compressFrom = 1 << 10

// compressed compresses the answer of a handler with zstd or gzip where the client accepts
// one of them, and adds Vary. The fastest levels take a fifth more bytes than the best ones,
// and less than half of their time.
var compressed = newCompressed()

func newCompressed() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(compressFrom), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.SetContentType(false))
	if err != nil {
		panic(err) // The options are constants.
	}
	return wrap
}

// compress returns the body as it is to be sent to the client, and sets the headers that
// say how it is encoded.
//
// Only results come here, which are complete before the first byte is sent. So a stream is
// never compressed, and no compressor with its megabyte of memory waits for a slow client.
func Compress(w http.ResponseWriter, r *http.Request, body []byte) []byte {
	out := &encoded{ResponseWriter: w}
	compressed(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(body) //nolint:errcheck,gosec // It goes to memory.
	}))(out, r)
	return out.body.Bytes()
}

// encoded takes the body of an answer, and leaves its status to the caller.
type encoded struct {
	http.ResponseWriter
	body bytes.Buffer
}

// Write implements io.Writer.
func (e *encoded) Write(p []byte) (int, error) { return e.body.Write(p) }

// WriteHeader implements http.ResponseWriter.
func (e *encoded) WriteHeader(int) {}
