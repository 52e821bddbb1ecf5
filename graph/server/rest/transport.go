package rest

import (
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/server/execution"
	"github.com/kairship-io/kairship/graph/server/identity"
	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/graph/server/presenter"
	"github.com/kairship-io/kairship/graph/server/sse"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// Transport serves the operations that a Router found.
type Transport struct {
	execution.Executor

	Schema       *ast.Schema
	Events       sse.Transport
	MaxBodyBytes int64
}

var _ graphql.Transport = Transport{}

// Supports implements graphql.Transport.
func (Transport) Supports(r *http.Request) bool { return From(r.Context()) != nil }

// Do implements graphql.Transport.
func (t Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	m := From(r.Context())
	ctx := r.Context()
	fail := func(status int, err error) { Fail(ctx, w, t.Present, status, err) }
	// Panics of resolvers do not come here; this is for gqlgen's own and ours.
	defer func() {
		if v := recover(); v != nil {
			fail(http.StatusInternalServerError, presenter.Recover(ctx, v))
		}
	}()
	if simple(r) {
		t.LimitMetrics.Refuse("preflight")
		fail(http.StatusForbidden, origin.ErrSimple())
		return
	}
	if identity.CredentialsFrom(r.Context()).Session() && !m.Operation.Streams() {
		fail(http.StatusForbidden, apierror.New(apierror.CodeForbidden, "the cookie is good for subscriptions alone: send an Authorization header"))
		return
	}
	if m.Operation.Streams() && !mediatype.NegotiateEvents(r).Accepted {
		fail(http.StatusNotAcceptable, apierror.Invalid("Accept", "%s has many answers: accept %s", m.Operation.Name, mediatype.Events))
		return
	}
	user, _ := authz.UserFrom(r.Context())
	entered, limited := t.Quotas.Enter(user.Name)
	if limited != nil {
		fail(limited.Code.HTTPStatus(), limited)
		return
	}
	defer entered.End()
	raw, refused := read(w, r, m, t.Schema, t.MaxBodyBytes)
	if refused != nil {
		fail(refused.Status, refused.Err)
		return
	}
	ctx = telemetry.From(ctx).BeginSpan(ctx)
	r = r.WithContext(ctx)
	opCtx, errs := exec.CreateOperationContext(ctx, raw)
	telemetry.From(ctx).SetOperation(opCtx)
	if len(errs) > 0 {
		refusal := t.Refused(ctx, exec, opCtx, errs)
		writeProblem(w, statusOf(refusal.Errors), refusal.Errors)
		return
	}
	if m.Operation.Streams() {
		entered.Charge(plan.BillOf(opCtx).Cost)
		entered.End() // It lasts, and is counted among the subscriptions.
		t.Events.Serve(w, r, exec, mediatype.JSON, opCtx)
		return
	}
	given, err := t.Single(ctx, exec, entered, opCtx, r.Header)
	if err != nil {
		fail(apierror.CodeOf(err).HTTPStatus(), err)
		return
	}
	t.answer(w, r, m.Operation, given.Response)
}

// simple reports whether a page of any site may have sent the request without being asked.
func simple(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodPost) && origin.Simple(r)
}
