package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
	"unique"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

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
	key, id string
	cancel  context.CancelCauseFunc
	settled sync.Once
}

var _ sink = (*operation)(nil)

// subscribe begins an operation.
func (c *socket) subscribe(m message) {
	switch {
	case !c.isAcked():
		c.shut(closeUnauthorized, "Unauthorized: send connection_init and wait for connection_ack first", errProtocol)
		return
	case m.ID == "" || len(m.ID) > maxOperationID:
		c.shut(closeBadRequest, "INVALID: an operation needs an id of at most 128 bytes", errProtocol)
		return
	}
	fields, refused := readObject(m.Payload)
	if refused != nil {
		c.shut(closeBadRequest, "INVALID: the payload of subscribe is an object, of the size and kind of a request's body", errProtocol)
		return
	}
	params, refused := paramsOf(fields)
	if refused != nil {
		c.shut(closeBadRequest, "INVALID: "+refused.err.Error(), errProtocol)
		return
	}
	params.Headers = c.headers
	id, _ := json.Marshal(m.ID) //nolint:errchkjson // A string always marshals.
	op := &operation{socket: c, key: m.ID, id: string(id)}
	c.mu.Lock()
	_, exists := c.operations[m.ID]
	full := len(c.operations) >= c.streams.limits.MaxOperationsPerSocket
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
		c.shut(closeSubscriberExists, "Subscriber for this id already exists", errProtocol)
	case full:
		c.streams.metrics.refused.WithLabelValues(viaWebSocket, "operations").Inc()
		limited := apierror.New(apierror.CodeRateLimited,
			"this WebSocket has %d operations under way, which is the limit: complete some first", c.streams.limits.MaxOperationsPerSocket)
		limited.RetryAfter = retryAfterSeconds * time.Second
		op.fail(gqlerror.List{c.present(ctx, limited)})
	case stopping:
	default:
		c.running.Go(func() { op.run(ctx, params) })
	}
}

// run executes an operation as a request of its own, with a trace id and a line in
// the audit log.
func (o *operation) run(ctx context.Context, params *graphql.RawParams) {
	c := o.socket
	connection := requestFrom(ctx)
	// It has a trace of its own: that of the WebSocket ended when it was open.
	ctx, span := tracing.Root(ctx, unknownOperationSpan, tracing.Server)
	req := c.journal.request(cmp.Or(span.TraceID(), c.newTraceID()), connection.from)
	req.span = span
	ctx, record := audit.With(graphql.StartOperationTrace(withRequest(ctx, req)))
	req.setUser(requestFrom(c.ctx).userName(), c.credentials, record) //nolint:contextcheck // That of the connection.
	// A subscription goes on when this has returned.
	goesOn := false
	over := func() {
		o.cancel(context.Canceled)
		c.forget(o)
		o.settle()
		req.log(ctx, http.StatusSwitchingProtocols)
	}
	defer func() {
		if v := recover(); v != nil {
			o.fail(gqlerror.List{c.present(ctx, recoverPanic(ctx, v))})
		}
		if !goesOn {
			over()
		}
	}()
	user, _ := authz.UserFrom(ctx)
	entered, limited := c.quotas.Enter(user.Name)
	if limited != nil {
		o.fail(gqlerror.List{c.present(ctx, limited)})
		return
	}
	defer entered.Leave()
	opCtx, errs := c.exec.CreateOperationContext(ctx, params)
	req.setOperation(opCtx)
	if len(errs) > 0 {
		o.fail(c.refused(ctx, c.exec, opCtx, errs).Errors)
		return
	}
	req.noteVia(viaWebSocket, connection.traceID)
	if opCtx.Operation.Operation != ast.Subscription {
		o.single(ctx, entered, opCtx)
		return
	}
	entered.Settle(billOf(opCtx).Cost)
	entered.Leave() // It lasts, and is counted among the subscriptions.
	o.settle()      // It can be resumed elsewhere, so no client waits for its end.
	req.noteStream()
	opCtx.RawQuery = unique.Make(opCtx.RawQuery).Value() // Many subscribe to the same.
	c.running.Add(1)
	goesOn = true
	c.streams.start(ctx, subscription{via: viaWebSocket, exec: c.exec, op: opCtx, present: c.present, take: c.beginStream, out: o}, func(out outcome) {
		defer c.running.Done()
		defer over()
		req.noteOutcome(out)
		switch {
		case c.ends(out):
		case len(out.errors) > 0:
			o.fail(out.errors)
		case out.endError == errCompleted:
			o.complete()
		}
	})
}

// ends reports whether the whole connection ends for the reason for which an operation
// did: its close code says so, and after an error clients would not connect again.
func (c *socket) ends(out outcome) bool {
	lapse, ok := errors.AsType[*authz.SessionEndedError](out.cause)
	return ok && lapse.Caller
}

// settle reports that the connection need not wait for the operation, at most once.
func (o *operation) settle() { o.settled.Do(func() { o.socket.settle(-1) }) }

// single answers a query or a mutation.
func (o *operation) single(ctx context.Context, entered *quota.Operation, opCtx *graphql.OperationContext) {
	c := o.socket
	given, err := c.execution.single(ctx, c.exec, entered, opCtx, c.headers)
	if err != nil {
		o.fail(gqlerror.List{c.present(ctx, err)})
		return
	}
	if o.next(given.resp, "") == nil {
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

// next implements sink.
func (o *operation) next(resp *graphql.Response, _ string) *endError {
	if !o.wanted() {
		return errClientDone
	}
	b := o.begin("next")
	defer giveBack(b)
	appendResult(b, resp)
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
	defer giveBack(b)
	writeValue(b, errs)
	b.WriteByte('}')
	o.over()
	_ = o.socket.write(b.Bytes()) // Who can't be written to is let go by write.
}

// complete reports that there is nothing more to come.
func (o *operation) complete() {
	if o.wanted() {
		o.over()
		_ = o.socket.write([]byte(`{"type":"complete","id":` + o.id + `}`)) // As in fail.
	}
}

// over frees the id before the client hears that it is free.
func (o *operation) over() { o.socket.forget(o) }

func (o *operation) begin(kind string) *bytes.Buffer {
	b := buffers.Get().(*bytes.Buffer)
	b.WriteString(`{"type":"` + kind + `","id":`)
	b.WriteString(o.id)
	b.WriteString(`,"payload":`)
	return b
}
