package websocket

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"unique"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/identity"
	"github.com/kairship-io/kairship/graph/server/params"
	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/graph/server/presenter"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// operation is one that a WebSocket has under way.
type operation struct {
	socket *socket
	// id is as the client wrote it, in JSON.
	key, id       string
	cancel        context.CancelCauseFunc
	drainReleased sync.Once
}

var _ subscription.Sink = (*operation)(nil)

// subscribe begins an operation.
func (c *socket) subscribe(m message) {
	switch {
	case !c.isAcked():
		c.closeWith(closeUnauthorized, "Unauthorized: send connection_init and wait for connection_ack first", subscription.ErrProtocol)
		return
	case m.ID == "" || len(m.ID) > maxOperationID:
		c.closeWith(closeBadRequest, "INVALID: an operation needs an id of at most 128 bytes", subscription.ErrProtocol)
		return
	}
	fields, refused := params.ReadObject(m.Payload)
	if refused != nil {
		c.closeWith(closeBadRequest, "INVALID: the payload of subscribe is an object, of the size and kind of a request's body", subscription.ErrProtocol)
		return
	}
	read, refused := params.FromObject(fields)
	if refused != nil {
		c.closeWith(closeBadRequest, "INVALID: "+refused.Err.Error(), subscription.ErrProtocol)
		return
	}
	read.Headers = c.headers
	id, _ := json.Marshal(m.ID) //nolint:errchkjson // A string always marshals.
	op := &operation{socket: c, key: m.ID, id: string(id)}
	c.mu.Lock()
	_, exists := c.operations[m.ID]
	full := len(c.operations) >= c.Streams.Limits.MaxOperationsPerSocket
	stopping := c.draining
	ctx := c.ctx
	if !exists && !full && !stopping {
		ctx, op.cancel = context.WithCancelCause(ctx)
		c.operations[m.ID] = op
		c.served++
		c.finite++
	}
	c.mu.Unlock()
	switch {
	case exists:
		c.closeWith(closeSubscriberExists, "Subscriber for this id already exists", subscription.ErrProtocol)
	case full:
		c.Streams.Refused(subscription.ViaWebSocket, "operations")
		limited := apierror.New(apierror.CodeRateLimited,
			"this WebSocket has %d operations under way, which is the limit: complete some first", c.Streams.Limits.MaxOperationsPerSocket)
		limited.RetryAfter = subscription.RetryAfter
		op.fail(gqlerror.List{c.Present(ctx, limited)})
	case stopping:
	default:
		c.running.Go(func() { op.run(ctx, read) })
	}
}

// run executes an operation as a request of its own, with a trace id and a line in
// the audit log.
func (o *operation) run(ctx context.Context, read *graphql.RawParams) {
	c := o.socket
	connection := trace.From(ctx)
	// It has a trace of its own: that of the WebSocket ended when it was open.
	ctx, span := tracing.Root(ctx, telemetry.UnknownOperation, tracing.Server)
	ctx = trace.With(ctx, trace.Request{ID: cmp.Or(span.TraceID(), c.NewTraceID()), From: connection.From})
	rec := c.Recorder.Begin()
	rec.SetSpan(span)
	ctx, record := audit.With(graphql.StartOperationTrace(telemetry.With(identity.WithCredentials(ctx, c.credentials), rec)))
	user, _ := authz.UserFrom(ctx)
	rec.SetUser(user.Name, record)
	// A subscription goes on when this has returned.
	goesOn := false
	over := func() {
		o.cancel(context.Canceled)
		c.forget(o)
		o.releaseDrain()
		rec.Write(ctx, http.StatusSwitchingProtocols)
	}
	defer func() {
		if v := recover(); v != nil {
			o.fail(gqlerror.List{c.Present(ctx, presenter.Recover(ctx, v))})
		}
		if !goesOn {
			over()
		}
	}()
	entered, limited := c.Quotas.Enter(user.Name)
	if limited != nil {
		o.fail(gqlerror.List{c.Present(ctx, limited)})
		return
	}
	defer entered.End()
	opCtx, errs := c.exec.CreateOperationContext(ctx, read)
	rec.SetOperation(opCtx)
	if len(errs) > 0 {
		o.fail(c.Refused(ctx, c.exec, opCtx, errs).Errors)
		return
	}
	rec.SetVia(subscription.ViaWebSocket, connection.ID)
	if opCtx.Operation.Operation != ast.Subscription {
		o.single(ctx, entered, opCtx)
		return
	}
	entered.Charge(plan.BillOf(opCtx).Cost)
	entered.End()    // It lasts, and is counted among the subscriptions.
	o.releaseDrain() // It can be resumed elsewhere, so no client waits for its end.
	rec.SetStream()
	opCtx.RawQuery = unique.Make(opCtx.RawQuery).Value() // Many subscribe to the same.
	c.running.Add(1)
	goesOn = true
	c.Streams.Start(ctx, subscription.Subscription{Via: subscription.ViaWebSocket, Exec: c.exec, Op: opCtx, Present: c.Present, Begin: c.BeginStream, Sink: o}, func(out subscription.Outcome) {
		defer c.running.Done()
		defer over()
		rec.SetEnd(out.End.Reason, out.Events)
		switch {
		case c.ends(out):
		case len(out.Errors) > 0:
			o.fail(out.Errors)
		case out.End == subscription.ErrCompleted:
			o.complete()
		}
	})
}

