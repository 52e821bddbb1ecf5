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

// Compress returns the body to send to the client, with the headers that describe its encoding.
//
// It is for results, which are complete before the first byte is sent. So a stream is never
// compressed, and no compressor with its megabyte of memory waits for a slow client.
func Compress(r *http.Request, body []byte) Encoded {
	out := &Recorder{}
	compressed(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(body) //nolint:errcheck // It goes to memory.
	})).ServeHTTP(out, r)
	if out.Header().Get("Content-Encoding") == "" {
		return Encoded{out.Header(), body}
	}
	return Encoded{out.Header(), out.Body.Bytes()}
}

// Encoded is a body as it is sent.
type Encoded struct {
	header http.Header
	body   []byte
}

// Write answers a request with the body.
func (e Encoded) Write(w http.ResponseWriter, mediaType string) {
	for name, values := range e.header {
		for _, value := range values {
			w.Header().Add(name, value)
		}
	}
	Write(w, mediaType, http.StatusOK, e.body)
}

// Recorder takes the headers and the body of an answer. Its zero value is ready.
type Recorder struct {
	Body   bytes.Buffer
	header http.Header
}

// Header implements http.ResponseWriter.
func (r *Recorder) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

// Write implements http.ResponseWriter.
func (r *Recorder) Write(p []byte) (int, error) { return r.Body.Write(p) }

// WriteHeader implements http.ResponseWriter: the status is not kept.
func (*Recorder) WriteHeader(int) {}
