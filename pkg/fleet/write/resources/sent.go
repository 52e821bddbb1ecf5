package resources

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// noting has the requests of a context note that they were sent. From when they have
// a connection they may reach the instance. Those that have none never do: they were
// over the limit, or there are no credentials, or the instance did not answer others.
func noting(ctx context.Context, sent *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
}

// outcomeUnknown reports whether it is unknown if a step was written: it was sent, and what
// came of it does not say.
func (st *step) outcomeUnknown(err error) bool {
	if err == nil || !st.sent.Load() {
		return false
	}
	_, ours := write.ProblemOf(err)
	// An instance that has too much to do says so before it does anything.
	return !ours || (away(err) && !apierror.Is(err, apierror.CodeRateLimited))
}
