// Package httptransport serves operations over HTTP.
package httptransport

import (
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/execution"
	"github.com/kairship-io/kairship/graph/server/identity"
	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/graph/server/params"
	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/graph/server/presenter"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/graph/server/sse"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/quota"
)

// Transport serves operations over POST and GET: those with one response, and,
// to clients that accept server-sent events, subscriptions. gqlgen's own transports
// differ from the GraphQL over HTTP specification in their statuses, repeat a body
// that they cannot read, and write events that a browser's EventSource does not
// see or cannot resume after.
type Transport struct {
	execution.Executor

	Events       sse.Transport
	MaxBodyBytes int64
}

var _ graphql.Transport = Transport{}

// Supports implements graphql.Transport: it is the last transport, so that whatever
// no other one takes is answered here with what is wrong about it.
func (Transport) Supports(*http.Request) bool { return true }

// Do implements graphql.Transport.
func (t Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	mediaType, acceptable := mediatype.Negotiate(r)
	// Panics of resolvers do not come here; this is for gqlgen's own and ours.
	defer func() {
		if v := recover(); v != nil {
			t.Fail(r.Context(), w, mediaType, http.StatusInternalServerError, presenter.Recover(r.Context(), v))
		}
	}()
	events := mediatype.NegotiateEvents(r)
	if !acceptable && !events.Accepted {
		t.refuse(w, r, mediaType, params.Refuse(http.StatusNotAcceptable, "", "a response is %s, %s or, for subscriptions, %s, and the Accept header has none of them", mediatype.GraphQL, mediatype.JSON, mediatype.Events))
		return
	}
	if origin.Simple(r) && !identity.CredentialsFrom(r.Context()).Session() {
		t.LimitMetrics.Refuse("preflight")
		if refused := params.CheckContent(r); refused != nil {
			t.refuse(w, r, mediaType, refused)
			return
		}
		t.Fail(r.Context(), w, mediaType, http.StatusForbidden, origin.ErrSimple())
		return
	}
	user, _ := authz.UserFrom(r.Context())
	entered, limited := t.Quotas.Enter(user.Name)
	if limited != nil {
		t.Fail(r.Context(), w, mediaType, limited.Code.HTTPStatus(), limited)
		return
	}
	defer entered.End()
	read, refused := params.FromRequest(w, r, t.MaxBodyBytes)
	if refused != nil {
		t.refuse(w, r, mediaType, refused)
		return
	}
	read.Headers = r.Header
	if events.Accepted && !acceptable {
		events.Preferred = true
	}
	t.execute(w, r, exec, accepted{mediaType: mediaType, events: events, entered: entered}, read)
}

// accepted is what the client accepts.
type accepted struct {
	mediaType string
	events    mediatype.EventsWanted
	// entered is the operation among those of its user.
	entered *quota.Operation
}

func (t Transport) execute(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, as accepted, read *graphql.RawParams) {
	ctx := telemetry.From(r.Context()).BeginSpan(r.Context())
	r = r.WithContext(ctx)
	opCtx, errs := exec.CreateOperationContext(ctx, read)
	telemetry.From(ctx).SetOperation(opCtx)
	if len(errs) > 0 {
		t.refuseOperation(w, r, exec, as, opCtx, errs)
		return
	}
	switch kind := opCtx.Operation.Operation; {
	case kind == ast.Subscription && as.events.Accepted:
		as.entered.Charge(plan.BillOf(opCtx).Cost)
		as.entered.End() // It lasts, and is counted among the subscriptions.
		t.Events.Serve(w, r, exec, as.mediaType, opCtx)
		return
	case kind == ast.Subscription:
		t.refuse(w, r, as.mediaType, params.Refuse(http.StatusBadRequest, "",
			"a subscription has many responses, and this request can have one: accept %s, or use a WebSocket", mediatype.Events))
		return
	case kind != ast.Query && r.Method == http.MethodGet:
		w.Header().Set("Allow", http.MethodPost)
		t.refuse(w, r, as.mediaType, params.Refuse(http.StatusMethodNotAllowed, "", "GET is for queries: send a %s with POST", kind))
		return
	case identity.CredentialsFrom(ctx).Session():
		t.Fail(ctx, w, as.mediaType, http.StatusForbidden, apierror.New(apierror.CodeForbidden, "the cookie is good for subscriptions alone: send a %s with an Authorization header", kind))
		return
	}
	given, err := t.Single(ctx, exec, as.entered, opCtx, r.Header)
	switch {
	case err != nil:
		t.Fail(ctx, w, as.mediaType, apierror.CodeOf(err).HTTPStatus(), err)
	case as.events.Preferred:
		t.Events.WriteResult(w, r, given.Response)
	default:
		given.Write(w, r, as.mediaType)
	}
}

// refuseOperation answers a document that does not parse, is not valid, or
// does not fit its variables or the limits, with the status of its code. Old clients,
// those that accept application/json alone, look for errors in a 200; those of
// server-sent events for an event, because an EventSource shows its page no other answer.
func (t Transport) refuseOperation(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, as accepted, opCtx *graphql.OperationContext, errs gqlerror.List) {
	resp := t.Refused(r.Context(), exec, opCtx, errs)
	switch {
	case as.events.Preferred:
		t.Events.WriteResult(w, r, resp)
	case as.mediaType == mediatype.JSON:
		response.WriteErrors(w, as.mediaType, http.StatusOK, resp.Errors)
	default:
		code, _ := resp.Errors[0].Extensions["code"].(string)
		response.WriteErrors(w, as.mediaType, apierror.Code(code).HTTPStatus(), resp.Errors)
	}
}

func (t Transport) refuse(w http.ResponseWriter, r *http.Request, mediaType string, refused *params.Refusal) {
	t.Fail(r.Context(), w, mediaType, refused.Status, refused.Err)
}
