package rpc

import (
	"context"
	"errors"
	"net/http"
	"time"
	"unique"

	"connectrpc.com/connect"
	"github.com/99designs/gqlgen/graphql"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// stream answers a method that has many answers.
func (t *Transport) stream(m *method) func(context.Context, *connect.Request[request], *connect.ServerStream[answer]) error {
	return func(requested context.Context, req *connect.Request[request], out *connect.ServerStream[answer]) error {
		c := requested.Value(callKey{}).(*call)
		record := telemetry.From(requested)
		begun := record.BeginSpan(requested)
		opCtx, err := t.begin(begun, c, m, req.Msg)
		if err != nil {
			return err
		}
		c.entered.Charge(plan.BillOf(opCtx).Cost)
		c.entered.End() // It lasts, and is counted among the subscriptions.

		// The end of the stream has a reason, which that of the request has not.
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(begun))
		defer cancel(context.Canceled)
		defer context.AfterFunc(requested, func() { cancel(subscription.ErrClientGone) })()
		leave, ok := t.streams.Enter(&subscription.Connection{Drain: func() { cancel(subscription.ErrDraining) }, Cut: func() { cancel(subscription.ErrDraining) }})
		if !ok {
			return t.again(subscription.ErrDraining)
		}
		defer leave()
		user, _ := authz.UserFrom(ctx)
		disconnect, limited := t.streams.Connect(subscription.ViaRPC, user.Name)
		if limited != nil {
			return t.refuse(begun, limited)
		}
		defer disconnect()
		life := time.AfterFunc(t.streams.Limits.Life(), func() { cancel(subscription.ErrMaxLife) })
		defer life.Stop()

		opCtx.Headers = subscription.KeptHeaders(opCtx.Headers)
		opCtx.RawQuery = unique.Make(opCtx.RawQuery).Value() // Many subscribe to the same.
		record.SetVia(subscription.ViaRPC, "")
		record.SetStream()
		sink := &events{method: m, out: out, conn: http.NewResponseController(c.w), limit: t.streams.Limits.WriteTimeout}
		outcome := t.streams.Run(ctx, subscription.Subscription{
			Via: subscription.ViaRPC, Exec: c.exec, Op: opCtx, Present: t.Present, Begin: t.BeginStream, Sink: sink,
		})
		record.SetEnd(outcome.End.Reason, outcome.Events)
		return t.ended(requested, outcome)
	}
}

// ended is the error that a stream ends with; nil when there are no more answers.
func (t *Transport) ended(ctx context.Context, outcome subscription.Outcome) error {
	switch {
	case len(outcome.Errors) > 0:
		return failed(ctx, outcome.Errors)
	case outcome.End.Again:
		return t.again(outcome.End)
	}
	return nil
}

// again is the end of a stream that its client begins again.
func (t *Transport) again(end *subscription.EndError) error {
	out := connect.NewError(connect.CodeUnavailable, errors.New("the stream ends here: begin it again, after the last cursor"))
	addDetail(out, &errdetails.ErrorInfo{Reason: end.Reason, Domain: domain})
	addDetail(out, retryAfter(t.streams.Limits.Reconnect()))
	return out
}

// events sends the results of a subscription.
type events struct {
	method *method
	out    *connect.ServerStream[answer]
	conn   *http.ResponseController
	limit  time.Duration
}

var _ subscription.Sink = (*events)(nil)

// Next implements subscription.Sink.
func (e *events) Next(resp *graphql.Response, _ string) *subscription.EndError {
	deadline := time.Now().Add(e.limit)
	e.conn.SetWriteDeadline(deadline) //nolint:errcheck // A server that can't set deadlines (in tests) has none.
	err := e.out.Send(answerOf(e.method, e.method.operation.Unwrap(resp.Data), resp))
	e.conn.SetWriteDeadline(time.Time{}) //nolint:errcheck // See above.
	switch {
	case err == nil:
		return nil
	case !time.Now().Before(deadline):
		return subscription.ErrTooSlow
	case connect.CodeOf(err) == connect.CodeInternal:
		return &subscription.EndError{Reason: "FAILED", Err: apierror.Wrap(err, apierror.CodeInternal, "internal error")}
	}
	return subscription.ErrClientGone
}