// ends reports whether the whole connection ends for the reason for which an operation
// did: its close code shows it, and after an error clients would not connect again.
func (c *socket) ends(out subscription.Outcome) bool {
	ended, ok := errors.AsType[*authz.SessionEndedError](out.End.Cause)
	return ok && ended.Caller
}

// addFinite reports that draining the connection need not wait for the operation. Only the first call
// has an effect.
func (o *operation) releaseDrain() { o.drainReleased.Do(func() { o.socket.addFinite(-1) }) }

// single answers a query or a mutation.
func (o *operation) single(ctx context.Context, entered *quota.Operation, opCtx *graphql.OperationContext) {
	c := o.socket
	given, err := c.Executor.Single(ctx, c.exec, entered, opCtx, c.headers)
	if err != nil {
		o.fail(gqlerror.List{c.Present(ctx, err)})
		return
	}
	if o.Next(given.Response, "") == nil {
		o.complete()
	}
}

// forget gives the id back to the client.
func (c *socket) forget(o *operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.operations[o.key] == o {
		delete(c.operations, o.key)
	}
}

// wanted reports whether the client still waits for results.
func (o *operation) wanted() bool {
	o.socket.mu.Lock()
	defer o.socket.mu.Unlock()
	return o.socket.operations[o.key] == o && !o.socket.closing
}

// Next implements subscription.Sink.
func (o *operation) Next(resp *graphql.Response, _ string) *subscription.EndError {
	if !o.wanted() {
		return subscription.ErrClientDone
	}
	b := o.begin("next")
	defer response.Release(b)
	response.AppendResult(b, resp)
	b.WriteByte('}')
	return o.socket.write(b.Bytes())
}

// fail ends the operation with errors.
func (o *operation) fail(errs gqlerror.List) {
	// One that was refused for want of room never had its id.
	if o.cancel != nil && !o.wanted() {
		return
	}
	b := o.begin("error")
	defer response.Release(b)
	response.AppendValue(b, errs)
	b.WriteByte('}')
	o.over()
	_ = o.socket.write(b.Bytes()) // write closes the connection of a client that does not receive.
}

// complete reports that there is nothing more to come.
func (o *operation) complete() {
	if o.wanted() {
		o.over()
		_ = o.socket.write([]byte(`{"type":"complete","id":` + o.id + `}`)) // As in fail.
	}
}

// over frees the id before the client learns that it is free.
func (o *operation) over() { o.socket.forget(o) }

func (o *operation) begin(kind string) *bytes.Buffer {
	b := response.Buffer()
	b.WriteString(`{"type":"` + kind + `","id":`)
	b.WriteString(o.id)
	b.WriteString(`,"payload":`)
	return b
}
