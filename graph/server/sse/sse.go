// Package sse sends results as server-sent events.
package sse

import (
	"context"
	"net/http"
	"slices"
	"time"
	"unique"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/execution"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// lastEventID is the header by which a browser's EventSource resumes.
const lastEventID = "Last-Event-ID"

// Transport sends the results of operations as server-sent events.
type Transport struct {
	execution.Executor

	Streams *subscription.Manager
}

// Serve runs a subscription and sends its results as server-sent events, by
// the distinct connections mode of the GraphQL over SSE protocol
// (https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md).
//
// What HTTP itself refuses has a status. From then on the answer is a 200, and the
// errors of the operation are events: clients try again after any other status,
// and a browser's EventSource shows its page nothing of it.
func (t Transport) Serve(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, mediaType string, opCtx *graphql.OperationContext) {
	if !t.Origins.PermitsStream(r) {
		t.LimitMetrics.Refuse("origin")
		t.Fail(r.Context(), w, mediaType, http.StatusForbidden, apierror.New(apierror.CodeForbidden, "pages of other sites may not open streams"))
		return
	}
	// The stream may outlive the handler: see eventWriter.detach.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	stay := context.AfterFunc(r.Context(), func() { cancel(subscription.ErrClientGone) })
	s := &eventStream{ctx: ctx, record: telemetry.From(ctx)}
	s.defers(func() { cancel(context.Canceled) })
	user, _ := authz.UserFrom(ctx)
	// What is over is written down before the places are given back.
	leave, ok := t.Streams.Enter(&subscription.Connection{Drain: func() { cancel(subscription.ErrDraining) }, Cut: func() { cancel(subscription.ErrDraining) }})
	if !ok {
		s.finish()
		w.Header().Set("Retry-After", "1")
		t.Fail(r.Context(), w, mediaType, http.StatusServiceUnavailable, apierror.New(apierror.CodeTimeout, "the server is stopping: connect again, to another replica"))
		return
	}
	s.defers(leave)
	// The place is given back before the end is sent and the client may come again; the
	// process may not end before it did.
	s.defers(func() {
		if s.out != nil {
			s.out.close()
		}
	})
	disconnect, limited := t.Streams.Connect(subscription.ViaSSE, user.Name)
	if limited != nil {
		s.finish()
		t.Fail(r.Context(), w, mediaType, limited.Code.HTTPStatus(), limited)
		return
	}
	s.defers(disconnect)
	life := time.AfterFunc(t.Streams.Limits.Life(), func() { cancel(subscription.ErrMaxLife) })
	s.defers(func() { life.Stop() })

	if id := r.Header.Get(lastEventID); id != "" {
		subscription.ResumeAfter(opCtx, id)
	}
	opCtx.Headers = subscription.KeptHeaders(opCtx.Headers)
	opCtx.RawQuery = unique.Make(opCtx.RawQuery).Value() // Many subscribe to the same.
	subscription.LimitBuffer(ctx)
	s.out = newEventWriter(w, &t.Streams.Limits, cancel)
	s.record.SetVia(subscription.ViaSSE, "")
	s.record.SetStream()
	if end := s.out.begin(r); end != nil {
		s.over(subscription.Outcome{End: end})
		return
	}
	trace.End(trace.From(ctx).Span, http.StatusOK)
	sub := subscription.Subscription{Via: subscription.ViaSSE, Exec: exec, Op: opCtx, Present: t.Present, Begin: t.BeginStream, Sink: s.out}
	if !s.out.detach(r) {
		s.over(t.Streams.Run(ctx, sub))
		return
	}
	stay()
	s.record.Defer()
	s.detached = true
	t.Streams.Start(ctx, sub, s.over)
}

// eventStream is a subscription on its own connection.
type eventStream struct {
	ctx    context.Context //nolint:containedctx // It is the stream's own.
	record *telemetry.Record
	out    *eventWriter
	// detached: there is no handler any more that writes down what it was.
	detached bool
	deferred []func()
}

// defers has something done in the end, the last first.
func (s *eventStream) defers(do func()) { s.deferred = append(s.deferred, do) }

func (s *eventStream) finish() {
	for _, do := range slices.Backward(s.deferred) {
		do()
	}
}

// over ends the stream.
func (s *eventStream) over(result subscription.Outcome) {
	s.out.end(result)
	s.record.SetEnd(result.End.Reason, result.Events)
	if s.detached {
		s.record.WriteDeferred(s.ctx, http.StatusOK)
	}
	s.finish()
}

// WriteResult sends a single result as server-sent events.
func (t Transport) WriteResult(w http.ResponseWriter, r *http.Request, resp *graphql.Response) {
	out := newEventWriter(w, &t.Streams.Limits, func(error) {})
	defer out.close()
	if out.begin(r) != nil {
		return
	}
	end := subscription.Outcome{End: subscription.ErrCompleted, Errors: gqlerror.List{}}
	if len(resp.Data) == 0 {
		end.Errors = resp.Errors
	} else if out.Next(resp, "") != nil {
		return
	}
	out.end(end)
}
