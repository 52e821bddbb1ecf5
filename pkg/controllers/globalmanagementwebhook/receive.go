package globalmanagementwebhook

import (
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
	"github.com/kairship-io/kairship/pkg/peer"
)

// The limits of concurrently read bodies. A body has to be in memory before its signature can be
// checked, so these limit the memory that clients without the key can use: 32 MiB for events and
// 128 MiB for resyncs.
const (
	maxEventBodies  = 512
	maxResyncBodies = 8
)

// How long a body may take to arrive.
const (
	eventArrives  = 5 * time.Second
	resyncArrives = time.Minute
)

// lane is what requests of one path share.
type lane struct {
	bodies  *readers
	most    int64 // bytes of a body
	arrives time.Duration
	slots   chan struct{}
	within  time.Duration
}

// screen refuses what can be seen to be wrong before the body is read. What it lets
// through is not known to be right.
func (h *handler) screen(header http.Header) *refusal {
	const digits, signed = len("1767225600000"), len("sha256=") + 2*sha256.Size
	timestamp := only(header, gm.TimestampHeader)
	milliseconds, err := strconv.ParseUint(timestamp, 10, 63)
	if err != nil || len(timestamp) > digits {
		return refuse(gm.WrongSignature, "", "header %s must hold, once, milliseconds since 1970 as decimal digits", gm.TimestampHeader)
	}
	if len(only(header, gm.SignatureHeader)) != signed {
		return refuse(gm.WrongSignature, "", "header %s must hold, once, sha256= and 64 lower-case hexadecimal digits", gm.SignatureHeader)
	}
	if off := h.now().Sub(time.UnixMilli(int64(milliseconds))).Abs(); off > gm.DefaultTolerance {
		return refuse(gm.StaleTimestamp, "", "%v, by %s, and %s are tolerated; sign the request anew when it is sent, and compare the clocks",
			gm.ErrStale, off.Round(time.Millisecond), gm.DefaultTolerance)
	}
	return nil
}

// receive reads the body and makes sure that it is the platform's.
func (h *handler) receive(w http.ResponseWriter, r *http.Request, l lane, secrets [][]byte) (request, *refusal) {
	wait := http.NewResponseController(w)
	setReadDeadline(wait, time.Now().Add(l.arrives)) // The secrets may have been waited for.
	one := l.bodies.enter(peer.Network(r.RemoteAddr), func() { setReadDeadline(wait, time.Unix(1, 0)) })
	if one == nil {
		return request{}, unavailable(errors.New("too many requests are read at once"))
	}
	defer l.bodies.leave(one)
	body, refused := read(w, r, l.most)
	l.bodies.arrive(one)
	if refused != nil {
		return request{}, refused
	}
	// The server goes on listening for the end of the connection, and a deadline that
	// passes would be that.
	setReadDeadline(wait, time.Time{})
	delivery, err := h.verifier.Verify(secrets, only(r.Header, gm.TimestampHeader), only(r.Header, gm.SignatureHeader), body)
	switch {
	case errors.Is(err, gm.ErrStale): // Meanwhile.
		return request{}, refuse(gm.StaleTimestamp, "", "%v", err)
	case err != nil:
		return request{}, refuse(gm.WrongSignature, "", "%v", err)
	}
	return request{body, delivery, r.RemoteAddr}, nil
}

// setReadDeadline ends the reading of a body at some time. Only where there is no
// connection, as in tests, there is nothing that it could be set on.
func setReadDeadline(of *http.ResponseController, at time.Time) { _ = of.SetReadDeadline(at) }

// read reads the body.
func read(w http.ResponseWriter, r *http.Request, most int64) ([]byte, *refusal) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, refuse(gm.TooLarge, "", "the body may have at most %d bytes", most)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, unavailable(errors.New("the body comes too slowly"))
	}
	if err != nil {
		return nil, refuse(gm.Malformed, "", "the body ends before its length")
	}
	return body, nil
}

// only is the value of a header that is there once; of two, it would be unclear
// which is meant.
func only(header http.Header, name string) string {
	if values := header.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}
