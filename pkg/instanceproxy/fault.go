package instanceproxy

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// How far a request came. A failure is the connection's when the request got none, or when it was
// written to one.
const (
	// stageCreated is a request that was refused before it asked for a connection.
	stageCreated int32 = iota
	// stageConnecting is one that waits for a connection.
	stageConnecting
	// stageConnected is one that has a connection, and has not written to it.
	stageConnected
	// stageSent is one whose headers were written.
	stageSent
)

// requestProgress follows a request to its connection.
type requestProgress struct{ stage atomic.Int32 }

// observe returns the context to send a request with.
func (j *requestProgress) observe(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { j.stage.Store(stageConnecting) },
		GotConn:      func(httptrace.GotConnInfo) { j.stage.Store(stageConnected) },
		WroteHeaders: func() { j.stage.Store(stageSent) },
	})
}

// callersError is a failure caused by what the caller sent. Any user can cause it at any time, so
// it is no sign of a failing instance.
type callersError struct {
	error
	says string
}

// Unwrap returns the cause.
func (f *callersError) Unwrap() error { return f.error }

// tooLarge is part of an error of net/http, which has no type, when the server has announced a
// lower limit.
const tooLarge = "request header list larger than peer's advertised limit"

// errUnsent is the failure of a request of which no byte was sent on its connection. The connection
// may have broken at that moment; a probe finds out.
var errUnsent = errors.New("nothing was sent")

// errBeyond is the failure of a request that the instance passes on to a server behind it, which
// may hang for any time. A probe finds out whether the instance itself hangs.
var errBeyond = errors.New("what is behind the instance may not answer")

// relays are the subresources whose requests an instance passes on: to members, pods, services and
// nodes.
var relays = []string{"proxy", "exec", "attach", "portforward", "log"}

// relayed reports whether a path leads beyond the instance. It may match too many paths, because a
// probe checks the instance anyway.
func relayed(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(segment string) bool { return slices.Contains(relays, segment) })
}

// classify classifies the failure of a request: as the caller's (callersError), as one that a probe
// has to confirm (errUnsent, errBeyond), or as the instance's.
func (j *requestProgress) classify(r *http.Request, err error) error {
	if body, ok := r.Body.(*recording); ok && body.broken.Load() {
		return &callersError{err, "its body breaks off, or is not encoded as it says"}
	}
	switch stage := j.stage.Load(); {
	case stage == stageConnected && strings.Contains(err.Error(), tooLarge):
		return &callersError{err, "its headers are larger than the instance takes"}
	case stage == stageCreated:
		return &callersError{err, "its headers or its address are malformed"}
	case stage == stageConnected:
		return errors.Join(errUnsent, err)
	case stage == stageSent && relayed(r.URL.Path):
		return errors.Join(errBeyond, err)
	}
	return err
}

// unsendable returns the error for a caller whose request can't be sent.
func unsendable(instance string, fault *callersError) error {
	return apierror.In(apierror.Invalid("", "the request cannot be sent to instance %q: %s", instance, fault.says), instance)
}
