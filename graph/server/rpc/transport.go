package rpc

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/body"
	"github.com/kairship-io/kairship/graph/server/execution"
	"github.com/kairship-io/kairship/graph/server/presenter"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/quota"
)

// Transport serves the methods of a Service.
type Transport struct {
	execution.Executor

	service  *Service
	streams  *subscription.Manager
	handlers map[string]http.Handler
}

var _ graphql.Transport = (*Transport)(nil)

// NewTransport returns the transport of a service.
func NewTransport(executor execution.Executor, service *Service, streams *subscription.Manager, maxBodyBytes int64) *Transport {
	t := &Transport{Executor: executor, service: service, streams: streams, handlers: map[string]http.Handler{}}
	for path, m := range service.methods {
		options := connect.WithHandlerOptions(
			codecs(), connect.WithSchema(m.descriptor), connect.WithReadMaxBytes(int(maxBodyBytes)), connect.WithRecover(t.recovered),
			connect.WithRequestInitializer(func(_ connect.Spec, message any) error {
				if r, ok := message.(*request); ok {
					r.Message = m.input.New().Interface()
				}
				return nil
			}),
		)
		if m.operation.Streams() {
			t.handlers[path] = connect.NewServerStreamHandler(path, t.stream(m), options)
		} else {
			t.handlers[path] = connect.NewUnaryHandler(path, t.unary(m), options)
		}
	}
	return t
}

// call is a request under way.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	exec    graphql.GraphExecutor
	entered *quota.Operation
	// read is set once the request could be read.
	read bool
}

type callKey struct{}

// Supports implements graphql.Transport.
func (t *Transport) Supports(r *http.Request) bool { return t.service.Has(r) }

// Do implements graphql.Transport.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	ctx := r.Context()
	user, _ := authz.UserFrom(ctx)
	entered, limited := t.Quotas.Enter(user.Name)
	if limited != nil {
		t.service.Fail(w, r, t.Present(ctx, limited))
		return
	}
	defer entered.End()
	c := &call{w: w, exec: exec, entered: entered}
	c.r = r.WithContext(context.WithValue(ctx, callKey{}, c))
	w.Header().Add("Vary", "Authorization")
	t.handlers[r.URL.Path].ServeHTTP(flusher{w}, c.r)
	if keeper, ok := w.(statusKeeper); ok && !c.read {
		keeper.Keep(http.StatusBadRequest) // Also where the protocol has a 200 for it.
	}
}

// recovered is the error of a panic. Those of resolvers do not come here; this is for gqlgen's own and ours.
func (t *Transport) recovered(ctx context.Context, _ connect.Spec, _ http.Header, value any) error {
	return t.refuse(ctx, presenter.Recover(ctx, value))
}

// refuse is the answer to a request that is not executed.
func (t *Transport) refuse(ctx context.Context, err error) error {
	return failed(ctx, gqlerror.List{t.Present(ctx, err)})
}

// failed is the answer to a request that has nothing but errors.
func failed(ctx context.Context, errs gqlerror.List) error {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		if keeper, ok := c.w.(statusKeeper); ok {
			code, _ := errs[0].Extensions["code"].(string)
			keeper.Keep(apierror.Code(code).HTTPStatus())
		}
	}
	return errorOf(errs)
}

// begin makes the operation of a request.
func (t *Transport) begin(ctx context.Context, c *call, m *method, of *request) (*graphql.OperationContext, error) {
	c.read = true
	body.ClearDeadline(c.w)
	variables, err := t.service.variablesOf(m, of.ProtoReflect())
	if err != nil {
		return nil, t.refuse(ctx, err)
	}
	raw := &graphql.RawParams{Query: m.operation.Document, OperationName: m.operation.Name, Variables: variables, Headers: c.r.Header}
	opCtx, errs := c.exec.CreateOperationContext(ctx, raw)
	telemetry.From(ctx).SetOperation(opCtx)
	if len(errs) > 0 {
		return nil, failed(ctx, t.Refused(ctx, c.exec, opCtx, errs).Errors)
	}
	return opCtx, nil
}

// unary answers a method that has one answer.
func (t *Transport) unary(m *method) func(context.Context, *connect.Request[request]) (*connect.Response[answer], error) {
	return func(ctx context.Context, req *connect.Request[request]) (*connect.Response[answer], error) {
		c := ctx.Value(callKey{}).(*call)
		ctx = telemetry.From(ctx).BeginSpan(ctx)
		opCtx, err := t.begin(ctx, c, m, req.Msg)
		if err != nil {
			return nil, err
		}
		given, err := t.Single(ctx, c.exec, c.entered, opCtx, c.r.Header)
		if err != nil {
			return nil, t.refuse(ctx, err)
		}
		object := m.operation.Unwrap(given.Response.Data)
		switch {
		case object == nil && len(given.Response.Errors) > 0:
			return nil, failed(ctx, given.Response.Errors)
		case object == nil:
			return nil, t.refuse(ctx, apierror.New(apierror.CodeNotFound, "there is no such object, or you may not know that there is"))
		}
		return connect.NewResponse(answerOf(m, object, given.Response)), nil
	}
}

// answerOf is the answer with an object, which may be null beside errors.
func answerOf(m *method, object []byte, resp *graphql.Response) *answer {
	b := response.Buffer()
	defer response.Release(b)
	b.WriteString(`{"result":`)
	if object == nil {
		object = []byte("null")
	}
	b.Write(object)
	if len(resp.Errors) > 0 {
		b.WriteString(`,"errors":`)
		response.AppendValue(b, failuresOf(resp.Errors))
	}
	if len(resp.Extensions) > 0 {
		b.WriteString(`,"extensions":`)
		response.AppendValue(b, resp.Extensions)
	}
	b.WriteByte('}')
	return &answer{method: m, json: append([]byte(nil), b.Bytes()...)}
}

// flusher lets streams send what they have.
type flusher struct{ http.ResponseWriter }

// Flush implements http.Flusher.
func (f flusher) Flush() {
	http.NewResponseController(f.ResponseWriter).Flush() //nolint:errcheck // The client went away.
}

// Unwrap gives http.ResponseController the connection.
func (f flusher) Unwrap() http.ResponseWriter { return f.ResponseWriter }
