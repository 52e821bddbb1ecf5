package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/pkg/authz"
)

// lastEventID is the header by which a browser's EventSource says where it stood.
const lastEventID = "Last-Event-ID"

// serveEvents runs a subscription and sends its results as server-sent events, by
// the distinct connections mode of the GraphQL over SSE protocol
// (https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md).
//
// What HTTP itself refuses has a status. From then on the answer is a 200, and the
// errors of the operation are events: clients try again after any other status,
// and a browser's EventSource tells its page nothing about it.
func (t httpTransport) serveEvents(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, mediaType string, opCtx *graphql.OperationContext) {
	if !t.origins.mayStream(r) {
		t.quotas.metrics.refuse("origin")
		t.refuse(w, r, mediaType, refuse(http.StatusForbidden, "", "pages of other sites may not open streams"))
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(context.Canceled)
	user, _ := authz.UserFrom(ctx)
	// What is over is written down before the places are given back.
	leave, ok := t.streams.enter(&connection{drain: func() { cancel(errDraining) }, cut: func() { cancel(errDraining) }})
	if !ok {
		w.Header().Set("Retry-After", "1")
		t.refuse(w, r, mediaType, refuse(http.StatusServiceUnavailable, "", "the server is stopping: connect again, to another replica"))
		return
	}
	defer leave()
	disconnect, limited := t.streams.connect(viaSSE, user.Name)
	if limited != nil {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
		t.fail(ctx, w, mediaType, limited.Code.HTTPStatus(), limited)
		return
	}
	defer disconnect()
	life := time.AfterFunc(t.streams.limits.life(), func() { cancel(errMaxLife) })
	defer life.Stop()

	if id := r.Header.Get(lastEventID); id != "" {
		resumeAfter(opCtx, id)
	}
	boundSocket(ctx)
	out := newEventWriter(w, t.streams.limits, cancel)
	defer out.close()
	req := requestFrom(ctx)
	req.noteVia(viaSSE, "")
	req.noteStream()
	if end := out.begin(); end != nil {
		req.noteOutcome(outcome{endError: end})
		return
	}
	endHTTP(req.http, http.StatusOK)
	result := t.streams.run(ctx, subscription{via: viaSSE, exec: exec, op: opCtx, present: t.present, out: out})
	out.end(result)
	req.noteOutcome(result)
}

// retryAfterSeconds is when somebody who has too much open may try again.
const retryAfterSeconds = 5

// writeEvents sends a single result as server-sent events.
func (t httpTransport) writeEvents(w http.ResponseWriter, resp *graphql.Response) {
	out := newEventWriter(w, t.streams.limits, func(error) {})
	defer out.close()
	if out.begin() != nil {
		return
	}
	end := outcome{endError: errCompleted, errors: gqlerror.List{}}
	if len(resp.Data) == 0 {
		end.errors = resp.Errors
	} else if out.next(resp, "") != nil {
		return
	}
	out.end(end)
}
